import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { canonicalJson } from "../../../core/canonical-json.ts";
import { sha256Hex } from "../../../core/digest/node-hasher.ts";
import { openEngine } from "../../../core/rows/duckdb.ts";
import { parquetRows } from "../../../core/rows/parquet-rows.ts";
import type { LogicalRow, ProfileMember, RowProfile } from "../../../core/rows/profile.ts";
import { createTypedTable } from "../../../core/rows/typed-table.ts";
import { createRowValidator } from "../../../core/rows/validate-row.ts";

const members: readonly ProfileMember[] = [
  { name: "key", type: { kind: "integer" }, missing: "forbidden" },
  { name: "text", type: { kind: "string" }, missing: "null" },
  { name: "double", type: { kind: "number" }, missing: "null" },
  { name: "int64", type: { kind: "integer-string", column: "int64" }, missing: "absent" },
  { name: "int38", type: { kind: "integer-string", column: "decimal38" }, missing: "null" },
  { name: "small_decimal", type: { kind: "decimal-string", precision: 4, scale: 2 }, missing: "null" },
  { name: "nine_decimal", type: { kind: "decimal-string", precision: 9, scale: 9 }, missing: "null" },
  { name: "decimal", type: { kind: "decimal-string", precision: 18, scale: 6 }, missing: "null" },
  { name: "wide_decimal", type: { kind: "decimal-string", precision: 38, scale: 10 }, missing: "absent" },
  { name: "flag", type: { kind: "boolean" }, missing: "absent" },
  { name: "day", type: { kind: "date" }, missing: "null" },
  { name: "second", type: { kind: "timestamp", fraction: 0 }, missing: "null" },
  { name: "milli", type: { kind: "timestamp", fraction: 3 }, missing: "null" },
  { name: "micro", type: { kind: "timestamp", fraction: 6 }, missing: "absent" },
  { name: "nested", type: { kind: "json" }, missing: "null" },
  { name: "constructor", type: { kind: "string" }, missing: "absent" },
  { name: 'Ünïcode "quoted" name', type: { kind: "string" }, missing: "absent" },
];
const profile: RowProfile = { members, primaryKeys: ["key"], controlTotals: [] };

const blank = {
  text: null,
  double: null,
  int38: null,
  small_decimal: null,
  nine_decimal: null,
  decimal: null,
  day: null,
};
const empty: LogicalRow = { ...blank, second: null, milli: null, nested: null };

const hard: readonly LogicalRow[] = [
  {},
  ...[
    "",
    "\ufeff",
    "\ufeffx",
    "\u0000",
    "a\u0000b",
    "\u0085\u2028\u2029",
    '"',
    "line\nbreak\r\n",
    "\u{1f600}e\u0301\u00e9",
    "null",
    "\\N",
  ].map((text) => ({ text })),
  { text: "long ".repeat(10_000) },
  ...[5e-324, 1.7976931348623157e308, -1e-7, 0.1 + 0.2, 1e21, 0, 9007199254740992].map((double) => ({ double })),
  ...["9223372036854775807", "-9223372036854775808", "9007199254740993", "0", "-1"].map((int64) => ({ int64 })),
  ...["9".repeat(38), `-${"9".repeat(38)}`, "9223372036854775808", "0"].map((int38) => ({ int38 })),
  ...["99.99", "-99.99", "0.00", "-0.01"].map((small_decimal) => ({ small_decimal })),
  ...["0.999999999", "-0.000000001"].map((nine_decimal) => ({ nine_decimal })),
  ...["999999999999.999999", "-999999999999.999999", "0.000000", "-0.000001", "12.340000"].map((decimal) => ({
    decimal,
  })),
  { wide_decimal: `${"9".repeat(28)}.${"9".repeat(10)}` },
  { wide_decimal: `-${"9".repeat(28)}.${"9".repeat(10)}` },
  { flag: true },
  { flag: false },
  ...["0001-01-01", "1900-02-28", "1969-12-31", "1970-01-01", "2024-02-29", "9999-12-31"].map((day) => ({ day })),
  ...["0001-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "9999-12-31T23:59:59Z"].map((second) => ({ second })),
  ...["0001-01-01T00:00:00.000Z", "1969-12-31T23:59:59.999Z", "2026-03-08T07:00:00.120Z"].map((milli) => ({ milli })),
  ...[
    "0001-01-01T00:00:00.000001Z",
    "1900-01-01T00:00:00.000000Z",
    "1969-12-31T23:59:59.999999Z",
    "2026-03-08T07:00:00.123456Z",
    "9999-12-31T23:59:59.999999Z",
  ].map((micro) => ({ micro })),
  ...[{}, [], "", 0, false, { "\u{1f600}": [1, { b: null, a: "\u2028" }], "": 1e-7 }].map((nested) => ({ nested })),
  { constructor: "not a function" },
  { 'Ünïcode "quoted" name': "x" },
].map((values, key) => ({ ...empty, ...values, key }));

describe("typed columns", () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "waybill-test-"));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  async function throughParquet(rows: readonly LogicalRow[], folder = directory): Promise<readonly LogicalRow[]> {
    const engine = await openEngine({ directory: folder });
    const table = await createTypedTable(engine, "rows", profile);
    table.append(rows);
    table.finish();
    await engine.run(
      `COPY (SELECT ${table.members} FROM rows) TO ${engine.file("rows.parquet")} (FORMAT parquet, COMPRESSION zstd)`,
    );
    await engine.close();
    const restored: LogicalRow[] = [];
    for await (const batch of parquetRows(join(folder, "rows.parquet"), profile)) restored.push(...batch);
    return restored;
  }

  it("B19 B22 B23: every hard value comes back byte for byte of its canonical form", async () => {
    const validate = createRowValidator(profile);
    expect(hard.flatMap(validate)).toEqual([]);
    const restored = await throughParquet(hard);
    expect(restored.map(canonicalJson)).toEqual(hard.map(canonicalJson));
  });

  it("B21: null, empty, zero and absent stay apart", async () => {
    const rows = [
      { ...empty, key: 1, text: "", double: 0, int64: "0" },
      { ...empty, key: 2 },
    ];
    const [first, second] = await throughParquet(rows);
    expect(first).toMatchObject({ text: "", double: 0, int64: "0" });
    expect(second).toMatchObject({ text: null, double: null });
    expect(second).not.toHaveProperty("int64");
  });

  it("B22: the process time zone changes neither values nor bytes", async () => {
    const zone = process.env["TZ"];
    try {
      const hashes = new Set<string>();
      for (const tz of ["UTC", "America/New_York", "Asia/Kolkata"]) {
        process.env["TZ"] = tz;
        const folder = join(directory, tz.replace("/", "-"));
        expect((await throughParquet(hard, folder)).map(canonicalJson)).toEqual(hard.map(canonicalJson));
        hashes.add(sha256Hex(await readFile(join(folder, "rows.parquet"))));
      }
      expect(hashes.size).toBe(1);
    } finally {
      if (zone === undefined) delete process.env["TZ"];
      else process.env["TZ"] = zone;
    }
  });

  it("no rows give a file with the columns and no rows", async () => {
    expect(await throughParquet([])).toEqual([]);
  });

  it("keeps the order over many chunks and batches", async () => {
    const rows = Array.from({ length: 5000 }, (_, key) => ({ ...empty, key }));
    const restored = await throughParquet(rows);
    expect(restored.map(({ key }) => key)).toEqual(rows.map(({ key }) => key));
    const sizes: number[] = [];
    for await (const batch of parquetRows(join(directory, "rows.parquet"), profile, { batchSize: 700 })) {
      sizes.push(batch.length);
    }
    expect(Math.max(...sizes)).toBe(700);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(5000);
  });

  it("works in a folder whose name reads as a pattern, a partition or SQL", async () => {
    const folder = join(directory, "a[1]*x?\\y'z", "date=2026-01-01");
    expect(await throughParquet([{ ...empty, key: 7 }], folder)).toHaveLength(1);
  });

  it("whatever the validator accepts comes back unchanged", async () => {
    const validate = createRowValidator(profile);
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom("0", "-0", "1.50", "-0.00", "2024-02-30", "0000-01-01"),
    );
    const value = fc.oneof(
      text,
      fc.double(),
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.bigInt({ min: -(10n ** 38n), max: 10n ** 38n }).map(String),
      fc.bigInt({ min: -(10n ** 12n), max: 10n ** 12n }).map((units) => (Number(units) / 1e6).toFixed(6)),
      fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
      fc.date({ noInvalidDate: true }).map((date) => date.toISOString().slice(0, 10)),
      fc.jsonValue().map((json) => JSON.parse(JSON.stringify(json))),
    );
    const names = members.map(({ name }) => name).filter((name) => name !== "key");
    const rows: LogicalRow[] = [];
    fc.assert(
      fc.property(fc.constantFrom(...names), value, (name, candidate) => {
        const row = { ...empty, key: rows.length, [name]: candidate };
        if (validate(row, 1).length === 0) rows.push(row);
      }),
      { numRuns: 4000 },
    );
    expect(rows.length).toBeGreaterThan(500);
    const restored = await throughParquet(rows);
    expect(restored.map(canonicalJson)).toEqual(rows.map(canonicalJson));
  });
});
