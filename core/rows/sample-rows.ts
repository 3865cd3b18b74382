import type { JsonObject, JsonValue } from "../json.ts";
import { scaledToDecimal } from "../model/decimal.ts";
import type { ColumnType, ProfileMember, RowProfile } from "./profile.ts";

/**
 * Rows that satisfy a profile, for golden vectors: neither the rows nor their members stand in canonical order, values include what
 * implementations get wrong (control characters, astral text, numbers whose text order differs, null or absent members). At least two.
 */
export function sampleRows(profile: RowProfile): readonly JsonObject[] {
  const rows: JsonObject[] = [];
  const keys = new Set<string>();
  for (let index = 0; index < 3; index++) {
    const row = sampleRow(profile, index);
    const key = JSON.stringify(profile.primaryKeys.map((name) => row[name]));
    if (!keys.has(key)) rows.push(row);
    keys.add(key);
  }
  return rows;
}

/** Members in descending order, which is never the canonical one. */
function sampleRow({ members, primaryKeys }: RowProfile, index: number): JsonObject {
  const entries: [string, JsonValue][] = [];
  for (const member of [...members].sort((left, right) => (left.name < right.name ? 1 : -1))) {
    const value = sampleValue(member, index, primaryKeys.includes(member.name));
    if (value !== undefined) entries.push([member.name, value]);
  }
  return Object.fromEntries(entries);
}

function sampleValue({ type, missing }: ProfileMember, index: number, isKey: boolean): JsonValue | undefined {
  if (index === 1 && missing === "null") return null;
  if (index === 1 && missing !== "forbidden") return undefined;
  const values: readonly JsonValue[] = isKey && type.kind === "string" ? ["b", "a!", "a"] : samples(type);
  return values[index % values.length];
}

/** Values whose first two are in descending canonical order, so that any of them as first key makes the rows move. */
function samples(type: ColumnType): readonly JsonValue[] {
  switch (type.kind) {
    case "string":
      return ['Café "A", B\n\u0001\\', "\u{1f600}\u2028\u0085", ""];
    case "integer":
      return [9, 10, -1];
    case "number":
      return [1.5, 0.25, 1e-7];
    case "integer-string":
      return ["9", "10", type.column === "int64" ? "9007199254740993" : "-9223372036854775809"];
    case "decimal-string":
      return [2n, 1n, -1n].map((scaled) => scaledToDecimal(scaled, type.scale));
    case "boolean":
      return [true, false];
    case "date":
      return ["2026-03-09", "2026-03-08", "1969-12-31"];
    case "timestamp": {
      const fraction = type.fraction === 0 ? "" : `.${"123456".slice(0, type.fraction)}`;
      return ["2026-03-09T00:00:00", "2026-03-08T07:00:00", "1969-12-31T23:59:59"].map((text) => `${text}${fraction}Z`);
    }
    case "json":
      return [{ "\ufb33": [1, null, {}], "\u{1f600}": true }, [], "text"];
  }
}
