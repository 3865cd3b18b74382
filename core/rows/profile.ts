import type { JsonObject } from "../json.ts";

/**
 * Logical types and their lossless columns. The logical value is always JSON:
 * string, date (YYYY-MM-DD), timestamp (RFC 3339 UTC, fixed fraction digits, `Z`), integer-string and decimal-string are JSON strings;
 * integer is a JSON number within +-(2^53 - 1); number a finite double; json any nested value.
 */
export type ColumnType =
  | { readonly kind: "string" }
  | { readonly kind: "integer" }
  | { readonly kind: "number" }
  /** digits <= 18: BIGINT range is still checked; 19..38 -> DECIMAL(38,0). No leading zeros, no "-0". Default digits: 19 meaning the INT64 range. */
  | { readonly kind: "integer-string"; readonly column: "int64" | "decimal38" }
  /** Fixed scale: the text always has exactly `scale` fraction digits (scale >= 1); never "-0.00". precision <= 38. */
  | { readonly kind: "decimal-string"; readonly precision: number; readonly scale: number }
  | { readonly kind: "boolean" }
  | { readonly kind: "date" }
  /** Fraction digits of the text: 0, 3 or 6. Stored as UTC microseconds. */
  | { readonly kind: "timestamp"; readonly fraction: 0 | 3 | 6 }
  | { readonly kind: "json" };

export interface ProfileMember {
  readonly name: string;
  readonly type: ColumnType;
  /**
   * A NULL cell. `forbidden`: the member is required and never null; `null`: JSON null, member always present; `absent`: the member is
   * left out, never null. `null-or-absent` comes from row schemas of others only: both are legal, and only JSON tells them apart.
   */
  readonly missing: "forbidden" | "null" | "absent" | "null-or-absent";
}

export interface ControlTotalRule {
  readonly name: string;
  /** Member of the row that is summed; NULL cells add nothing. Types: integer, integer-string, decimal-string. */
  readonly member: string;
  readonly value_type: "integer" | "decimal";
  /** Fraction digits of the total's text; equals the member's scale. 0 for integer. */
  readonly scale: number;
  readonly unit?: string;
}

/** Everything needed to store a logical row in typed columns and to restore it byte for byte. */
export interface RowProfile {
  /** In column order of CSV headers and Parquet schemas. */
  readonly members: readonly ProfileMember[];
  /** Ordered; every key member is scalar and `missing: forbidden`. */
  readonly primaryKeys: readonly string[];
  readonly controlTotals: readonly ControlTotalRule[];
  /** Member holding the media buy id, when the report has one. */
  readonly mediaBuyMember?: string;
}

/** One logical row. Member order carries no meaning. */
export type LogicalRow = JsonObject;
