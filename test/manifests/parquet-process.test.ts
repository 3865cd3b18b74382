import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type DecodedRecord, type DecodeLimits, defaultDecodeLimits } from "../../core/encoding/encoding.ts";
import { openEngine } from "../../core/rows/duckdb.ts";
import type { LogicalRow, RowProfile } from "../../core/rows/profile.ts";
import { readParquetInChild } from "../../manifests/parquet-process.ts";
import { deliverRaw, rowsOf, verifyFiles } from "./delivered-folder.ts";

const profile: RowProfile = {
  members: [
    { name: "id", type: { kind: "string" }, missing: "forbidden" },
    { name: "rate", type: { kind: "number" }, missing: "null" },
  ],
  primaryKeys: ["id"],
  controlTotals: [],
};

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "waybill-parquet-test-"));
});
afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
});

/** A Parquet file of one SQL query, as any tool may write it. */
async function parquetOf(query: string): Promise<Uint8Array> {
  const folder = await mkdtemp(join(directory, "made-"));
  const engine = await openEngine({ directory: folder });
  try {
    await engine.run(`COPY (${query}) TO ${engine.file("made.parquet")} (FORMAT parquet, COMPRESSION zstd)`);
  } finally {
    await engine.close();
  }
  return await readFile(join(folder, "made.parquet"));
}

async function read(
  bytes: Uint8Array,
  options: { readonly limits?: Partial<DecodeLimits>; readonly maxSilenceMs?: number } = {},
): Promise<readonly DecodedRecord[]> {
  const { limits, ...rest } = options;
  const records: DecodedRecord[] = [];
  const spoolDirectory = join(directory, "spool");
  const all = { ...defaultDecodeLimits, ...limits };
  for await (const batch of readParquetInChild(one(bytes), profile, all, { spoolDirectory, ...rest }))
    records.push(...batch);
  return records;
}

const rowsIn = (records: readonly DecodedRecord[]): readonly (LogicalRow | undefined)[] =>
  records.map(({ row }) => row);

describe("a Parquet object of others", () => {
  it("is read in a process of its own, row by row, and leaves no file behind", async () => {
    const bytes = await parquetOf("SELECT 'a' || i AS id, i / 2 AS rate FROM range(3) t(i)");
    expect(rowsIn(await read(bytes))).toEqual([
      { id: "a0", rate: 0 },
      { id: "a1", rate: 0.5 },
      { id: "a2", rate: 1 },
    ]);
    expect(await readdir(join(directory, "spool"))).toEqual([]);
  });

  it("with numbers that JSON has not: the row is named, the others are read", async () => {
    const bytes = await parquetOf(
      "SELECT * FROM (VALUES ('a', 'NaN'::DOUBLE), ('b', 1.5), ('c', '-0.0'::DOUBLE), ('d', 'inf'::DOUBLE), ('e', NULL)) t(id, rate)",
    );
    const records = await read(bytes);
    expect(records.map(({ number, problem }) => [number, problem?.code, problem?.member])).toEqual([
      [1, "OUT_OF_RANGE", "rate"],
      [2, undefined, undefined],
      [3, "OUT_OF_RANGE", "rate"],
      [4, "OUT_OF_RANGE", "rate"],
      [5, undefined, undefined],
    ]);
    expect(records[4]?.row).toEqual({ id: "e", rate: null });
  });

  it("with a leading U+FEFF and line separators keeps them", async () => {
    const bytes = await parquetOf(
      "SELECT chr(65279) || 'a' || chr(8232) || chr(133) || chr(10) AS id, 1.0::DOUBLE AS rate",
    );
    expect(rowsIn(await read(bytes))).toEqual([{ id: "\uFEFFa\u2028\u0085\n", rate: 1 }]);
  });

  it("that is none, or is cut, or lies about itself, is unreadable; nothing crashes", async () => {
    const good = await parquetOf("SELECT 'a' AS id, 1.0::DOUBLE AS rate");
    const lying = Uint8Array.from(good);
    lying.fill(0xff, 8, good.length - 8);
    for (const bytes of [new Uint8Array(), Buffer.from("PAR1"), good.subarray(0, -5), lying]) {
      await expect(read(bytes)).rejects.toMatchObject({ problems: [{ code: "UNREADABLE_PARQUET" }] });
    }
  });

  it("with other columns names each of them", async () => {
    const bytes = await parquetOf("SELECT 'a' AS id, 'x' AS surprise, TRUE AS rate");
    await expect(read(bytes)).rejects.toMatchObject({
      problems: [
        { code: "UNKNOWN_MEMBER", member: "surprise" },
        { code: "WRONG_TYPE", member: "rate" },
      ],
    });
  });

  it("that unpacks to more bytes or rows than allowed ends in RESOURCE_TOO_LARGE", async () => {
    const bytes = await parquetOf("SELECT repeat('x', 1000) || i AS id, 1.0::DOUBLE AS rate FROM range(20000) t(i)");
    expect(bytes.length).toBeLessThan(400_000);
    for (const limits of [{ maxDecodedBytes: 1_000_000 }, { maxRatio: 10 }, { maxRows: 100 }]) {
      await expect(read(bytes, { limits })).rejects.toMatchObject({ problems: [{ code: "RESOURCE_TOO_LARGE" }] });
    }
  });

  it("whose reader says nothing for too long is killed", async () => {
    const bytes = await parquetOf("SELECT 'a' AS id, 1.0::DOUBLE AS rate");
    await expect(read(bytes, { maxSilenceMs: 1 })).rejects.toMatchObject({
      problems: [{ code: "RESOURCE_TOO_LARGE", limit: "1 ms" }],
    });
  });

  it("whose consumer stops early is let go with its process and its files", async () => {
    const bytes = await parquetOf("SELECT repeat('x', 100) || i AS id, 1.0::DOUBLE AS rate FROM range(200000) t(i)");
    const spoolDirectory = join(directory, "early");
    for await (const batch of readParquetInChild(one(bytes), profile, defaultDecodeLimits, { spoolDirectory })) {
      expect(batch.length).toBeGreaterThan(0);
      break;
    }
    expect(await readdir(spoolDirectory)).toEqual([]);
  });

  it("ends in findings of the verifier", async () => {
    const garbage = deliverRaw(
      { "a.parquet": { bytes: "no parquet", rows: 0 } },
      { rows: [], encoding: { format: "parquet" } },
    );
    expect((await verifyFiles(garbage.files)).findings.map(({ code, object_ref }) => [code, object_ref])).toEqual([
      ["UNSUPPORTED_FORMAT", "a.parquet"],
    ]);
    const bytes = await parquetOf(
      "SELECT 'buy-0' AS media_buy_id, 'pkg-1' AS package_id, NULL::VARCHAR AS note, 1.5::DOUBLE AS impressions, 1.5::DECIMAL(18,1) AS spend",
    );
    const typed = deliverRaw({ "a.parquet": { bytes, rows: 1 } }, { rows: rowsOf(1), encoding: { format: "parquet" } });
    expect((await verifyFiles(typed.files)).findings).toContainEqual(
      expect.objectContaining({ code: "ROW_SCHEMA_INVALID", object_ref: "a.parquet", column: "impressions" }),
    );
  });
});

async function* one(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}
