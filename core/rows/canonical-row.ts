import { canonicalJson } from "../canonical-json.ts";
import type { JsonValue } from "../json.ts";
import type { ColumnType, LogicalRow, RowProfile } from "./profile.ts";

/**
 * Compiles canonicalJson for the rows of one profile: the same text, for less work per row. Only for rows that createRowValidator passed;
 * of others the text means nothing.
 */
export function createRowCanonicalizer(profile: RowProfile): (row: LogicalRow) => string {
  const members = [...profile.members]
    .sort((left, right) => (left.name < right.name ? -1 : 1))
    .map(({ name, type }) => ({ name, start: `${canonicalJson(name)}:`, textOf: valueText(type) }));
  return (row) => {
    let text = "{";
    for (const { name, start, textOf } of members) {
      // An own member or none: a name such as toString must not reach the prototype.
      const value = Object.hasOwn(row, name) ? row[name] : undefined;
      if (value === undefined) continue;
      text += text.length === 1 ? start : `,${start}`;
      text += value === null ? "null" : textOf(value);
    }
    return `${text}}`;
  };
}

function valueText(type: ColumnType): (value: JsonValue) => string {
  switch (type.kind) {
    case "integer":
    case "number":
    case "boolean":
      return String;
    case "date":
    case "timestamp":
    case "integer-string":
    case "decimal-string":
      // Their texts hold no character that needs an escape.
      return (value) => `"${String(value)}"`;
    case "string":
    case "json":
      return canonicalJson;
  }
}
