import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WaybillError } from "../../../core/errors.ts";
import { type Definition, parseDefinition } from "../../../core/rows/definition.ts";
import { buildDocuments } from "../../../core/rows/documents.ts";
import { type DefineResult, define } from "../../../workers/operations/define.ts";

const { signal } = new AbortController();
let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "waybill-define-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

async function draft(name: string, content: string | Uint8Array, keys: readonly string[]): Promise<DefineResult> {
  await writeFile(join(directory, name), content);
  return await define({ directory, rows: name, primaryKeys: keys, signal });
}

async function membersOf(rows: readonly object[], keys: readonly string[]): Promise<Definition["members"]> {
  const { text } = await draft("rows.jsonl", rows.map((row) => `${JSON.stringify(row)}\n`).join(""), keys);
  return parseDefinition(text, "yaml").members;
}

async function problemsOf(name: string, content: string, keys: readonly string[]): Promise<WaybillError> {
  const error: unknown = await draft(name, content, keys).catch((reason: unknown) => reason);
  if (error instanceof WaybillError) return error;
  throw error;
}

describe("define", () => {
  it("drafts a definition that is valid as it stands, with a comment where a person must look", async () => {
    const rows = [
      { day: "2026-03-08", media_buy_id: "mb-1", impressions: "9007199254740993", spend: "12.340000", ctr: 0.5 },
      { day: "2026-03-08", media_buy_id: "mb-2", impressions: "5", spend: "-0.340000", ctr: 1 },
    ];
    const result = await draft("Daily Ads.jsonl", rows.map((row) => JSON.stringify(row)).join("\n"), [
      "day",
      "media_buy_id",
    ]);
    const definition = parseDefinition(result.text, "yaml");
    expect(buildDocuments(definition).profile.controlTotals).toEqual([
      { name: "impressions", member: "impressions", value_type: "integer", scale: 0, unit: "impressions" },
      { name: "spend", member: "spend", value_type: "decimal", scale: 6 },
    ]);
    expect(definition.report_definition_id).toBe("daily-ads");
    expect(definition.media_buy_member).toBe("media_buy_id");
    expect(result.text).toContain("# CHECK ctr: floating point");
    expect(result.notes.map((note) => note.member)).toEqual(["ctr"]);
  });

  it("takes the narrowest type that gives every text back, character for character", async () => {
    const key = { k: "a" };
    const cases: readonly (readonly [values: readonly unknown[], type: object])[] = [
      [["9007199254740993", "-9223372036854775808"], { type: "integer-string" }],
      [["9223372036854775808"], { type: "integer-string", column: "decimal38" }],
      [["1".repeat(39)], { type: "string" }],
      [["007", "8"], { type: "string" }],
      [["-0", "1"], { type: "string" }],
      [["1.50", "-2.25"], { type: "decimal-string", precision: 18, scale: 2 }],
      [["1.5", "2.25"], { type: "string" }],
      [["-0.00", "1.00"], { type: "string" }],
      [["12345678901234567.50"], { type: "decimal-string", precision: 38, scale: 2 }],
      [[`${"1".repeat(37)}.50`], { type: "string" }],
      [["1e5"], { type: "string" }],
      [["2026-02-28", "2024-02-29"], { type: "date" }],
      [["2026-02-28", "2026-02-30"], { type: "string" }],
      [["1969-12-31T23:59:59.999999Z"], { type: "timestamp", fraction: 6 }],
      [["2026-03-08T07:00:00Z"], { type: "timestamp", fraction: 0 }],
      [["2026-03-08T07:00:00Z", "2026-03-08T07:00:00.123Z"], { type: "string" }],
      [["2026-03-08T07:00:00+01:00"], { type: "string" }],
      [["true", "false"], { type: "string" }],
      [["", "x"], { type: "string" }],
      [[true, false], { type: "boolean" }],
      [[1, -5], { type: "integer" }],
      [[1, 0.5], { type: "number" }],
      [[1, "1"], { type: "json" }],
      [[{ a: 1 }, [2]], { type: "json" }],
    ];
    for (const [values, type] of cases) {
      const rows = values.map((value, index) => ({ ...key, n: index, units: 1, v: value }));
      const members = await membersOf(rows, ["k", "n"]);
      expect({ values, ...members.find((member) => member.name === "v") }).toEqual({ values, name: "v", ...type });
    }
  });

  it("keeps labels made of digits as text", async () => {
    const members = await membersOf([{ creative_id: "100", zip: "1010", clicks: "3" }], ["creative_id"]);
    expect(members.map((member) => member.type)).toEqual(["string", "string", "integer-string"]);
  });

  it("tells null from absent, and asks when rows have both", async () => {
    const rows = [
      { k: "1", units: 1, a: "x", b: null, c: null },
      { k: "2", units: 1, b: "y" },
    ];
    const result = await draft("rows.jsonl", rows.map((row) => JSON.stringify(row)).join("\n"), ["k"]);
    const missing = parseDefinition(result.text, "yaml").members.map((member) => member.missing);
    expect(missing).toEqual([undefined, undefined, "absent", "null", "null"]);
    const note = "1 rows lack it and 1 have null: settle on one before shipping";
    expect(result.notes).toContainEqual({ member: "c", note });
  });

  it("reads CSV, where only quotes tell an empty text from a missing value", async () => {
    const csv = 'day,buy,clicks,spend,seen,note\r\n2026-03-08,"a, b",5,1.50,true,\r\n2026-03-08,c,6,2.50,false,""\r\n';
    const { text, rowCount } = await draft("rows.csv.gz", gzipSync(csv), ["day", "buy"]);
    expect(rowCount).toBe(2);
    expect(parseDefinition(text, "yaml").members).toEqual([
      { name: "day", type: "date" },
      { name: "buy", type: "string" },
      { name: "clicks", type: "integer-string" },
      { name: "spend", type: "decimal-string", precision: 18, scale: 2 },
      { name: "seen", type: "boolean" },
      { name: "note", type: "string", missing: "null" },
    ]);
  });

  it("takes the types that a Parquet file fixes, and looks into its text columns", async () => {
    const path = join(directory, "rows.parquet");
    const connection = await (await DuckDBInstance.create()).connect();
    await connection.run(`copy (select date '2026-03-08' as day, 'mb-1' as buy, 9007199254740993::bigint as impressions,
      1.5::decimal(12,2) as spend, 7::integer as slots, 0.5::double as ctr, true as seen, '12.50' as fee,
      timestamptz '2026-03-08 07:00:00.123456+00' as at, null::varchar as note) to '${path}' (format parquet)`);
    connection.closeSync();
    const { text, notes } = await define({ directory, rows: "rows.parquet", primaryKeys: ["day", "buy"], signal });
    const members = parseDefinition(text, "yaml").members;
    expect(members.toSorted((left, right) => (left.name < right.name ? -1 : 1))).toEqual([
      { name: "at", type: "timestamp", fraction: 6 },
      { name: "buy", type: "string" },
      { name: "ctr", type: "number" },
      { name: "day", type: "date" },
      { name: "fee", type: "decimal-string", precision: 18, scale: 2 },
      { name: "impressions", type: "integer-string" },
      { name: "note", type: "string", missing: "null" },
      { name: "seen", type: "boolean" },
      { name: "slots", type: "integer" },
      { name: "spend", type: "decimal-string", precision: 12, scale: 2 },
    ]);
    expect(notes.map((note) => note.member).toSorted()).toEqual(["ctr", "note"]);
  });

  it("refuses keys that do not name rows, and says which", async () => {
    const rows = '{"a":"1","b":null,"c":[1]}\n{"a":"1","b":"2","c":[1]}\n';
    const codes = async (...keys: string[]): Promise<readonly string[]> =>
      (await problemsOf("rows.jsonl", rows, keys)).problems.map((problem) => problem.code);
    expect(await codes("a")).toEqual(["KEY_NOT_UNIQUE"]);
    expect(await codes("b", "x", "c")).toEqual(["KEY_MISSING", "UNKNOWN_KEY", "KEY_NOT_SCALAR"]);
    expect(await codes("a", "a")).toEqual(["KEY_REPEATED"]);
    expect((await problemsOf("rows.jsonl", rows, ["x"])).problems[0]?.message).toContain("there are a, b, c");
  });

  it("reports every unreadable row with its number", async () => {
    const rows = '{"a":9007199254740993}\n{"a":1}\n{"a":1,"a":2}\n[1]\n';
    const error = await problemsOf("rows.jsonl", rows, ["a"]);
    expect(error.kind).toBe("content");
    expect(error.problems.map((problem) => problem.row)).toEqual([1, 3, 4]);
  });

  it("refuses member names that no table can carry", async () => {
    const error = await problemsOf("rows.jsonl", '{"a b":1,"ok":2,"__proto__":3}\n', ["ok"]);
    expect(error.problems.map((problem) => problem.member)).toEqual(["a b", "__proto__"]);
  });

  it("writes a file only where none is", async () => {
    await writeFile(join(directory, "rows.jsonl"), '{"a":1,"b":2}\n');
    const request = {
      directory,
      rows: "rows.jsonl",
      primaryKeys: ["a"],
      out: "d.yaml",
      signal,
    };
    const { text, path } = await define(request);
    expect(await readFile(path ?? "", "utf8")).toBe(text);
    await expect(define(request)).rejects.toMatchObject({ code: "EEXIST" });
  });
});
