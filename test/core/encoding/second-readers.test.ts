import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { canonicalJson } from "../../../core/canonical-json.ts";
import { encodeParts } from "../../../core/encoding/encode-parts.ts";
import type { EncodedPart } from "../../../core/encoding/encoding.ts";
import type { JsonValue } from "../../../core/json.ts";
import { instantToUs } from "../../../core/model/instant.ts";
import type { FileCompression, FileFormat } from "../../../core/model/records.ts";
import type { LogicalRow, ProfileMember, RowProfile } from "../../../core/rows/profile.ts";
import type { ProfiledRows } from "../../conformance/arbitrary-rows.ts";
import { hardRows } from "../../conformance/hard-rows.ts";
import { writeRetainedFiles } from "../../conformance/retained-files.ts";
import { describePeer, repositoryRoot, requireReaders } from "../../servers/peers.ts";

const run = promisify(execFile);
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "waybill-readers-"));
});
afterAll(() => rm(directory, { recursive: true }));

interface Case {
  readonly reader: "pyarrow" | "duckdb" | "stdlib";
  readonly format: FileFormat;
  readonly compression: FileCompression;
}

const cases: readonly Case[] = (["pyarrow", "duckdb", "stdlib"] as const).flatMap((reader) =>
  (["jsonl", "csv", "parquet"] as const).flatMap((format) =>
    (["none", "gzip", "zstd", "snappy"] as const)
      .filter((compression) => format === "parquet" || compression !== "snappy")
      .filter((compression) => reader !== "stdlib" || (format !== "parquet" && compression !== "zstd"))
      .map((compression) => ({ reader, format, compression })),
  ),
);

/** Nested values have no type of their own where readers parse JSON. */
function contentFor(format: FileFormat): ProfiledRows {
  if (format !== "jsonl") return hardRows;
  const members = hardRows.profile.members.filter((member) => member.type.kind !== "json");
  return { profile: { ...hardRows.profile, members }, rows: hardRows.rows.map(({ detail, ...flat }) => flat) };
}

describePeer("readers", "parts read by software of others", () => {
  it.each(cases)("B19 B22 B23 B29 $reader reads every value of $format $compression exactly, in order", async (one) => {
    const content = contentFor(one.format);
    const parts = await encode(one, content);
    expect(parts.map((part) => part.rowCount)).toEqual([20, content.rows.length - 20]);
    expect(await readBy(one, content.profile, parts)).toEqual(expectedRows(one, content));
  });

  it.each(cases)("B13 $reader opens $format $compression of a revision without rows", async (one) => {
    const content = { ...contentFor(one.format), rows: [] };
    const parts = await encode(one, content);
    expect(parts).toHaveLength(1);
    // Arrow's JSON reader refuses an object of 0 bytes, which is what JSON Lines without rows is.
    if (one.reader === "pyarrow" && one.format === "jsonl") return;
    expect(await readBy(one, content.profile, parts)).toEqual([]);
  });
});

/** The rows in the words of read_rows.py. */
function expectedRows(
  { reader, format }: Case,
  { profile, rows }: ProfiledRows,
): readonly (readonly (string | null)[])[] {
  const missing = reader === "stdlib" && format === "csv" ? "" : null;
  return rows.map((row) => profile.members.map((member) => expectedText(member, row) ?? missing));
}

function expectedText(member: ProfileMember, row: LogicalRow): string | null {
  const value: JsonValue | undefined = row[member.name];
  if (value === undefined || value === null) return null;
  switch (member.type.kind) {
    case "timestamp":
      return String(instantToUs(String(value)));
    case "json":
      return canonicalJson(value);
    default:
      return String(value);
  }
}

async function encode({ format, compression }: Case, { profile, rows }: ProfiledRows): Promise<readonly EncodedPart[]> {
  async function* batches(): AsyncIterable<readonly LogicalRow[]> {
    yield rows;
  }
  return encodeParts({
    rows: batches(),
    retainedFiles: format === "parquet" ? await writeRetainedFiles(rows, profile, directory) : [],
    profile,
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
