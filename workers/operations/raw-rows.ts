import { createReadStream } from "node:fs";
import { decompressStream, type StreamCompression } from "../../core/encoding/compression.ts";
import { csvRecords } from "../../core/encoding/csv-records.ts";
import { type DecodedRecord, defaultDecodeLimits } from "../../core/encoding/encoding.ts";
import { decodeJsonl } from "../../core/encoding/jsonl.ts";
import { WaybillError } from "../../core/errors.ts";
import type { JsonValue } from "../../core/json.ts";

/** Rows as their file has them, before anyone has said what they mean. */
export interface RawRows {
  /** True where every value is text or missing, as in CSV. */
  readonly untyped: boolean;
  readonly batches: AsyncIterable<readonly DecodedRecord[]>;
}

/** Opens a JSONL or CSV file, compressed or not, by the endings of its name. WaybillError `usage` for another name. */
export function rawRows(path: string, signal: AbortSignal): RawRows {
  const match = /\.(jsonl|ndjson|csv)(?:\.(gz|zst))?$/i.exec(path);
  if (match === null) {
    const message = "rows must be a .jsonl, .csv or .parquet file; .jsonl and .csv also with .gz or .zst";
    throw new WaybillError("usage", [{ code: "UNKNOWN_ROWS_FORMAT", field: "rows", message }]);
  }
  const bytes = createReadStream(path, { highWaterMark: 1024 * 1024, signal });
  const decoded = decompressStream(compressionOf(match[2]), bytes, defaultDecodeLimits);
  if (match[1]?.toLowerCase() === "csv") return { untyped: true, batches: csvRows(decoded) };
  return { untyped: false, batches: decodeJsonl(decoded, defaultDecodeLimits) };
}

function compressionOf(ending: string | undefined): StreamCompression {
  return ending === undefined ? "none" : ending.toLowerCase() === "gz" ? "gzip" : "zstd";
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
