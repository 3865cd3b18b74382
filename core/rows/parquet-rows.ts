import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import type { DuckDBDataChunk, DuckDBVector } from "@duckdb/node-api";
import type { DecodedRecord } from "../encoding/encoding.ts";
import { type Problem, WaybillError } from "../errors.ts";
import type { JsonValue } from "../json.ts";
import { JsonError } from "../strict-json.ts";
import { type ColumnReader, columnReader } from "./column-reader.ts";
import { type Engine, openEngine } from "./duckdb.ts";
import type { LogicalRow, ProfileMember, RowProfile } from "./profile.ts";
import { makeSpoolFolder } from "./spool-folder.ts";

export interface ParquetReadOptions {
  /** Rows per batch at most; DuckDB hands out up to 2048. Default 2048. */
  readonly batchSize?: number;
  readonly signal?: AbortSignal;
  /** Folder for spilling and links, created and removed here. Default: a fresh one below the system's temporary folder. */
  readonly spoolDirectory?: string;
}

/**
 * The logical rows of one Parquet file in file order, restored exactly. They are not validated: see createRowValidator. WaybillError
 * `content` with every problem when a column is unknown, missing, or of a type that loses values, or a nested value is no JSON.
 */
export async function* parquetRows(
  path: string,
  profile: RowProfile,
  options: ParquetReadOptions = {},
): AsyncIterable<readonly LogicalRow[]> {
  for await (const records of parquetRecords(path, profile, options)) yield records.map(rowOf);
}

function rowOf(record: DecodedRecord): LogicalRow {
  if (record.row === undefined) throw new WaybillError("content", [record.problem]);
  return record.row;
}

/** parquetRows, but a row that cannot be restored is a record with its problem. `number` is the 1-based row of the file. */
export async function* parquetRecords(
  path: string,
  profile: RowProfile,
  options: ParquetReadOptions = {},
): AsyncIterable<readonly DecodedRecord[]> {
  const directory = await makeSpoolFolder(options.spoolDirectory ?? tmpdir(), "waybill-parquet-");
  let engine: Engine | undefined;
  try {
    engine = await openEngine({ directory, inputs: [path] });
    const records = relationRecords(engine, engine.parquet([engine.input(0)]), profile, options.signal);
    for await (const batch of records) yield* slices(batch, options.batchSize ?? batch.length);
  } finally {
    await engine?.close();
    await rm(directory, { recursive: true, force: true });
  }
}

function* slices<T>(batch: readonly T[], size: number): Iterable<readonly T[]> {
  if (batch.length <= size) yield batch;
  else for (let from = 0; from < batch.length; from += size) yield batch.slice(from, from + size);
}

/**
 * Records of a Parquet relation (`Engine.parquet`) or typed table, in its order. `number` counts from 1. See parquetRecords for errors.
 */
export async function* relationRecords(
  engine: Engine,
  relation: string,
  profile: RowProfile,
  signal?: AbortSignal,
): AsyncIterable<readonly DecodedRecord[]> {
  const columns = await readColumns(engine, relation, profile, signal);
  const selected = columns.map(({ reader }) => reader.expression).join(", ");
  let number = 0;
  for await (const chunk of engine.stream(`SELECT ${selected} FROM ${relation}`, signal)) {
    yield restore(chunk, columns, number);
    number += chunk.rowCount;
  }
}

interface ReadColumn {
  readonly member: ProfileMember;
  readonly reader: ColumnReader;
}

/** Column of `Engine.parquet` that is not in the file. */
const rowNumberColumn = "file_row_number";

async function readColumns(
  engine: Engine,
  relation: string,
  profile: RowProfile,
  signal: AbortSignal | undefined,
): Promise<readonly ReadColumn[]> {
  const columns = await engine.columns(`SELECT * FROM ${relation}`, signal);
  const problems: Problem[] = [];
  const report = (code: string, member: string, what: string): void => {
    problems.push({ code, message: `column "${member}" ${what}`, field: "columns", member });
  };
  const members = new Map(profile.members.map((member) => [member.name, member]));
  const found = new Map<string, ReadColumn>();
  for (const { name, type } of columns) {
    const member = members.get(name);
    if (member === undefined) {
      if (name !== rowNumberColumn) report("UNKNOWN_MEMBER", name, "is no member of the definition");
      continue;
    }
    const reader = columnReader(member.type, quoted(name), type);
    if (typeof reader !== "string") found.set(name, { member, reader });
    // Writers give a column of nothing but NULL whatever type comes first.
    else if (await isAllNull(engine, relation, name, signal)) found.set(name, { member, reader: nullReader });
    else report("WRONG_TYPE", name, reader);
  }
  for (const { name, missing } of profile.members) {
    const there = columns.some((column) => column.name === name);
    if (!there && missing !== "absent" && missing !== "null-or-absent") report("MISSING_MEMBER", name, "is missing");
  }
  if (found.size === 0 && problems.length === 0)
    report("MISSING_MEMBER", "*", "is missing: the file has none of the members");
  if (problems.length > 0) throw new WaybillError("content", problems);
  // Canonical member order, which spares the canonical encoder a sort per row.
  return [...found.values()].sort((left, right) => (left.member.name < right.member.name ? -1 : 1));
}

const nullReader: ColumnReader = { expression: "NULL", read: () => undefined };

async function isAllNull(
  engine: Engine,
  relation: string,
  column: string,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  for await (const chunk of engine.stream(`SELECT count(${quoted(column)}) FROM ${relation}`, signal)) {
    return chunk.getColumnVector(0).getItem(0) === 0n;
  }
  return false;
}

/** SQL identifier. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function restore(chunk: DuckDBDataChunk, columns: readonly ReadColumn[], before: number): readonly DecodedRecord[] {
  const vectors: DuckDBVector[] = columns.map((_, index) => chunk.getColumnVector(index));
  const records: DecodedRecord[] = [];
  const { rowCount } = chunk;
  for (let index = 0; index < rowCount; index++) {
    const number = before + index + 1;
    const row: { [member: string]: JsonValue } = {};
    let problem: Problem | undefined;
    for (let column = 0; column < columns.length; column++) {
      const { member, reader } = columns[column] as ReadColumn;
      const vector = vectors[column] as DuckDBVector;
      try {
        const value = reader.read(vector, index);
        if (value !== undefined) row[member.name] = value;
        else if (member.missing === "null" || member.missing === "null-or-absent") row[member.name] = null;
      } catch (error) {
        if (!(error instanceof JsonError)) throw error;
        const message = `row ${number}: ${member.name}: ${error.message}`;
        problem ??= { code: error.code, message, row: number, member: member.name };
      }
    }
    records.push(problem === undefined ? { number, row } : { number, problem });
  }
  return records;
}
