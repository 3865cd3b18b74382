import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { canonicalJson } from "../../../../core/canonical-json.ts";
import { compressStream } from "../../../../core/encoding/compression.ts";
import { type DecodedRecord, defaultDecodeLimits } from "../../../../core/encoding/encoding.ts";
import { openEngine } from "../../../../core/rows/duckdb.ts";
import type { RowProfile } from "../../../../core/rows/profile.ts";
import { openRows, type RowSource, rowFileType } from "../../../../core/rows/readers/open-rows.ts";
import { createTypedTable } from "../../../../core/rows/typed-table.ts";
import { createRowValidator } from "../../../../core/rows/validate-row.ts";
import { describePeer, requireReaders } from "../../../servers/peers.ts";
import { fixtureDocuments, fixtures, refusalOf } from "../retain-world.ts";

let directory: string;
let profile: RowProfile;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "waybill-test-"));
  ({ profile } = await fixtureDocuments());
});
afterEach(() => rm(directory, { recursive: true, force: true }));

type Options = Partial<Parameters<typeof openRows>[1]>;

async function recordsFrom(source: RowSource, options: Options = {}): Promise<readonly DecodedRecord[]> {
  const records: DecodedRecord[] = [];
  for await (const batch of openRows(source, { profile, spoolDirectory: directory, ...options }))
    records.push(...batch);
  return records;
}

async function canonicalFrom(path: string, options?: Options): Promise<readonly string[]> {
  return (await recordsFrom({ path }, options)).map(({ row }) => canonicalJson(row));
}

async function* once(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}

async function collect(bytes: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const hardFile = join(fixtures, "daily-ad-delivery", "rows-hard.jsonl");

/** The hard rows as a Parquet file of ours. */
async function hardParquet(): Promise<string> {
  const engine = await openEngine({ directory: join(directory, "engine") });
  const table = await createTypedTable(engine, "hard", profile);
  table.append((await recordsFrom({ path: hardFile })).flatMap(({ row }) => (row === undefined ? [] : [row])));
  table.finish();
  await engine.run(`COPY (SELECT ${table.members} FROM hard) TO ${engine.file("hard.parquet")} (FORMAT parquet)`);
  await engine.close();
  return join(directory, "engine", "hard.parquet");
}

/** A Parquet file of one SELECT. */
async function parquetOf(select: string): Promise<string> {
  const engine = await openEngine({ directory: join(directory, "engine") });
  await engine.run(`COPY (${select}) TO ${engine.file("rows.parquet")} (FORMAT parquet)`);
  await engine.close();
  return join(directory, "engine", "rows.parquet");
}

describe("opening rows", () => {
  it("the name tells format and compression", () => {
    expect(["a.jsonl", "A.NDJSON", "a.csv.gz", "d/a.b.parquet.zst", "a", "a.gz", "jsonl"].map(rowFileType)).toEqual([
      { format: "jsonl", compression: "none" },
      { format: "jsonl", compression: "none" },
      { format: "csv", compression: "gzip" },
      { format: "parquet", compression: "zstd" },
      { compression: "none" },
      { compression: "gzip" },
      { format: "jsonl", compression: "none" },
    ]);
  });

  it("every fixture row is valid under its definition", async () => {
    for (const file of ["rows.jsonl", "rows-restated.jsonl", "rows-hard.jsonl", "rows-zero.jsonl"]) {
      const records = await recordsFrom({ path: join(fixtures, "daily-ad-delivery", file) });
      expect(records.flatMap(({ row, number }) => createRowValidator(profile)(row ?? {}, number))).toEqual([]);
    }
    ({ profile } = await fixtureDocuments("all-string"));
    const jsonl = await canonicalFrom(join(fixtures, "all-string", "rows.jsonl"));
    expect(await canonicalFrom(join(fixtures, "all-string", "rows.csv"))).toEqual(jsonl);
    expect(jsonl).toHaveLength(4);
  });

  it("B33: the hard rows are as many as their line feeds, whatever else ends lines elsewhere", async () => {
    const text = await readFile(hardFile, "utf8");
    expect(text).toMatch(/\u2028/);
    expect(await canonicalFrom(hardFile)).toEqual(
      text
        .trimEnd()
        .split("\n")
        .map((line) => canonicalJson(JSON.parse(line))),
    );
  });

  it("gzip and zstd around any format give the same rows", async () => {
    const plain = await canonicalFrom(hardFile);
    const parquet = await hardParquet();
    for (const path of [hardFile, parquet]) {
      const bytes = await readFile(path);
      const name = path.endsWith(".parquet") ? "rows.parquet" : "rows.jsonl";
      await writeFile(join(directory, `${name}.gz`), gzipSync(bytes));
      await writeFile(join(directory, `${name}.zst`), await collect(compressStream("zstd", once(bytes))));
      expect(await canonicalFrom(join(directory, `${name}.gz`))).toEqual(plain);
      expect(await canonicalFrom(join(directory, `${name}.zst`))).toEqual(plain);
    }
    expect(await canonicalFrom(parquet)).toEqual(plain);
  });

  it("rows can come as bytes when their format is said", async () => {
    const parquet = await readFile(await hardParquet());
    const plain = await canonicalFrom(hardFile);
    const records = await recordsFrom({ bytes: once(parquet) }, { format: "parquet" });
    expect(records.map(({ row }) => canonicalJson(row))).toEqual(plain);
    const error = await refusalOf(recordsFrom({ bytes: once(parquet) }));
    expect([error.kind, error.problems[0]?.code]).toEqual(["usage", "FORMAT_UNKNOWN"]);
  });

  it("a Parquet path is one file, even when its name reads as a pattern or lies behind a link", async () => {
    const parquet = await hardParquet();
    const folder = join(directory, "date=2026-03-08", "a[1]*");
    await mkdir(folder, { recursive: true });
    await copyFile(parquet, join(folder, "x?.parquet"));
    await writeFile(join(folder, "xy.parquet"), "not Parquet");
    await symlink(join(folder, "x?.parquet"), join(directory, "link.parquet"));
    const plain = await canonicalFrom(hardFile);
    expect(await canonicalFrom(join(folder, "x?.parquet"))).toEqual(plain);
    expect(await canonicalFrom(join(directory, "link.parquet"))).toEqual(plain);
  });

  it("what cannot be opened is a problem of use, without the path", async () => {
    await writeFile(join(directory, "file"), "");
    for (const path of ["missing.jsonl", "missing.parquet", "file/below.csv", "."].map((name) =>
      join(directory, name),
    )) {
      const error = await refusalOf(
        recordsFrom({ path }, path.endsWith("t-.") ? {} : { format: path.endsWith("parquet") ? "parquet" : "jsonl" }),
      );
      expect([error.kind, error.problems[0]?.code]).toEqual(["usage", "ROWS_UNREADABLE"]);
      expect(error.message).not.toContain(directory);
    }
    const folder = await refusalOf(recordsFrom({ path: directory }, { format: "parquet" }));
    expect(folder.message).toBe("the rows file is a folder");
  });

  it("what is damaged or too large is a problem of content", async () => {
    const path = join(directory, "rows.parquet");
    await writeFile(path, "PAR1 is not enough PAR1");
    expect((await refusalOf(recordsFrom({ path }))).problems[0]?.code).toBe("INVALID_PARQUET");
    await writeFile(path, "");
    expect((await refusalOf(recordsFrom({ path }))).problems[0]?.code).toBe("INVALID_PARQUET");
    await writeFile(join(directory, "rows.jsonl.gz"), gzipSync("{}\n").subarray(0, 15));
    expect((await refusalOf(recordsFrom({ path: join(directory, "rows.jsonl.gz") }))).problems[0]?.code).toBe(
      "INVALID_STREAM",
    );
    const limits = { ...defaultDecodeLimits, maxRows: 3 };
    expect((await refusalOf(recordsFrom({ path: await hardParquet() }, { limits }))).problems[0]?.code).toBe(
      "RESOURCE_TOO_LARGE",
    );
    expect((await refusalOf(recordsFrom({ path: hardFile }, { limits }))).problems[0]?.code).toBe("RESOURCE_TOO_LARGE");
  });
});

describe("Parquet of others", () => {
  const base = `DATE '2026-03-08' AS report_date, 'mb' AS media_buy_id, 'p' AS package_id, 'c' AS creative_id,
    NULL AS creative_name, 1 AS impressions, NULL::INTEGER AS clicks, 1.5::DECIMAL(9,2) AS spend, 'USD' AS currency, NULL::BOOLEAN AS viewable`;

  async function one(select: string): Promise<unknown> {
    const [record] = await recordsFrom({ path: await parquetOf(select) });
    return record?.row;
  }

  async function columnsRefused(select: string) {
    const error = await refusalOf(recordsFrom({ path: await parquetOf(select) }));
    expect(error.kind).toBe("content");
    return error.problems.map(({ code, member }) => [code, member]);
  }

  it("B22 B59: an instant keeps its digits, and one without a zone counts as UTC wherever the process runs", async () => {
    const at = async (value: string) =>
      ((await one(`SELECT ${base}, ${value} AS first_impression_at`)) as { first_impression_at: unknown })
        .first_impression_at;
    expect(await at("TIMESTAMP '2026-03-08 07:00:00.123456'")).toBe("2026-03-08T07:00:00.123456Z");
    expect(await at("TIMESTAMPTZ '2026-03-08 07:00:00.5+01'")).toBe("2026-03-08T06:00:00.500000Z");
    expect(await at("TIMESTAMP_MS '1969-12-31 23:59:59.999'")).toBe("1969-12-31T23:59:59.999000Z");
    expect(await at("TIMESTAMP_NS '1900-01-01 00:00:00.000001'")).toBe("1900-01-01T00:00:00.000001Z");
    // A nanosecond has no place in the profile; it stays visible and the validator refuses the row.
    expect(await at("TIMESTAMP_NS '2026-03-08 07:00:00.123456789'")).toBe("2026-03-08T07:00:00.123456789Z");
    expect(await at("'2026-03-08T07:00:00.123456Z'")).toBe("2026-03-08T07:00:00.123456Z");
  });

  it("decimals of another scale are restored to the profile's, and never rounded", async () => {
    const spend = async (value: string) =>
      (
        (await one(
          `SELECT ${base.replace("1.5::DECIMAL(9,2) AS spend", `${value} AS spend`)}, NULL::TIMESTAMP AS first_impression_at`,
        )) as { spend: unknown }
      ).spend;
    expect(await spend("1.5::DECIMAL(9,2)")).toBe("1.500000");
    expect(await spend("-7::INTEGER")).toBe("-7.000000");
    expect(await spend("0.000001000::DECIMAL(38,9)")).toBe("0.000001");
    expect(await spend("0.000001001::DECIMAL(38,9)")).toBe("0.000001001");
    expect(await spend("'12.340000'")).toBe("12.340000");
  });

  it("values beyond a type's range stay visible so that the row is refused, never clipped", async () => {
    const row = await one(
      `SELECT ${base.replace("1 AS impressions", "18446744073709551615::UBIGINT AS impressions").replace("DATE '2026-03-08'", "DATE 'infinity'")}, TIMESTAMPTZ 'infinity' AS first_impression_at`,
    );
    const problems = createRowValidator(profile)(row as never, 1);
    expect(problems.map(({ member }) => member).sort()).toEqual(["first_impression_at", "impressions", "report_date"]);
  });

  it("floats for exact members, foreign columns and missing ones are refused together", async () => {
    expect(
      await columnsRefused(
        `SELECT ${base.replace("1.5::DECIMAL(9,2)", "1.5::DOUBLE").replace("1 AS impressions", "1.0::FLOAT AS impressions")}, 1 AS colour`,
      ),
    ).toEqual([
      ["WRONG_TYPE", "impressions"],
      ["WRONG_TYPE", "spend"],
      ["UNKNOWN_MEMBER", "colour"],
      ["MISSING_MEMBER", "first_impression_at"],
    ]);
  });

  it("nested columns are refused with advice, nested JSON text is read strictly", async () => {
    expect(await columnsRefused(`SELECT ${base}, NULL::TIMESTAMP AS first_impression_at, {'a': 1} AS labels`)).toEqual([
      ["WRONG_TYPE", "labels"],
    ]);
    const path = await parquetOf(`SELECT ${base}, NULL::TIMESTAMP AS first_impression_at, '{"a":1,"a":2}' AS labels`);
    const [record] = await recordsFrom({ path });
    expect(record?.problem).toMatchObject({ code: "DUPLICATE_MEMBER", row: 1, member: "labels" });
  });

  it("members that may be absent need no column, and NULL becomes null or absent as the profile says", async () => {
    const row = await one(`SELECT ${base}, NULL::TIMESTAMP AS first_impression_at, NULL::DOUBLE AS viewability_rate`);
    expect(row).toMatchObject({ creative_name: null, clicks: null });
    expect(row).not.toHaveProperty("viewability_rate");
    expect(row).not.toHaveProperty("labels");
  });

  it("a column of nothing but NULL fits any member, whatever type its writer gave it", async () => {
    const row = await one(`SELECT ${base}, NULL::DOUBLE AS first_impression_at, NULL::INTEGER AS labels`);
    expect(row).toMatchObject({ creative_name: null, first_impression_at: null });
    expect(row).not.toHaveProperty("labels");
  });

  it("a NULL where a value must be is left for the validator to name", async () => {
    const row = await one(
      `SELECT ${base.replace("'USD' AS currency", "NULL::VARCHAR AS currency")}, NULL::TIMESTAMP AS first_impression_at`,
    );
    expect(createRowValidator(profile)(row as never, 1).map(({ code, member }) => [code, member])).toEqual([
      ["MISSING_MEMBER", "currency"],
    ]);
  });

  describePeer("readers", "written by pyarrow", () => {
    it("B19 B22 B23: comes back exactly", async () => {
      const path = join(directory, "pyarrow.parquet");
      await promisify(execFile)(requireReaders().python, [
        new URL("../../../servers/readers/write_rows.py", import.meta.url).pathname,
        path,
      ]);
      const common = { currency: "USD" };
      expect(await canonicalFrom(path)).toEqual(
        [
          {
            ...common,
            report_date: "2026-03-08",
            media_buy_id: "mb-1",
            package_id: "p",
            creative_id: "a",
            creative_name: null,
            impressions: "9007199254740993",
            clicks: "1",
            spend: "12.340000",
            viewable: true,
            viewability_rate: 0.1 + 0.2,
            first_impression_at: "2026-03-08T07:00:00.123456Z",
            labels: { a: [null], b: 1 },
          },
          {
            ...common,
            report_date: "1969-12-31",
            media_buy_id: "mb-2",
            package_id: "\ufeffp",
            creative_id: "b",
            creative_name: "",
            impressions: "-1",
            clicks: null,
            spend: "-0.000001",
            viewable: null,
            first_impression_at: "1969-12-31T23:59:59.999999Z",
          },
          {
            ...common,
            report_date: "2026-03-08",
            media_buy_id: "mb-1",
            package_id: "\u{1f600}",
            creative_id: "c",
            creative_name: "x\u2028y",
            impressions: "0",
            clicks: "2",
            spend: "0.000000",
            viewable: false,
            viewability_rate: 1e-7,
            first_impression_at: null,
            labels: [],
          },
        ].map((row) => canonicalJson(row)),
      );
    });
  });
});
