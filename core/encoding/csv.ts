import { type Problem, WaybillError } from "../errors.ts";
import type { JsonValue } from "../json.ts";
import type { ColumnType, ProfileMember, RowProfile } from "../rows/profile.ts";
import { JsonError, parseJson } from "../strict-json.ts";
import { csvRecords } from "./csv-records.ts";
import type { DecodedRecord, DecodeLimits } from "./encoding.ts";
import { tooLarge } from "./text-blocks.ts";

/**
 * Logical rows of a CSV object, in batches. Columns are found by the header's names, in any order; only a member that may be absent
 * may lack its column. An empty unquoted cell is a missing value, `""` the empty text. `number` counts records behind the header
 * from 1. Text types are taken as they stand: createRowValidator judges them. A bad record becomes a problem and decoding goes on;
 * a bad header throws a WaybillError with all its problems, as do the bounds (RESOURCE_TOO_LARGE, RECORD_TOO_LONG).
 */
export async function* decodeCsv(
  chunks: AsyncIterable<Uint8Array>,
  profile: RowProfile,
  limits: DecodeLimits,
): AsyncIterable<readonly DecodedRecord[]> {
  let columns: readonly Column[] | undefined;
  let number = 0;
  for await (const records of csvRecords(chunks, limits)) {
    const batch: DecodedRecord[] = [];
    for (const record of records) {
      if (columns === undefined) {
        columns = columnsOf(record.cells, profile, limits);
        continue;
      }
      number += 1;
      if (number > limits.maxRows) throw tooLarge("rows", `${limits.maxRows} rows`);
      if (record.cells === undefined) batch.push({ number, problem: rowProblem(number, record.fault) });
      else batch.push(decodeCells(record.cells, columns, number));
    }
    if (batch.length > 0) yield batch;
  }
  if (columns === undefined) columnsOf(undefined, profile, limits);
}

interface Column {
  readonly member: ProfileMember;
  readonly decode: (text: string) => JsonValue;
}

/** Why a cell has no value of its type; turned into a Problem with row and member. */
class CellFault {
  readonly code: string;
  readonly what: string;
  constructor(code: string, what: string) {
    this.code = code;
    this.what = what;
  }
}

function decodeCells(cells: readonly (string | null)[], columns: readonly Column[], number: number): DecodedRecord {
  if (cells.length !== columns.length) {
    const what = `has ${cells.length} cells where the header has ${columns.length}`;
    return { number, problem: rowProblem(number, { code: "FIELD_COUNT", what }) };
  }
  const row: Record<string, JsonValue> = {};
  for (let i = 0; i < columns.length; i++) {
    const column = columns[i];
    const cell = cells[i];
    if (column === undefined || cell === undefined) continue;
    const { name, missing } = column.member;
    if (cell === null) {
      if (missing === "null" || missing === "null-or-absent") setMember(row, name, null);
      else if (missing === "forbidden") return cellProblem(number, name, new CellFault("MISSING_MEMBER", "is empty"));
      continue;
    }
    try {
      setMember(row, name, column.decode(cell));
    } catch (error) {
      if (!(error instanceof CellFault)) throw error;
      return cellProblem(number, name, error);
    }
  }
  return { number, row };
}

function columnsOf(
  cells: readonly (string | null)[] | undefined,
  profile: RowProfile,
  limits: DecodeLimits,
): readonly Column[] {
  if (cells === undefined) {
    const message = "the CSV has no readable header line; its first line names the members";
    throw new WaybillError("content", [{ code: "MISSING_HEADER", message }]);
  }
  const problems: Problem[] = [];
  const members = new Map(profile.members.map((member) => [member.name, member]));
  const columns: Column[] = [];
  const seen = new Set<string>();
  for (const cell of cells) {
    const name = cell ?? "";
    const member = members.get(name);
    if (member === undefined) problems.push(headerProblem("UNKNOWN_MEMBER", name, "is no member of the definition"));
    else if (seen.has(name)) problems.push(headerProblem("DUPLICATE_MEMBER", name, "stands twice"));
    else columns.push({ member, decode: cellDecoder(member.type, limits) });
    seen.add(name);
  }
  for (const { name, missing } of profile.members) {
    const mayLackColumn = missing === "absent" || missing === "null-or-absent";
    if (!seen.has(name) && !mayLackColumn) problems.push(headerProblem("MISSING_MEMBER", name, "has no column"));
  }
  if (problems.length > 0) throw new WaybillError("content", problems);
  return columns;
}

function cellDecoder(type: ColumnType, limits: DecodeLimits): (text: string) => JsonValue {
  switch (type.kind) {
    case "string":
    case "integer-string":
    case "decimal-string":
    case "date":
    case "timestamp":
      return (text) => text;
    case "boolean":
      return (text) => {
        if (text === "true") return true;
        if (text === "false") return false;
        throw new CellFault("WRONG_TYPE", "is neither true nor false");
      };
    case "integer":
      return (text) => {
        if (!/^(?:0|-?[1-9][0-9]*)$/.test(text)) throw new CellFault("WRONG_TYPE", "is not a whole number");
        const value = Number(text);
        if (!Number.isSafeInteger(value)) throw new CellFault("OUT_OF_RANGE", "is beyond 2^53 - 1");
        return value;
      };
    case "number":
      return (text) => {
        if (!/^-?[0-9][0-9.eE+-]*$/.test(text)) throw new CellFault("WRONG_TYPE", "is not a number");
        return parseCell(text, limits);
      };
    case "json":
      return (text) => parseCell(text, limits);
  }
}

function parseCell(text: string, limits: DecodeLimits): JsonValue {
  try {
    return parseJson(text, { maxDepth: limits.maxDepth });
  } catch (error) {
    if (error instanceof JsonError) throw new CellFault(error.code, error.message);
    throw error;
  }
}

/** `__proto__` is a legal member name; plain assignment would lose it. */
function setMember(row: Record<string, JsonValue>, name: string, value: JsonValue): void {
  if (name === "__proto__")
    Object.defineProperty(row, name, { value, enumerable: true, writable: true, configurable: true });
  else row[name] = value;
}

function rowProblem(row: number, fault: { readonly code: string; readonly what: string }): Problem {
  return { code: fault.code, message: `row ${row} ${fault.what}`, row };
}

function cellProblem(row: number, member: string, fault: CellFault): DecodedRecord {
  return { number: row, problem: { code: fault.code, message: `row ${row}: ${member}: ${fault.what}`, row, member } };
}

function headerProblem(code: string, member: string, what: string): Problem {
  return { code, message: `header: "${member}" ${what}`, field: "header", member };
}
