import { canonicalBytes } from "../canonical-json.ts";
import { WaybillError } from "../errors.ts";
import type { LogicalRow } from "../rows/profile.ts";
import { compareBytes, sortKey } from "../rows/sort-key.ts";

/**
 * The bytes that the canonical digest covers, for a few rows held in memory: sorted by key, each in RFC 8785 form.
 * Two rows with one key are a WaybillError `content` that names both, counted from 1 in the given order.
 */
export function canonicalContent(rows: readonly LogicalRow[], primaryKeys: readonly string[]): Uint8Array {
  const keyed = rows.map((row, index) => ({
    number: index + 1,
    key: sortKey(row, primaryKeys),
    row: canonicalBytes(row),
  }));
  keyed.sort((left, right) => compareBytes(left.key, right.key));
  let size = 2;
  keyed.forEach((entry, index) => {
    const previous = keyed[index - 1];
    if (previous !== undefined && compareBytes(previous.key, entry.key) === 0) {
      const message = `rows ${previous.number} and ${entry.number} have the same key`;
      throw new WaybillError("content", [{ code: "DUPLICATE_KEY", message, row: entry.number }]);
    }
    size += entry.row.length + (index > 0 ? 1 : 0);
  });
  const content = new Uint8Array(size);
  content[0] = 0x5b;
  let at = 1;
  keyed.forEach((entry, index) => {
    if (index > 0) content[at++] = 0x2c;
    content.set(entry.row, at);
    at += entry.row.length;
  });
  content[at] = 0x5d;
  return content;
}
