import {
  DuckDBBlobVector,
  type DuckDBDateValue,
  DuckDBDecimalType,
  type DuckDBDecimalValue,
  type DuckDBTimestampNanosecondsValue,
  type DuckDBTimestampValue,
  type DuckDBType,
  DuckDBTypeId,
  type DuckDBValue,
  type DuckDBVector,
} from "@duckdb/node-api";
import type { JsonValue } from "../json.ts";
import { scaledToDecimal } from "../model/decimal.ts";
import { dateOfDays } from "../model/instant.ts";
import { decodeUtf8, parseJson } from "../strict-json.ts";
import type { ColumnType } from "./profile.ts";

/** How one stored column becomes one member. */
export interface ColumnReader {
  /** SQL expression that is selected. */
  readonly expression: string;
  /** Logical value; undefined for NULL. A value that its type cannot hold comes back as a text that createRowValidator refuses. */
  readonly read: (vector: DuckDBVector, row: number) => JsonValue | undefined;
}

const wholeNumbers: ReadonlySet<DuckDBTypeId> = new Set([
  DuckDBTypeId.TINYINT,
  DuckDBTypeId.SMALLINT,
  DuckDBTypeId.INTEGER,
  DuckDBTypeId.BIGINT,
  DuckDBTypeId.HUGEINT,
  DuckDBTypeId.UTINYINT,
  DuckDBTypeId.USMALLINT,
  DuckDBTypeId.UINTEGER,
  DuckDBTypeId.UBIGINT,
  DuckDBTypeId.UHUGEINT,
]);

/** Types whose values a JS number holds. */
const doubles: ReadonlySet<DuckDBTypeId> = new Set([
  DuckDBTypeId.DOUBLE,
  DuckDBTypeId.FLOAT,
  DuckDBTypeId.TINYINT,
  DuckDBTypeId.SMALLINT,
  DuckDBTypeId.INTEGER,
  DuckDBTypeId.UTINYINT,
  DuckDBTypeId.USMALLINT,
  DuckDBTypeId.UINTEGER,
]);

/**
 * The lossless way from a column to a member of a type, or a sentence on why there is none. Text columns are taken as they stand; a
 * timestamp without a zone counts as UTC, as the profile says. `column` is a quoted identifier.
 */
export function columnReader(type: ColumnType, column: string, stored: DuckDBType): ColumnReader | string {
  const id = stored.typeId;
  // A column of nothing but NULL has no type of its own in some writers.
  if (id === DuckDBTypeId.SQLNULL) return { expression: column, read: () => undefined };
  if (id === DuckDBTypeId.VARCHAR || id === DuckDBTypeId.ENUM) return textReader(type, column);
  switch (type.kind) {
    case "string":
      if (id === DuckDBTypeId.UUID) return textReader(type, column);
      break;
    case "json":
      return "holds nested columns; store nested values as JSON text";
    case "integer":
      if (wholeNumbers.has(id)) return native(column, (value) => Number(value));
      break;
    case "number":
      if (doubles.has(id)) return native(column, (value) => Number(value));
      break;
    case "integer-string":
      if (wholeNumbers.has(id)) return native(column, (value) => String(value));
      if (stored instanceof DuckDBDecimalType && stored.scale === 0) {
        return native(column, (value) => (value as DuckDBDecimalValue).value.toString());
      }
      break;
    case "decimal-string":
      if (wholeNumbers.has(id)) return native(column, (value) => String(value) + point(type.scale));
      if (stored instanceof DuckDBDecimalType) return decimalReader(column, stored.scale, type.scale);
      break;
    case "boolean":
      if (id === DuckDBTypeId.BOOLEAN) return native(column, (value) => value as boolean);
      break;
    case "date":
      if (id === DuckDBTypeId.DATE) return dateReader(column);
      break;
    case "timestamp":
      return timestampReader(column, id, type.fraction) ?? mismatch(stored, type);
  }
  return mismatch(stored, type);
}

function mismatch(stored: DuckDBType, type: ColumnType): string {
  const inexact = stored.typeId === DuckDBTypeId.DOUBLE || stored.typeId === DuckDBTypeId.FLOAT;
  const advice = inexact ? "; a float is not exact, so cast it where the file is written" : "";
  return `has the type ${stored.toString()}, which cannot become ${type.kind}${advice}`;
}

function native(column: string, convert: (value: DuckDBValue) => JsonValue): ColumnReader {
  return {
    expression: column,
    read: (vector, row) => {
      const value = vector.getItem(row);
      return value === null ? undefined : convert(value);
    },
  };
}

/** As bytes: the library's own text decoding drops a leading U+FEFF. */
function textReader(type: ColumnType, column: string): ColumnReader {
  const expression = `encode(CAST(${column} AS VARCHAR))`;
  const text = (vector: DuckDBVector, row: number): string | undefined => {
    if (!(vector instanceof DuckDBBlobVector)) throw new TypeError("a text column is read as bytes");
    const bytes = vector.getItemBytes(row);
    return bytes === null ? undefined : decodeUtf8(bytes);
  };
  if (type.kind !== "json") return { expression, read: text };
  return {
    expression,
    read: (vector, row) => {
      const json = text(vector, row);
      return json === undefined ? undefined : parseJson(json);
    },
  };
}

function point(scale: number): string {
  return scale === 0 ? "" : `.${"0".repeat(scale)}`;
}

function decimalReader(column: string, storedScale: number, scale: number): ColumnReader {
  const zeros = "0".repeat(Math.abs(storedScale - scale));
  return native(column, (value) => {
    const text = scaledToDecimal((value as DuckDBDecimalValue).value, storedScale);
    if (storedScale === scale) return text;
    if (storedScale < scale) return storedScale === 0 ? `${text}.${zeros}` : text + zeros;
    // Digits that the profile has no room for stay visible, so that the row is refused instead of rounded.
    return text.endsWith(zeros) ? text.slice(0, -zeros.length) : text;
  });
}

function dateReader(column: string): ColumnReader {
  const known = new Map<number, string>();
  return native(column, (value) => {
    const { days } = value as DuckDBDateValue;
    let text = known.get(days);
    if (text === undefined) {
      text = dayText(days);
      if (known.size < 10_000) known.set(days, text);
    }
    return text;
  });
}

/** Years beyond four digits and infinity have no text of this type. */
function dayText(days: number): string {
  try {
    return dateOfDays(days);
  } catch {
    return "beyond the calendar";
  }
}

function timestampReader(column: string, id: DuckDBTypeId, fraction: 0 | 3 | 6): ColumnReader | undefined {
  // Not epoch_us(): it makes NULL of infinity.
  const micros = (value: DuckDBValue): bigint => (value as DuckDBTimestampValue).micros;
  switch (id) {
    case DuckDBTypeId.TIMESTAMP:
    case DuckDBTypeId.TIMESTAMP_TZ:
      return instants(column, micros, 1_000_000n, fraction);
    case DuckDBTypeId.TIMESTAMP_S:
    case DuckDBTypeId.TIMESTAMP_MS:
      return instants(`CAST(${column} AS TIMESTAMP)`, micros, 1_000_000n, fraction);
    case DuckDBTypeId.TIMESTAMP_NS: {
      const nanos = (value: DuckDBValue): bigint => (value as DuckDBTimestampNanosecondsValue).nanos;
      return instants(column, nanos, 1_000_000_000n, fraction);
    }
    default:
      return undefined;
  }
}

function instants(
  expression: string,
  unitsOf: (value: DuckDBValue) => bigint,
  unitsPerSecond: bigint,
  fraction: 0 | 3 | 6,
): ColumnReader {
  const width = unitsPerSecond.toString().length - 1;
  const digits = new RegExp(`^(\\d{${fraction}})0*$`);
  // Reports repeat their instants, so the last second's text is kept.
  let lastSecond: number | undefined;
  let lastText = "";
  return {
    expression,
    read: (vector, row) => {
      const value = vector.getItem(row);
      if (value === null) return undefined;
      const units = unitsOf(value);
      let second = Number(units / unitsPerSecond);
      let rest = Number(units % unitsPerSecond);
      if (rest < 0) {
        rest += Number(unitsPerSecond);
        second -= 1;
      }
      if (second !== lastSecond) {
        lastText = secondText(second);
        lastSecond = second;
      }
      const all = String(rest).padStart(width, "0");
      const kept = digits.exec(all)?.[1] ?? all;
      return kept === "" ? `${lastText}Z` : `${lastText}.${kept}Z`;
    },
  };
}

function secondText(second: number): string {
  const days = Math.floor(second / 86_400);
  const time = second - days * 86_400;
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${dayText(days)}T${two(Math.floor(time / 3600))}:${two(Math.floor(time / 60) % 60)}:${two(time % 60)}`;
}
