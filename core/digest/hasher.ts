/** A running hash. `update` has consumed the bytes when it returns, so the caller may reuse their memory. */
export interface Hasher {
  update(bytes: Uint8Array): void;
  /** Lower-case hex. May be called once. */
  hex(): string;
}

/** Makes a fresh SHA-256 hasher. Where it comes from is the caller's matter: core computes digests without a crypto module. */
export type Sha256Factory = () => Hasher;
