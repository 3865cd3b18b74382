import { HashBlock } from "./hash-block.ts";
import type { Hasher } from "./hasher.ts";

const open = 0x5b;
const comma = 0x2c;
const close = 0x5d;

/** Digest of the logical rows under `adcp_jcs_rows_v1`: the canonical content digest of a revision. */
export interface CanonicalDigest {
  /** Adds one row as its RFC 8785 text or bytes. Rows come in sort key order; the caller has proved the order. */
  add(canonicalRow: Uint8Array | string): void;
  /** Lower-case hex over `[` + rows joined by `,` + `]`. May be called once. */
  finish(): string;
}

/** Starts a canonical digest over a fresh SHA-256 hasher. */
export function createCanonicalDigest(hasher: Hasher): CanonicalDigest {
  const block = new HashBlock(hasher);
  let rows = 0;
  block.addAscii(open);
  return {
    add(canonicalRow) {
      if (rows++ > 0) block.addAscii(comma);
      block.add(canonicalRow);
    },
    finish() {
      block.addAscii(close);
      return block.hex();
    },
  };
}
