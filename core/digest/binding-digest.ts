import { canonicalJson } from "../canonical-json.ts";
import type { ControlTotal } from "../model/records.ts";
import { HashBlock } from "./hash-block.ts";
import type { Hasher } from "./hasher.ts";

/** The `revision_content_sha256` of a revision: JCS of id, count, totals and rows, streamed. */
export interface BindingDigest {
  /** Adds one row as its RFC 8785 text or bytes, in the order in which the revision serves its rows. */
  add(canonicalRow: Uint8Array | string): void;
  /** Lower-case hex. `rowCount` is the revision's declared count; default: the rows added. May be called once. */
  finish(rowCount?: number): string;
}

/** Starts a binding digest over a fresh SHA-256 hasher. `controlTotals` keep the revision's own order. */
export function createBindingDigest(
  hasher: Hasher,
  revision: { readonly revisionId: string; readonly controlTotals: readonly ControlTotal[] },
): BindingDigest {
  const block = new HashBlock(hasher);
  // Members in RFC 8785 order, so that the rows can be streamed between the second and the last one.
  const totals = canonicalJson(revision.controlTotals);
  const id = canonicalJson(revision.revisionId);
  block.add(`{"control_totals":${totals},"reporting_revision_id":${id},"reporting_rows":[`);
  let rows = 0;
  return {
    add(canonicalRow) {
      if (rows++ > 0) block.addAscii(0x2c);
      block.add(canonicalRow);
    },
    finish(rowCount = rows) {
      block.add(`],"row_count":${canonicalJson(rowCount)}}`);
      return block.hex();
    },
  };
}
