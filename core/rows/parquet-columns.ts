import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { DuckDBDecimalType, type DuckDBType, DuckDBTypeId } from "@duckdb/node-api";
import { type Problem, WaybillError } from "../errors.ts";
import { openEngine } from "./duckdb.ts";
import type { ColumnType } from "./profile.ts";
import { makeSpoolFolder } from "./spool-folder.ts";

/** A column of a Parquet file and the member type that gives its values back. */
export interface ParquetColumn {
  readonly name: string;
  /** Text columns are `string`; their values may say more. */
  readonly type: ColumnType;
}

/** The columns of a Parquet file, for a definition still to be written. WaybillError `content` with every column that no member can hold. */
export async function parquetColumns(
  path: string,
  options: { readonly spoolDirectory?: string; readonly signal?: AbortSignal } = {},
): Promise<readonly ParquetColumn[]> {
  const directory = await makeSpoolFolder(options.spoolDirectory ?? tmpdir(), "waybill-parquet-");
  try {
    const engine = await openEngine({ directory, inputs: [path] });
    try {
      const sql = `SELECT * EXCLUDE (file_row_number) FROM ${engine.parquet([engine.input(0)])}`;
      return members(await engine.columns(sql, options.signal));
    } finally {
      await engine.close();
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function members(columns: readonly { readonly name: string; readonly type: DuckDBType }[]): readonly ParquetColumn[] {
  const problems: Problem[] = [];
  const found: ParquetColumn[] = [];
  for (const { name, type } of columns) {
    const member = memberType(type);
    if (member !== undefined) found.push({ name, type: member });
    else {
      const message = `column "${name}" has the type ${type.toString()}, which no member can hold; store nested values as JSON text`;
      problems.push({ code: "WRONG_TYPE", message, field: "columns", member: name });
    }
  }
  if (problems.length > 0) throw new WaybillError("content", problems);
  return found;
}

const types: { readonly [id in DuckDBTypeId]?: ColumnType } = {
  [DuckDBTypeId.VARCHAR]: { kind: "string" },
  [DuckDBTypeId.ENUM]: { kind: "string" },
  [DuckDBTypeId.UUID]: { kind: "string" },
  [DuckDBTypeId.SQLNULL]: { kind: "string" },
  [DuckDBTypeId.BOOLEAN]: { kind: "boolean" },
  [DuckDBTypeId.DATE]: { kind: "date" },
  [DuckDBTypeId.DOUBLE]: { kind: "number" },
  [DuckDBTypeId.FLOAT]: { kind: "number" },
  [DuckDBTypeId.TINYINT]: { kind: "integer" },
  [DuckDBTypeId.SMALLINT]: { kind: "integer" },
  [DuckDBTypeId.INTEGER]: { kind: "integer" },
  [DuckDBTypeId.UTINYINT]: { kind: "integer" },
  [DuckDBTypeId.USMALLINT]: { kind: "integer" },
  [DuckDBTypeId.UINTEGER]: { kind: "integer" },
  [DuckDBTypeId.BIGINT]: { kind: "integer-string", column: "int64" },
  [DuckDBTypeId.UBIGINT]: { kind: "integer-string", column: "decimal38" },
  [DuckDBTypeId.HUGEINT]: { kind: "integer-string", column: "decimal38" },
  [DuckDBTypeId.UHUGEINT]: { kind: "integer-string", column: "decimal38" },
  [DuckDBTypeId.TIMESTAMP_S]: { kind: "timestamp", fraction: 0 },
  [DuckDBTypeId.TIMESTAMP_MS]: { kind: "timestamp", fraction: 3 },
  [DuckDBTypeId.TIMESTAMP]: { kind: "timestamp", fraction: 6 },
  [DuckDBTypeId.TIMESTAMP_TZ]: { kind: "timestamp", fraction: 6 },
  [DuckDBTypeId.TIMESTAMP_NS]: { kind: "timestamp", fraction: 6 },
};

function memberType(type: DuckDBType): ColumnType | undefined {
  if (!(type instanceof DuckDBDecimalType)) return types[type.typeId];
  if (type.scale === 0) return { kind: "integer-string", column: type.width > 18 ? "decimal38" : "int64" };
  return { kind: "decimal-string", precision: type.width, scale: type.scale };
}
