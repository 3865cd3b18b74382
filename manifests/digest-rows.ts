import { createCanonicalDigest } from "../core/digest/canonical-digest.ts";
import { compareBytes } from "../core/rows/sort-key.ts";
import type { SortableRow, VerifierPlatform } from "./platform.ts";

/** A row as the canonical digest needs it, and where it came from. */
export interface KeyedRow {
  readonly key: Uint8Array;
  /** RFC 8785 text. */
  readonly canonical: string;
  readonly objectRef: string;
  /** 1-based, within the object. */
  readonly number: number;
}

export interface DuplicateKey {
  readonly key: Uint8Array;
  /** Where the second row stands; unknown once rows had to be sorted. */
  readonly objectRef: string | undefined;
  readonly number: number | undefined;
}

/** `digest`: of rows without duplicates. `unsorted`: order was lost after too many rows to keep; sort all of them from the start. */
export type DigestOutcome =
  | { readonly kind: "digest"; readonly value: string; readonly duplicates: readonly DuplicateKey[] }
  | { readonly kind: "unsorted" };

/** Rows in key order are hashed as they come. So many are kept meanwhile, in case a later one belongs before them. */
const windowBytes = 16 * 1024 * 1024;
const windowRows = 65_536;
const maxDuplicates = 1000;

/**
 * The canonical digest of rows in any order. Memory is bounded: rows in key order stream, others go through `platform.sort`. The source
 * is always read to its end.
 */
export async function digestRows(
  rows: AsyncIterable<readonly KeyedRow[]>,
  platform: VerifierPlatform,
  window: { readonly bytes: number; readonly rows: number } = { bytes: windowBytes, rows: windowRows },
): Promise<DigestOutcome> {
  const digest = createCanonicalDigest(platform.hasher("sha256"));
  const source = rows[Symbol.asyncIterator]();
  const duplicates: DuplicateKey[] = [];
  let kept: (readonly KeyedRow[])[] | undefined = [];
  let keptBytes = 0;
  let keptRows = 0;
  let previous: Uint8Array | undefined;
  try {
    for (;;) {
      const next = await source.next();
      if (next.done === true) return { kind: "digest", value: digest.finish(), duplicates };
      for (const row of next.value) {
        const order = previous === undefined ? -1 : compareBytes(previous, row.key);
        if (order > 0) {
          if (kept !== undefined) return await digestSorted(chain([...kept, next.value], source), platform);
          await drain(source);
          return { kind: "unsorted" };
        }
        if (order === 0 && duplicates.length < maxDuplicates) duplicates.push(row);
        previous = row.key;
        digest.add(row.canonical);
        keptBytes += row.canonical.length + row.key.length;
      }
      keptRows += next.value.length;
      if (kept === undefined) continue;
      if (keptBytes > window.bytes || keptRows > window.rows) kept = undefined;
      else kept.push(next.value);
    }
  } finally {
    await source.return?.();
  }
}

/** The digest of rows that are known to be out of order. */
export async function digestSorted(
  rows: AsyncIterable<readonly KeyedRow[]>,
  platform: VerifierPlatform,
): Promise<Extract<DigestOutcome, { kind: "digest" }>> {
  const digest = createCanonicalDigest(platform.hasher("sha256"));
  const duplicates: DuplicateKey[] = [];
  let previous: Uint8Array | undefined;
  for await (const batch of platform.sort(sortable(rows))) {
    for (const { key, canonical } of batch) {
      const isDuplicate = previous !== undefined && compareBytes(previous, key) === 0;
      if (isDuplicate && duplicates.length < maxDuplicates) {
        duplicates.push({ key, objectRef: undefined, number: undefined });
      }
      previous = key;
      digest.add(canonical);
    }
  }
  return { kind: "digest", value: digest.finish(), duplicates };
}

const utf8 = new TextEncoder();

async function* sortable(rows: AsyncIterable<readonly KeyedRow[]>): AsyncIterable<readonly SortableRow[]> {
  for await (const batch of rows) yield batch.map(({ key, canonical }) => ({ key, canonical: utf8.encode(canonical) }));
}

async function* chain(
  kept: readonly (readonly KeyedRow[])[],
  rest: AsyncIterator<readonly KeyedRow[]>,
): AsyncIterable<readonly KeyedRow[]> {
  yield* kept;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}

async function drain(rest: AsyncIterator<unknown>): Promise<void> {
  while ((await rest.next()).done !== true);
}
