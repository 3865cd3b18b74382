import { canonicalJson } from "../canonical-json.ts";
import { type CanonicalDigest, createCanonicalDigest } from "../digest/canonical-digest.ts";
import { nodeHasher } from "../digest/node-hasher.ts";
import { DeliveryError, WaybillError } from "../errors.ts";
import type { LogicalRow } from "../rows/profile.ts";
import { compareBytes, sortKey } from "../rows/sort-key.ts";
import type { DecodedRecord } from "./encoding.ts";

/** What one part must decode to: counted and hashed from the rows as they were emitted. */
export class EmittedRows {
  count = 0;
  private readonly digest: CanonicalDigest = createCanonicalDigest(nodeHasher("sha256"));

  /** `canonical`: the row's RFC 8785 text, or any text that equal rows and only equal rows share. */
  add(canonical: string): void {
    this.count += 1;
    this.digest.add(canonical);
  }

  /** May be called once. */
  finish(): string {
    return this.digest.finish();
  }
}

/** Follows the keys of a revision over all its parts. */
export class KeyOrder {
  private previous: Uint8Array | undefined;
  private readonly primaryKeys: readonly string[];

  constructor(primaryKeys: readonly string[]) {
    this.primaryKeys = primaryKeys;
  }

  /** False when the row does not come strictly after the one before it. */
  follows(row: LogicalRow): boolean {
    const key = sortKey(row, this.primaryKeys);
    const inOrder = this.previous === undefined || compareBytes(this.previous, key) < 0;
    this.previous = key;
    return inOrder;
  }
}

/**
 * Decodes a finished part and compares it with what was emitted: the same number of rows and the same logical content (equal digests
 * mean equal control totals, too); else DeliveryError ROW_NOT_ENCODABLE, its cause naming row and member if known. Keys that do not
 * increase strictly came so from the retained rows: REVISION_UNREADABLE.
 */
export async function provePart(
  name: string,
  records: AsyncIterable<readonly DecodedRecord[]>,
  emitted: EmittedRows,
  order: KeyOrder,
  textOf: (row: LogicalRow) => string = canonicalJson,
): Promise<void> {
  const decoded = new EmittedRows();
  let misplaced: number | undefined;
  try {
    for await (const batch of records) {
      for (const { number, row, problem } of batch) {
        if (problem !== undefined) throw new WaybillError("content", [problem]);
        if (!order.follows(row)) misplaced ??= number;
        decoded.add(textOf(row));
      }
    }
  } catch (error) {
    // Other kinds, such as a full spool, say nothing about the rows.
    if (!(error instanceof WaybillError) || error.kind !== "content") throw error;
    throw new DeliveryError("ROW_NOT_ENCODABLE", { cause: error });
  }
  const count = decoded.count;
  if (count !== emitted.count || decoded.finish() !== emitted.finish()) {
    const what = count === emitted.count ? "other rows" : `${count} rows instead of ${emitted.count}`;
    throw new DeliveryError("ROW_NOT_ENCODABLE", { cause: unproved(name, `it decodes to ${what}`) });
  }
  if (misplaced !== undefined) {
    const cause = unproved(name, `row ${misplaced} does not come after the row before it`, misplaced);
    throw new DeliveryError("REVISION_UNREADABLE", { cause });
  }
}

function unproved(name: string, what: string, row?: number): WaybillError {
  const problem = { code: "PART_NOT_PROVED", message: `${name}: ${what}`, field: name };
  return new WaybillError("content", [row === undefined ? problem : { ...problem, row }]);
}
