import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { encodeParts } from "../../../core/encoding/encode-parts.ts";
import type { EncodedPart } from "../../../core/encoding/encoding.ts";
import type { JsonValue } from "../../../core/json.ts";
import { instantToUs } from "../../../core/model/instant.ts";
import type { FileCompression } from "../../../core/model/records.ts";
import type { LogicalRow, ProfileMember, RowProfile } from "../../../core/rows/profile.ts";
import { hardRows } from "../../conformance/hard-rows.ts";
import { describePeer, repositoryRoot, requireReaders } from "../../servers/peers.ts";

const run = promisify(execFile);
const { profile, rows } = hardRows;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "waybill-readers-"));
});
afterAll(() => rm(directory, { recursive: true }));

/** Nested values have no type of their own in these readers. */
const flatProfile: RowProfile = {
  ...profile,
  members: profile.members.filter((member) => member.type.kind !== "json"),
};
const flatRows: readonly LogicalRow[] = rows.map(({ detail, ...flat }) => flat);

interface Case {
  readonly reader: "pyarrow" | "duckdb" | "stdlib";
  readonly format: "jsonl" | "csv";
  readonly compression: FileCompression;
}

const cases: readonly Case[] = (["pyarrow", "duckdb", "stdlib"] as const).flatMap((reader) =>
  (["jsonl", "csv"] as const).flatMap((format) =>
    (["none", "gzip", "zstd"] as const)
      .filter((compression) => reader !== "stdlib" || compression !== "zstd")
      .map((compression) => ({ reader, format, compression })),
  ),
);

describePeer("readers", "parts read by software of others", () => {
  it.each(cases)("$reader reads every value of $format $compression exactly, in order", async (one) => {
    const parts = await encode(one, flatProfile, flatRows);
    expect(parts.map((part) => part.rowCount)).toEqual([20, rows.length - 20]);
    expect(await readBy(one, flatProfile, parts)).toEqual(expectedRows(one, flatProfile, flatRows));
  });

  it.each(cases)("B13 $reader opens $format $compression of a revision without rows", async (one) => {
    const parts = await encode(one, flatProfile, []);
    expect(parts).toHaveLength(1);
    // An empty object has no record to start from; every other reader of JSON Lines takes it for no rows.
    if (one.reader === "pyarrow" && one.format === "jsonl") return;
    expect(await readBy(one, flatProfile, parts)).toEqual([]);
  });
});

/** The rows in the words of read_rows.py. */
function expectedRows(
  { reader, format }: Case,
  { members }: RowProfile,
  of: readonly LogicalRow[],
): readonly (readonly (string | null)[])[] {
  const missing = reader === "stdlib" && format === "csv" ? "" : null;
  return of.map((row) => members.map((member) => expectedText(member, row) ?? missing));
}

function expectedText(member: ProfileMember, row: LogicalRow): string | null {
  const value: JsonValue | undefined = row[member.name];
  if (value === undefined || value === null) return null;
  return member.type.kind === "timestamp" ? String(instantToUs(String(value))) : String(value);
}

async function encode(
  { format, compression }: Case,
  of: RowProfile,
  from: readonly LogicalRow[],
): Promise<readonly EncodedPart[]> {
  async function* batches(): AsyncIterable<readonly LogicalRow[]> {
    yield from;
  }
  return encodeParts({
    rows: batches(),
    retainedFiles: [],
    profile: of,
    encoding: { format, compression, rowsPerPart: 20 },
    directory: await mkdtemp(join(directory, "parts-")),
    signal: new AbortController().signal,
  });
}

async function readBy(
  { reader, format, compression }: Case,
  { members }: RowProfile,
  parts: readonly EncodedPart[],
): Promise<readonly (readonly (string | null)[])[]> {
  const script = join(repositoryRoot, "test/servers/readers/read_rows.py");
  const paths = parts.map((part) => part.path);
  const parameters = [script, reader, format, compression, JSON.stringify(members), ...paths];
  const { stdout } = await run(requireReaders().python, parameters, { maxBuffer: 64 * 1024 * 1024 });
  const lines = stdout.split("\n").slice(0, -1);
  return lines.map((line) => {
    const texts: readonly (string | null)[] = JSON.parse(line);
    return texts.map((text, index) => {
      const isNumber = members[index]?.type.kind === "number";
      return isNumber && text !== null && text !== "" ? String(Number(text)) : text;
    });
  });
}
