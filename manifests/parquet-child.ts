import { once } from "node:events";
import { canonicalJson } from "../core/canonical-json.ts";
import type { DecodedRecord } from "../core/encoding/encoding.ts";
import { type Problem, WaybillError } from "../core/errors.ts";
import type { JsonValue } from "../core/json.ts";
import { parquetRecords } from "../core/rows/parquet-rows.ts";
import type { RowProfile } from "../core/rows/profile.ts";

/** One JSON document on stdin. */
export interface ParquetRequest {
  readonly path: string;
  readonly profile: RowProfile;
  readonly spoolDirectory: string;
}

/*
 * Reads one Parquet file and writes JSON Lines to stdout: {"row":…} or {"problem":…} per row, then {"end":{"kind":…,"problems":[…]}}.
 * Started and, when it takes too much, killed by readParquetInChild.
 */
try {
  await writeRecords(await readRequest());
  await writeLine({ end: { kind: "content", problems: [] } });
} catch (error) {
  await writeLine({ end: endOf(error) });
}

async function readRequest(): Promise<ParquetRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString("utf8"));
}

async function writeRecords({ path, profile, spoolDirectory }: ParquetRequest): Promise<void> {
  for await (const batch of parquetRecords(path, profile, { spoolDirectory })) {
    await write(batch.map((record) => `${lineOf(record)}\n`).join(""));
  }
}

function lineOf({ number, row, problem }: DecodedRecord): string {
  if (row === undefined) return JSON.stringify({ problem });
  const fault = numberFault(row, number);
  return fault === undefined ? `{"row":${canonicalJson(row)}}` : JSON.stringify({ problem: fault });
}

/** Numbers that a Parquet column holds and JSON does not: they would be lost on the way to the parent. */
function numberFault(row: { readonly [member: string]: JsonValue }, number: number): Problem | undefined {
  for (const member of Object.keys(row)) {
    const value = row[member];
    if (typeof value !== "number" || (Number.isFinite(value) && !Object.is(value, -0))) continue;
    const what = Object.is(value, -0) ? "is -0, which its canonical form cannot keep" : "is not a finite number";
    return { code: "OUT_OF_RANGE", message: `row ${number}: ${member}: ${what}`, row: number, member };
  }
  return undefined;
}

/** Words of the database stay here: they quote paths and values. */
function endOf(error: unknown): { readonly kind: WaybillError["kind"]; readonly problems: readonly Problem[] } {
  if (error instanceof WaybillError) return { kind: error.kind, problems: error.problems };
  const text = error instanceof Error ? error.message : "";
  if (/out of memory/i.test(text)) {
    const message = "the Parquet object takes more memory than it may";
    return { kind: "content", problems: [{ code: "RESOURCE_TOO_LARGE", message }] };
  }
  const message = "the object is not a Parquet file that can be read";
  return { kind: "content", problems: [{ code: "UNREADABLE_PARQUET", message }] };
}

async function writeLine(line: object): Promise<void> {
  await write(`${JSON.stringify(line)}\n`);
}

async function write(text: string): Promise<void> {
  if (text !== "" && !process.stdout.write(text)) await once(process.stdout, "drain");
}
