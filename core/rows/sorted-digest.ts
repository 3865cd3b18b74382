import { canonicalJson } from "../canonical-json.ts";
import { createBindingDigest } from "../digest/binding-digest.ts";
import { createCanonicalDigest } from "../digest/canonical-digest.ts";
import { nodeHasher } from "../digest/node-hasher.ts";
import type { ControlTotal } from "../model/records.ts";
import { createTotals, totalDifferences } from "../model/totals.ts";
import { fingerprintOf, ProblemList } from "./acquired-rows.ts";
import type { Engine } from "./duckdb.ts";
import { relationRecords } from "./parquet-rows.ts";
import type { RowProfile } from "./profile.ts";
import type { SortedOrigin, WrittenPart } from "./row-sorter.ts";
import { compareBytes, sortKey } from "./sort-key.ts";

export interface SortedDigestInput {
  readonly engine: Engine;
  /** Files in the engine's folder, in order. */
  readonly parts: readonly WrittenPart[];
  /** Where each row came from, in the same order as the rows of the parts. */
  readonly origins: AsyncIterable<readonly SortedOrigin[]>;
  readonly profile: RowProfile;
  readonly revisionId: string;
  readonly controlTotals: readonly ControlTotal[];
  readonly signal: AbortSignal | undefined;
  readonly onRows: (rows: number) => void;
}

export interface SortedDigests {
  /** Canonical content digest, lower-case hex. */
  readonly canonicalSha256: string;
  /** Binding digest, lower-case hex. */
  readonly contentSha256: string;
}

/**
 * Reads the written parts once: every row must be the one that was taken in, keys must strictly increase, counts and totals must hold.
 * WaybillError `content` DUPLICATE_KEY names both source rows; VALUE_NOT_RETAINED a row that storage would change.
 */
export async function digestSortedRows(input: SortedDigestInput): Promise<SortedDigests> {
  const origins = oneByOne(input.origins);
  try {
    return await digest(input, origins);
  } finally {
    await origins.close();
  }
}

async function digest(input: SortedDigestInput, origins: OneByOne<SortedOrigin>): Promise<SortedDigests> {
  const { engine, profile, revisionId, controlTotals, signal } = input;
  const canonical = createCanonicalDigest(nodeHasher("sha256"));
  const binding = createBindingDigest(nodeHasher("sha256"), { revisionId, controlTotals });
  const totals = createTotals(profile.controlTotals);
  const problems = new ProblemList();
  let previousKey: Uint8Array | undefined;
  let previousNumber = 0;
  let rows = 0;
  for (const part of input.parts) {
    const before = rows;
    for await (const records of relationRecords(engine, engine.parquet([engine.file(part.name)]), profile, signal)) {
      for (const { row } of records) {
        const next = origins.next();
        const origin = next instanceof Promise ? await next : next;
        if (row === undefined || origin === undefined)
          throw new Error("a retained part has a row that was not taken in");
        const { number, fingerprint } = origin;
        const text = canonicalJson(row);
        if (compareBytes(fingerprintOf(text), fingerprint) !== 0) {
          const message = `row ${number} has a value that does not come back unchanged from storage`;
          problems.add({ code: "VALUE_NOT_RETAINED", message, row: number });
        }
        const key = sortKey(row, profile.primaryKeys);
        const order = previousKey === undefined ? 1 : compareBytes(key, previousKey);
        if (order < 0) throw new Error("the retained parts are not in key order");
        if (order === 0) {
          const message = `rows ${previousNumber} and ${number} have the same key (${profile.primaryKeys.join(", ")})`;
          problems.add({ code: "DUPLICATE_KEY", message, row: number, field: "primary_keys" });
        }
        previousKey = key;
        previousNumber = number;
        canonical.add(text);
        binding.add(text);
        totals.add(row);
      }
      rows += records.length;
      input.onRows(rows);
    }
    if (rows - before !== part.rowCount) throw new Error("a retained part has another number of rows than was written");
  }
  if ((await origins.next()) !== undefined) throw new Error("the retained parts lack a row that was taken in");
  problems.throwIfAny();
  if (totalDifferences(controlTotals, totals.result()).length > 0)
    throw new Error("the retained parts have other totals");
  return { canonicalSha256: canonical.finish(), contentSha256: binding.finish(rows) };
}

/** Steps through batches entry by entry, with a promise only where a new batch is due. */
interface OneByOne<T> {
  next(): T | undefined | Promise<T | undefined>;
  close(): Promise<void>;
}

function oneByOne<T>(batches: AsyncIterable<readonly T[]>): OneByOne<T> {
  const iterator = batches[Symbol.asyncIterator]();
  let batch: readonly T[] = [];
  let at = 0;
  const refill = async (): Promise<T | undefined> => {
    while (at >= batch.length) {
      const result = await iterator.next();
      if (result.done === true) return undefined;
      batch = result.value;
      at = 0;
    }
    return batch[at++];
  };
  return {
    next: () => (at < batch.length ? batch[at++] : refill()),
    close: async () => {
      await iterator.return?.();
    },
  };
}
