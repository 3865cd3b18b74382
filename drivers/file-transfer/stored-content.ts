import { createHash } from "node:crypto";
import { DeliveryError } from "../../core/errors.ts";
import type { ObjectFacts, ObjectStore } from "./object-store.ts";

export interface ExpectedContent {
  readonly sizeBytes: number;
  /** Lower-case hex. */
  readonly sha256: string;
}

/** What stands at a key, compared with what we would have put there. */
export type StoredContent =
  | { readonly state: "equal"; readonly facts: ObjectFacts }
  | { readonly state: "differs" }
  | { readonly state: "absent" };

/**
 * Compares by streaming the stored bytes; another size settles a difference, an equal one settles nothing. `trustStoreHash`: a hash
 * that the store computed itself will do, for reading back what this very call created.
 */
export async function compareStored(
  store: ObjectStore,
  key: string,
  expected: ExpectedContent,
  options: { readonly signal: AbortSignal; readonly trustStoreHash?: boolean },
): Promise<StoredContent> {
  const { signal } = options;
  const facts = await store.stat(key, { signal });
  if (facts === undefined) return { state: "absent" };
  if (facts.sizeBytes !== expected.sizeBytes) return { state: "differs" };
  if (options.trustStoreHash === true && facts.sha256 === expected.sha256) return { state: "equal", facts };
  const stream = await store.open(key, { signal, ...versionOf(facts) });
  if (stream === undefined) return { state: "absent" };
  const hash = createHash("sha256");
  for await (const chunk of stream) hash.update(chunk);
  return hash.digest("hex") === expected.sha256 ? { state: "equal", facts } : { state: "differs" };
}

/** All bytes of a small object, or undefined when there is none. More than `maxBytes` is CONTENT_CONFLICT: nothing of ours is that long. */
export async function readSmall(
  store: ObjectStore,
  key: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<{ readonly bytes: Uint8Array; readonly facts: ObjectFacts } | undefined> {
  const facts = await store.stat(key, { signal });
  const stream = facts === undefined ? undefined : await store.open(key, { signal, ...versionOf(facts) });
  if (facts === undefined || stream === undefined) return undefined;
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of stream) {
    sizeBytes += chunk.length;
    if (sizeBytes > maxBytes) throw new DeliveryError("CONTENT_CONFLICT");
    chunks.push(chunk);
  }
  return { bytes: Buffer.concat(chunks), facts };
}

function versionOf(facts: ObjectFacts): { readonly nativeVersion?: string } {
  return facts.nativeVersion === undefined ? {} : { nativeVersion: facts.nativeVersion };
}
