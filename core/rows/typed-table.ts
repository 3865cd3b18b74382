import {
  BIGINT,
  BLOB,
  BOOLEAN,
  DATE,
  DECIMAL,
  DOUBLE,
  DuckDBBlobValue,
  DuckDBDataChunk,
  DuckDBDateValue,
  DuckDBDecimalValue,
  DuckDBTimestampTZValue,
  type DuckDBType,
  type DuckDBValue,
  TIMESTAMPTZ,
  VARCHAR,
} from "@duckdb/node-api";
import { canonicalJson } from "../canonical-json.ts";
import type { JsonValue } from "../json.ts";
import { daysFromCivil, instantToUs } from "../model/instant.ts";
import type { Engine } from "./duckdb.ts";
import { quoted } from "./parquet-rows.ts";
import type { ColumnType, LogicalRow, RowProfile } from "./profile.ts";

/** DuckDB's own bound on the rows of one chunk. */
const chunkRows = 2048;

/** Flushing is synchronous; these bounds keep it short and the buffer small. */
const flushRows = chunkRows * 16;
const flushTextUnits = 8 * 1024 * 1024;

/** A table with one lossless column per member, and columns of our own in front that no member can shadow. */
export interface TypedTable {
  /** Appends validated rows; `own` has the values of each own column, as long as `rows`. */
  append(rows: readonly LogicalRow[], own?: readonly (readonly OwnValue[])[]): void;
  /** Writes what is buffered. The table can be read afterwards and takes no more rows. */
  finish(): void;
  /** `m0 AS "impressions", …` in column order: the select list that gives the members their names back. */
  readonly members: string;
}

export type OwnValue = bigint | Uint8Array;
export interface OwnColumn {
  /** A bare SQL word. Must not be `m` and digits. */
  readonly name: string;
  readonly type: "BIGINT" | "BLOB";
}

/** Creates `table` (a bare SQL word). Rows must have passed createRowValidator: values are converted, not checked. */
export async function createTypedTable(
  engine: Engine,
  table: string,
  profile: RowProfile,
  own: readonly OwnColumn[] = [],
): Promise<TypedTable> {
  const columns = profile.members.map(({ name, type }, index) => ({ name, column: `m${index}`, ...typedColumn(type) }));
  const definitions = [
    ...own.map(({ name, type }) => `${name} ${type}`),
    ...columns.map(({ column, stored }) => `${column} ${stored.toString()}`),
  ];
  await engine.run(`CREATE TABLE ${table} (${definitions.join(", ")})`);
  const appender = await engine.connection.createAppender(table);
  const types = [...own.map(({ type }) => (type === "BIGINT" ? BIGINT : BLOB)), ...columns.map(({ stored }) => stored)];
  // One chunk for all rows: its buffers are native, and the garbage collector does not see how large those of many chunks are.
  const chunk = DuckDBDataChunk.create(types);
  let unflushed = 0;
  let unflushedUnits = 0;
  return {
    members: columns.map(({ name, column }) => `${column} AS ${quoted(name)}`).join(", "),
    append(rows, ownValues = []) {
      for (let from = 0; from < rows.length; from += chunkRows) {
        const part = rows.slice(from, from + chunkRows);
        chunk.reset();
        chunk.rowCount = part.length;
        ownValues.forEach((values, index) => {
          chunk.setColumnValues(index, values.slice(from, from + chunkRows).map(ownValue));
        });
        columns.forEach(({ name, store }, index) => {
          const values = part.map((row) => {
            const value = Object.hasOwn(row, name) ? row[name] : undefined;
            if (value === undefined || value === null) return null;
            const stored = store(value);
            if (typeof stored === "string") unflushedUnits += stored.length;
            return stored;
          });
          chunk.setColumnValues(own.length + index, values);
        });
        appender.appendDataChunk(chunk);
        unflushed += part.length;
        if (unflushed < flushRows && unflushedUnits < flushTextUnits) continue;
        appender.flushSync();
        unflushed = 0;
        unflushedUnits = 0;
      }
    },
    finish: () => appender.closeSync(),
  };
}

function ownValue(value: OwnValue): DuckDBValue {
  return typeof value === "bigint" ? value : new DuckDBBlobValue(value);
}

interface TypedColumn {
  readonly stored: DuckDBType;
  /** Column value of a logical value that is not null. */
  readonly store: (value: JsonValue) => DuckDBValue;
}

/** The lossless column of a member type: what `columnReader` restores exactly. */
export function typedColumn(type: ColumnType): TypedColumn {
  switch (type.kind) {
    case "string":
      return { stored: VARCHAR, store: (value) => value as string };
    case "json":
      return { stored: VARCHAR, store: (value) => canonicalJson(value) };
    case "boolean":
      return { stored: BOOLEAN, store: (value) => value as boolean };
    case "number":
      return { stored: DOUBLE, store: (value) => value as number };
    case "integer":
      return { stored: BIGINT, store: (value) => BigInt(value as number) };
    case "integer-string": {
      if (type.column === "int64") return { stored: BIGINT, store: (value) => BigInt(value as string) };
      return { stored: DECIMAL(38, 0), store: (value) => new DuckDBDecimalValue(BigInt(value as string), 38, 0) };
    }
    case "decimal-string": {
      const { precision, scale } = type;
      const stored = DECIMAL(precision, scale);
      // The fixed scale makes the digits without the point the scaled integer.
      const scaled = (value: JsonValue): bigint => BigInt((value as string).replace(".", ""));
      return { stored, store: (value) => new DuckDBDecimalValue(scaled(value), precision, scale) };
    }
    case "date":
      return { stored: DATE, store: (value) => new DuckDBDateValue(daysOf(value as string)) };
    case "timestamp":
      return { stored: TIMESTAMPTZ, store: (value) => new DuckDBTimestampTZValue(instantToUs(value as string)) };
  }
}

function daysOf(date: string): number {
  const days = daysFromCivil(Number(date.slice(0, 4)), Number(date.slice(5, 7)), Number(date.slice(8, 10)));
  if (days === undefined) throw new RangeError("a date that does not exist");
  return days;
}
