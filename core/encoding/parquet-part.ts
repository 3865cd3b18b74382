import { randomUUID } from "node:crypto";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Engine, openEngine } from "../rows/duckdb.ts";
import { quoted, relationRecords } from "../rows/parquet-rows.ts";
import type { RowProfile } from "../rows/profile.ts";
import { createTypedTable } from "../rows/typed-table.ts";
import type { Encoding } from "./encoding.ts";
import { jsonlEncoder } from "./jsonl.ts";
import type { PartMaker } from "./part-maker.ts";
import { EmittedRows, type KeyOrder, provePart } from "./part-proof.ts";

/** A row group has at least as many rows, in steps of 2048; the last one of a part is shorter. */
const rowGroupRows = 65_536;

/**
 * Makes Parquet objects as ranges of the retained Parquet files, so 64-bit integers, decimals and microseconds never leave their columns.
 * One thread and fixed row groups: the same range always gives the same bytes. `directory` gets a work folder until `close`.
 */
export async function createParquetPartMaker(
  encoding: Encoding,
  profile: RowProfile,
  retainedFiles: readonly string[],
  directory: string,
  order: KeyOrder,
  signal: AbortSignal,
  onRows: (count: number) => void,
): Promise<PartMaker> {
  const workDirectory = join(directory, `.parquet-${randomUUID()}`);
  let engine: Engine | undefined;
  const close = async (): Promise<void> => {
    await engine?.close();
    await rm(workDirectory, { recursive: true, force: true });
  };
  try {
    engine = await openEngine({ directory: workDirectory, inputs: retainedFiles });
    const { file, parquet, run } = engine;
    const opened = engine;
    const rowCounts = await countRows(engine, retainedFiles.length, signal);
    const columns = profile.members.map((member) => quoted(member.name)).join(", ");
    const noRows = await emptySelection(engine, profile);
    return {
      async make(part, rows, firstNumber) {
        const emitted = new EmittedRows();
        for await (const batch of rows) {
          for (const row of batch) emitted.add(jsonlEncoder.encode(row, firstNumber + emitted.count));
          onRows(batch.length);
        }
        const made = "part.parquet";
        const range = rangeOf(rowCounts, firstNumber - 1, emitted.count);
        const selection = range === undefined ? noRows : `SELECT ${columns} FROM ${rangeRelation(opened, range)}`;
        await run(`COPY (${selection}) TO ${file(made)} (${copyOptions(encoding)})`, signal);
        const records = relationRecords(opened, parquet([file(made)]), profile, signal);
        await provePart(part.name, records, emitted, order, (row) => jsonlEncoder.encode(row, 0));
        await rename(join(workDirectory, made), part.temporaryPath);
        await part.adopt(signal);
        return emitted.count;
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function copyOptions({ compression, level }: Encoding): string {
  const codec = compression === "none" ? "uncompressed" : compression;
  const levelOption = compression === "zstd" ? `, COMPRESSION_LEVEL ${level ?? 3}` : "";
  return `FORMAT parquet, COMPRESSION ${codec}${levelOption}, ROW_GROUP_SIZE ${rowGroupRows}`;
}

/** The columns without a row: a revision without rows may have no file to take them from. */
async function emptySelection(engine: Engine, profile: RowProfile): Promise<string> {
  const table = await createTypedTable(engine, "no_rows", profile);
  table.finish();
  return `SELECT ${table.members} FROM no_rows`;
}

async function countRows(engine: Engine, files: number, signal: AbortSignal): Promise<readonly number[]> {
  const counts: number[] = [];
  for (let index = 0; index < files; index++) {
    const counting = engine.stream(`SELECT count(*) FROM ${engine.parquet([engine.input(index)])}`, signal);
    for await (const chunk of counting) counts.push(Number(chunk.getColumnVector(0).getItem(0)));
  }
  return counts;
}

/** Rows from `firstRow` of the first file to `lastRow` of the last one, both included and counted from 0 within their file. */
interface FileRange {
  readonly files: readonly number[];
  readonly firstRow: number;
  readonly lastRow: number;
}

/** Where `count` rows from `start` on lie; undefined when there are none. */
function rangeOf(rowCounts: readonly number[], start: number, count: number): FileRange | undefined {
  const files: number[] = [];
  let firstRow = 0;
  let lastRow = 0;
  let before = 0;
  rowCounts.forEach((rows, index) => {
    const first = Math.max(start - before, 0);
    const last = Math.min(start + count - before, rows) - 1;
    before += rows;
    if (first > last) return;
    if (files.length === 0) firstRow = first;
    lastRow = last;
    files.push(index);
  });
  return files.length === 0 ? undefined : { files, firstRow, lastRow };
}

/** One scan over the files: a UNION ALL of one scan each gives rows back in another order once a file has several row groups. */
function rangeRelation(engine: Engine, { files, firstRow, lastRow }: FileRange): string {
  const literals = files.map((index) => engine.input(index));
  const options = "file_row_number = true, filename = 'waybill_file', hive_partitioning = false, union_by_name = false";
  const isInside = `(waybill_file <> ${literals[0]} OR file_row_number >= ${firstRow})`;
  const isNotBeyond = `(waybill_file <> ${literals.at(-1)} OR file_row_number <= ${lastRow})`;
  return `read_parquet([${literals.join(", ")}], ${options}) WHERE ${isInside} AND ${isNotBeyond}`;
}
