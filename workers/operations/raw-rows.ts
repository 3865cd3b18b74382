import { createReadStream } from "node:fs";
import { access } from "node:fs/promises";
import { decompressStream } from "../../core/encoding/compression.ts";
import { csvRecords } from "../../core/encoding/csv-records.ts";
import { type DecodedRecord, defaultDecodeLimits } from "../../core/encoding/encoding.ts";
import { decodeJsonl } from "../../core/encoding/jsonl.ts";
import { WaybillError } from "../../core/errors.ts";
import type { JsonValue } from "../../core/json.ts";
import { parquetColumns } from "../../core/rows/parquet-columns.ts";
import { parquetRecords } from "../../core/rows/parquet-rows.ts";
import type { ColumnType } from "../../core/rows/profile.ts";
import { rowFileType } from "../../core/rows/readers/open-rows.ts";

/** Rows as their file has them, before anyone has said what they mean. */
export interface RawRows {
  /** True where every value is text or missing, as in CSV. */
  readonly untyped: boolean;
  /** Types that the file itself fixes, by column; Parquet does. */
  readonly fixed: ReadonlyMap<string, ColumnType>;
  readonly batches: AsyncIterable<readonly DecodedRecord[]>;
}

/** Opens a rows file by the endings of its name. WaybillError `usage` for another name; a system error when it cannot be opened. */
export async function rawRows(path: string, signal: AbortSignal): Promise<RawRows> {
  const { format, compression } = rowFileType(path);
  if (format === undefined || (format === "parquet" && compression !== "none")) {
    const message = "rows must be a .jsonl, .csv or .parquet file; .jsonl and .csv also with .gz or .zst";
    throw new WaybillError("usage", [{ code: "FORMAT_UNKNOWN", field: "rows", message }]);
  }
  await access(path);
  if (format === "parquet") return await parquetRawRows(path, signal);
  const bytes = createReadStream(path, { highWaterMark: 1024 * 1024, signal });
  const decoded = decompressStream(compression, bytes, defaultDecodeLimits);
  const fixed = new Map();
  if (format === "csv") return { untyped: true, fixed, batches: csvRows(decoded) };
  return { untyped: false, fixed, batches: decodeJsonl(decoded, defaultDecodeLimits) };
}

async function parquetRawRows(path: string, signal: AbortSignal): Promise<RawRows> {
  const columns = await parquetColumns(path, { signal });
  const fixed = new Map(columns.filter(({ type }) => type.kind !== "string").map(({ name, type }) => [name, type]));
  const profile = {
    members: columns.map(({ name, type }) => ({ name, type, missing: "null" as const })),
    primaryKeys: [],
    controlTotals: [],
  };
  return { untyped: false, fixed, batches: parquetRecords(path, profile, { signal }) };
}

/** CSV cells under their header's names: text, or null where the cell is empty and unquoted. */
async function* csvRows(bytes: AsyncIterable<Uint8Array>): AsyncIterable<readonly DecodedRecord[]> {
  let header: readonly string[] | undefined;
  let number = 0;
  for await (const records of csvRecords(bytes, defaultDecodeLimits)) {
    const batch: DecodedRecord[] = [];
    for (const { cells, fault } of records) {
      if (header === undefined) {
        header = headerOf(cells);
        continue;
      }
      number += 1;
      if (cells === undefined) batch.push(problem(number, fault.code, fault.what));
      else if (cells.length !== header.length) {
        batch.push(problem(number, "FIELD_COUNT", `has ${cells.length} cells where the header has ${header.length}`));
      } else {
        const row: Record<string, JsonValue> = Object.create(null);
        for (const [index, name] of header.entries()) row[name] = cells[index] ?? null;
        batch.push({ number, row });
      }
    }
    yield batch;
  }
}

function headerOf(cells: readonly (string | null)[] | undefined): readonly string[] {
  const names = cells?.map((cell) => cell ?? "") ?? [];
  if (names.length > 0 && !names.includes("") && new Set(names).size === names.length) return names;
  const message = "the CSV's first line must name every column, each name once";
  throw new WaybillError("content", [{ code: "MISSING_HEADER", message, field: "header" }]);
}

function problem(row: number, code: string, what: string): DecodedRecord {
  return { number: row, problem: { code, message: `row ${row} ${what}`, row } };
}
