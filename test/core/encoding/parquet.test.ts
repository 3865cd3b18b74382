import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { parquetMetadata, parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { canonicalJson } from "../../../core/canonical-json.ts";
import { decodeCsv } from "../../../core/encoding/csv.ts";
import { encodeParts } from "../../../core/encoding/encode-parts.ts";
import { defaultDecodeLimits, type EncodedPart } from "../../../core/encoding/encoding.ts";
import { instantToUs } from "../../../core/model/instant.ts";
import type { FileCompression } from "../../../core/model/records.ts";
import { parquetRecords } from "../../../core/rows/parquet-rows.ts";
import type { ColumnType, LogicalRow, ProfileMember, RowProfile } from "../../../core/rows/profile.ts";
import { inKeyOrder, type ProfiledRows } from "../../conformance/arbitrary-rows.ts";
import { hardRows } from "../../conformance/hard-rows.ts";
import { writeRetainedFiles } from "../../conformance/retained-files.ts";
import { describePeer, repositoryRoot, requireReaders } from "../../servers/peers.ts";

const run = promisify(execFile);
let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "waybill-parquet-test-"));
});
afterEach(() => rm(directory, { recursive: true }));

async function encode(
  { profile, rows }: ProfiledRows,
  compression: FileCompression = "zstd",
  rowsPerPart = 1_000_000,
  rowsPerFile = 7,
): Promise<readonly EncodedPart[]> {
  async function* batches(): AsyncIterable<readonly LogicalRow[]> {
    for (let at = 0; at < rows.length; at += 2_000) yield rows.slice(at, at + 2_000);
  }
  return encodeParts({
    rows: batches(),
    retainedFiles: await writeRetainedFiles(rows, profile, directory, rowsPerFile),
    profile,
    encoding: { format: "parquet", compression, rowsPerPart },
    directory: await mkdtemp(join(directory, "parts-")),
    signal: new AbortController().signal,
  });
}

/** Rows keyed by an integer `n`, as a revision serves them. */
function keyed(members: readonly ProfileMember[], rows: readonly LogicalRow[]): ProfiledRows {
  const key: ProfileMember = { name: "n", type: { kind: "integer" }, missing: "forbidden" };
  const profile: RowProfile = { members: [key, ...members], primaryKeys: ["n"], controlTotals: [] };
  return { profile, rows: inKeyOrder(rows, profile.primaryKeys) };
}

function nullable(name: string, type: ColumnType): ProfileMember {
  return { name, type, missing: "null" };
}

interface ColumnFacts {
  readonly compression: string;
  readonly nulls: number | null;
  readonly min: string | null;
  readonly max: string | null;
}

interface Facts {
  readonly rows: number;
  readonly row_groups: readonly { readonly rows: number; readonly columns: { readonly [name: string]: ColumnFacts } }[];
  readonly types: { readonly [name: string]: readonly [string, string] };
  readonly filtered: readonly (readonly (string | null)[])[];
}

async function factsOf(part: EncodedPart | undefined, ...filters: readonly string[]): Promise<Facts> {
  const script = join(repositoryRoot, "test/servers/readers/parquet_facts.py");
  const { stdout } = await run(requireReaders().python, [script, part?.path ?? "", ...filters], {
    maxBuffer: 64 * 1024 * 1024,
  });
  return JSON.parse(stdout);
}

describePeer("readers", "Parquet as pyarrow describes it", () => {
  it("B19 keeps 64-bit integers, also in the statistics", async () => {
    const values = ["9007199254740993", "-9223372036854775808", "9223372036854775807", "1"];
    const rows = values.map((big, n) => ({ n, big }));
    const [part] = await encode(keyed([nullable("big", { kind: "integer-string", column: "int64" })], rows));
    const facts = await factsOf(part, "big", "=", "9007199254740993");
    expect(facts.types["big"]).toEqual(["INT64", "Int(bitWidth=64, isSigned=true)"]);
    expect(facts.filtered).toEqual([["9007199254740993"]]);
    const statistics = facts.row_groups[0]?.columns["big"];
    expect([statistics?.min, statistics?.max]).toEqual(["-9223372036854775808", "9223372036854775807"]);
  });

  it("B20 has every row once and in order, over several row groups and retained files", async () => {
    const count = 2 * 65_536 + 1;
    const numbers = Array.from({ length: count }, (_, n) => ({ n }));
    const content = keyed([], numbers);
    for (const rowsPerFile of [count, 50_000]) {
      const [part] = await encode(content, "zstd", count, rowsPerFile);
      const facts = await factsOf(part, "n", ">=", "0");
      expect([part?.rowCount, facts.rows]).toEqual([count, count]);
      expect(facts.filtered[0]).toEqual(content.rows.map(({ n }) => String(n)));
      expect(facts.row_groups.length).toBeGreaterThan(1);
      expect(facts.row_groups.reduce((sum, group) => sum + group.rows, 0)).toBe(count);
    }
  });

  it("B21 tells null, empty and zero apart and counts the nulls", async () => {
    const members = [
      nullable("a", { kind: "string" }),
      { name: "z", type: { kind: "integer" }, missing: "absent" },
      nullable("none", { kind: "string" }),
      nullable("all", { kind: "string" }),
    ] as const;
    const rows = [
      { n: 0, a: null, none: null, all: "x" },
      { n: 1, a: "", z: 0, none: null, all: "" },
      { n: 2, a: null, none: null, all: "y" },
      { n: 3, a: null, none: null, all: "z" },
    ];
    const [part] = await encode(keyed(members, rows));
    const columns = (await factsOf(part)).row_groups[0]?.columns ?? {};
    expect(["a", "z", "none", "all"].map((name) => columns[name]?.nulls)).toEqual([3, 3, 4, 0]);
  });

  it("B22 B23 declares UTC microseconds and exact decimals", async () => {
    const [part] = await encode(hardRows);
    const { types } = await factsOf(part);
    expect(types["window_end"]).toEqual([
      "INT64",
      "Timestamp(isAdjustedToUTC=true, timeUnit=microseconds, is_from_converted_type=false, force_set_converted_type=false)",
    ]);
    expect(types["report_date"]).toEqual(["INT32", "Date"]);
    expect(types["spend"]?.[1]).toBe("Decimal(precision=18, scale=6)");
    expect(types["huge"]?.[1]).toBe("Decimal(precision=38, scale=0)");
    expect(types["note"]?.[1]).toBe("String");
  });

  it("B24 has statistics that hide no row from a filter", async () => {
    const members = [
      nullable("i", { kind: "integer-string", column: "int64" }),
      nullable("d", { kind: "decimal-string", precision: 18, scale: 2 }),
      nullable("wide", { kind: "decimal-string", precision: 38, scale: 2 }),
      nullable("t", { kind: "string" }),
    ];
    // Enough rows for two row groups; -1 stands in each.
    const rows = Array.from({ length: 70_000 }, (_, n) => {
      const i = n % 60_000 === 7 ? "-1" : n % 2 === 0 ? "5" : "10";
      return { n, i, d: `${i}.00`, wide: `${i}.00`, t: ["b", "é", "z"][n % 3] ?? "" };
    });
    const filters = ["i", "<", "0", "d", "<", "0", "wide", "<", "0", "t", ">", "y"];
    const [part] = await encode(keyed(members, rows), "snappy", 100_000, 100_000);
    const facts = await factsOf(part, ...filters);
    expect(facts.row_groups).toHaveLength(2);
    const negative = (text: string) => facts.filtered.map((values) => values.filter((value) => value === text).length);
    expect(negative("-1")[0]).toBe(2);
    expect(negative("-1.00").slice(1, 3)).toEqual([2, 2]);
    expect(facts.filtered[3]).toHaveLength(rows.filter(({ t }) => t > "y").length);
    for (const { columns } of facts.row_groups) {
      for (const name of ["i", "d", "wide"]) {
        const { min, max } = columns[name] ?? {};
        if (min === null || min === undefined) continue;
        expect([Number(min), Number(max)]).toEqual([-1, 10]);
      }
      const { min, max } = columns["t"] ?? {};
      if (typeof min === "string") expect([min, max]).toEqual(["b", "é"]);
    }
  });

  it("uses the codec that the encoding names", async () => {
    const names = { none: "UNCOMPRESSED", snappy: "SNAPPY", gzip: "GZIP", zstd: "ZSTD" } as const;
    for (const compression of ["none", "snappy", "gzip", "zstd"] as const) {
      const [part] = await encode(hardRows, compression);
      const facts = await factsOf(part);
      const used = new Set(Object.values(facts.row_groups[0]?.columns ?? {}).map((column) => column.compression));
      expect([...used]).toEqual([names[compression]]);
    }
  });
});

describe("Parquet read by hyparquet", () => {
  it.each(["none", "snappy", "gzip", "zstd"] as const)(
    "B19 B22 B23 has every value exactly (%s)",
    async (compression) => {
      const parts = await encode(hardRows, compression, 20);
      const actual: unknown[] = [];
      for (const part of parts) actual.push(...(await hyparquetRows(part)));
      expect(actual).toEqual(
        hardRows.rows.map((row) => hardRows.profile.members.map((member) => rawValue(member, row))),
      );
    },
  );

  it("B13 opens a file without rows and finds its columns", async () => {
    const [part] = await encode({ profile: hardRows.profile, rows: [] });
    const metadata = parquetMetadata(arrayBuffer(part));
    expect(Number(metadata.num_rows)).toBe(0);
    const columns = metadata.schema.slice(1).map((element) => element.name);
    expect(columns).toEqual(hardRows.profile.members.map((member) => member.name));
  });
});

/** Unscaled decimals, microseconds and days: what the columns hold, before any float. */
function rawValue({ name, type }: ProfileMember, row: LogicalRow): unknown {
  const value = row[name];
  if (value === undefined || value === null) return null;
  switch (type.kind) {
    case "integer":
    case "integer-string":
      return BigInt(String(value));
    case "decimal-string":
      return BigInt(String(value).replace(".", ""));
    case "timestamp":
      return instantToUs(String(value));
    case "date":
      return Number(instantToUs(`${String(value)}T00:00:00Z`) / 86_400_000_000n);
    case "json":
      return canonicalJson(value);
    default:
      return value;
  }
}

async function hyparquetRows(part: EncodedPart): Promise<readonly unknown[]> {
  const file = arrayBuffer(part);
  const metadata = parquetMetadata(file);
  const decimals = new Set<string>();
  // Its decimals pass through a float unless the column is read as the integer that it is.
  for (const element of metadata.schema) {
    if (element.converted_type !== "DECIMAL") continue;
    decimals.add(element.name);
    delete element.converted_type;
    delete element.logical_type;
  }
  const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const rows = await parquetReadObjects({
    file,
    metadata,
    compressors,
    utf8: false,
    parsers: {
      timestampFromMicroseconds: (us: bigint) => us,
      dateFromDays: (days: number) => days,
      stringFromBytes: (bytes: Uint8Array | undefined) => bytes && utf8.decode(bytes),
    },
  });
  return rows.map((row) =>
    hardRows.profile.members.map(({ name }) => {
      const value: unknown = row[name] ?? null;
      if (decimals.has(name) && value instanceof Uint8Array) return signedInteger(value);
      return value;
    }),
  );
}

function signedInteger(bigEndian: Uint8Array): bigint {
  return BigInt.asIntN(bigEndian.length * 8, BigInt(`0x${Buffer.from(bigEndian).toString("hex")}`));
}

function arrayBuffer(part: EncodedPart | undefined): ArrayBuffer {
  return new Uint8Array(readFileSync(part?.path ?? "")).buffer;
}

/** The few members of parquetjs-lite that are called; it comes without types. */
interface ParquetJs {
  readonly ParquetReader: {
    openFile(path: string): Promise<{
      getRowCount(): unknown;
      getCursor(): { next(): Promise<{ readonly [name: string]: unknown } | null> };
      close(): Promise<void>;
    }>;
  };
}

describe("Parquet read by parquetjs-lite", () => {
  it.each(["none", "snappy", "gzip"] as const)("has text, flags and doubles as they were (%s)", async (compression) => {
    const members = [
      nullable("text", { kind: "string" }),
      nullable("flag", { kind: "boolean" }),
      nullable("rate", { kind: "number" }),
    ];
    const rows = [
      { n: 0, text: "a\u2028😀\uFEFF", flag: true, rate: 0.1 },
      { n: 1, text: "", flag: false, rate: -1e300 },
      { n: 2, text: null, flag: null, rate: null },
    ];
    const [part] = await encode(keyed(members, rows), compression);
    const { ParquetReader } = createRequire(import.meta.url)("parquetjs-lite") as ParquetJs;
    const reader = await ParquetReader.openFile(part?.path ?? "");
    const cursor = reader.getCursor();
    const read: unknown[] = [];
    for (let row = await cursor.next(); row !== null; row = await cursor.next()) {
      read.push({ ...row, n: Number(row["n"]) });
    }
    await reader.close();
    // Its own reader leaves null members out.
    expect(read).toEqual(
      rows.map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null))),
    );
  });
});

describe("Parquet parts", () => {
  it("take ranges over the ends of retained files, and leave no work folder behind", async () => {
    const rows = Array.from({ length: 40 }, (_, n) => ({ n }));
    for (const rowsPerPart of [1, 6, 7, 8, 39, 40, 41]) {
      const parts = await encode(keyed([], rows), "zstd", rowsPerPart, 7);
      expect(parts.reduce((sum, part) => sum + part.rowCount, 0)).toBe(40);
      expect(await readdir(join(parts[0]?.path ?? "", ".."))).toEqual(parts.map((part) => part.name));
    }
  });

  it("keep the order of rows over retained files of several row groups each", async () => {
    const rows = Array.from({ length: 140_000 }, (_, n) => ({ n }));
    const parts = await encode(keyed([], rows), "zstd", 138_000, 130_000);
    expect(parts.map((part) => part.rowCount)).toEqual([138_000, 2_000]);
  });

  it("of others give null, as their CSV does, for an empty cell where null and absent are both legal", async () => {
    const content = keyed([nullable("a", { kind: "string" })], [{ n: 0, a: null }]);
    const [path] = await writeRetainedFiles(content.rows, content.profile, directory);
    const members = content.profile.members.map((member) =>
      member.name === "a" ? ({ ...member, missing: "null-or-absent" } as const) : member,
    );
    const foreign = { ...content.profile, members };
    for await (const batch of parquetRecords(path ?? "", foreign))
      expect(batch).toEqual([{ number: 1, row: { n: 0, a: null } }]);
    async function* csv(): AsyncIterable<Uint8Array> {
      yield Buffer.from("n,a\r\n0,\r\n");
    }
    for await (const batch of decodeCsv(csv(), foreign, defaultDecodeLimits)) {
      expect(batch).toEqual([{ number: 1, row: { n: 0, a: null } }]);
    }
  });

  it("do not mind members named like the columns that DuckDB adds", async () => {
    const members = ["file_index", "filename", "rowid"].map((name) => nullable(name, { kind: "string" }));
    const rows = Array.from({ length: 20 }, (_, n) => ({ n, file_index: "0", filename: "x", rowid: null }));
    const parts = await encode(keyed(members, rows), "zstd", 9, 4);
    expect(parts.map((part) => part.rowCount)).toEqual([9, 9, 2]);
  });

  it("are refused when the retained files hold other rows than were given", async () => {
    const content = keyed(
      [nullable("a", { kind: "string" })],
      [
        { n: 0, a: "x" },
        { n: 1, a: "y" },
      ],
    );
    const retainedFiles = await writeRetainedFiles(content.rows, content.profile, directory);
    for (const rows of [
      [
        { n: 0, a: "x" },
        { n: 1, a: "other" },
      ],
      [...content.rows, { n: 2, a: "z" }],
    ]) {
      async function* given(): AsyncIterable<readonly LogicalRow[]> {
        yield rows;
      }
      const target = await mkdtemp(join(directory, "parts-"));
      const work = encodeParts({
        rows: given(),
        retainedFiles,
        profile: content.profile,
        encoding: { format: "parquet", compression: "none", rowsPerPart: 10 },
        directory: target,
        signal: new AbortController().signal,
      });
      await expect(work).rejects.toMatchObject({ code: "ROW_NOT_ENCODABLE" });
      expect(await readdir(target)).toEqual([]);
    }
  });

  it("B13 need no retained file for a revision without rows", async () => {
    async function* none(): AsyncIterable<readonly LogicalRow[]> {}
    const parts = await encodeParts({
      rows: none(),
      retainedFiles: [],
      profile: hardRows.profile,
      encoding: { format: "parquet", compression: "zstd", rowsPerPart: 10 },
      directory,
      signal: new AbortController().signal,
    });
    expect(parts.map((part) => part.rowCount)).toEqual([0]);
  });
});
