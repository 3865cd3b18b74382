import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { canonicalJson } from "../../../core/canonical-json.ts";
import type { DecodedRecord } from "../../../core/encoding/encoding.ts";
import { DeliveryError } from "../../../core/errors.ts";
import { parquetRows } from "../../../core/rows/parquet-rows.ts";
import type { LogicalRow } from "../../../core/rows/profile.ts";
import { openRows } from "../../../core/rows/readers/open-rows.ts";
import type { RetainedRevision, RetainedStore } from "../../../core/rows/retained.ts";
import { compareBytes, sortKey } from "../../../core/rows/sort-key.ts";
import { generatedMediaBuys, generatedRow, generatedRows } from "../../../fixtures/generator.ts";
import { officialSchema } from "../../servers/official-schemas.ts";
import { describePeer } from "../../servers/peers.ts";
import { fixtures, type RetainWorld, recordsOf, refusalOf, retainWorld } from "./retain-world.ts";

let world: RetainWorld;
beforeEach(async () => {
  world = await retainWorld();
});
afterEach(() => world.remove());

const daily = (file: string) =>
  openRows({ path: join(fixtures, "daily-ad-delivery", file) }, { profile: world.documents.profile });

async function sourceRows(file: string): Promise<readonly LogicalRow[]> {
  const rows: LogicalRow[] = [];
  for await (const records of daily(file)) rows.push(...records.flatMap(({ row }) => (row === undefined ? [] : [row])));
  return rows;
}

async function retainedRows({ revision, parts }: RetainedRevision): Promise<readonly LogicalRow[]> {
  const rows: LogicalRow[] = [];
  for (const part of parts) {
    const path = join(world.directory, part.name);
    const chunks: Uint8Array[] = [];
    for await (const chunk of world.store.openPart(revision.reporting_revision_id, part)) chunks.push(chunk);
    await writeFile(path, Buffer.concat(chunks));
    for await (const batch of parquetRows(path, world.documents.profile)) rows.push(...batch);
  }
  return rows;
}

/** What the contract says, with nothing of ours but the encoder and the key. */
function expected(rows: readonly LogicalRow[], revision: RetainedRevision["revision"]) {
  const { primaryKeys } = world.documents.profile;
  const sorted = [...rows].sort((left, right) => compareBytes(sortKey(left, primaryKeys), sortKey(right, primaryKeys)));
  const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
  const { reporting_revision_id, control_totals, row_count } = revision;
  return {
    sorted: sorted.map(canonicalJson),
    canonical: sha256(`[${sorted.map(canonicalJson).join(",")}]`),
    binding: sha256(canonicalJson({ reporting_revision_id, control_totals, row_count, reporting_rows: sorted })),
  };
}

describe("retaining rows", () => {
  for (const file of ["rows.jsonl", "rows-restated.jsonl", "rows-hard.jsonl", "rows-zero.jsonl"]) {
    it(`${file}: rows come back in canonical order, byte for byte, under the digests of the contract`, async () => {
      const source = await sourceRows(file);
      const { retained, rowsAcquired } = await world.retain(daily(file));
      const { revision } = retained;
      const wanted = expected(source, revision);
      expect((await retainedRows(retained)).map(canonicalJson)).toEqual(wanted.sorted);
      expect(revision.canonical_content_digest?.value).toBe(wanted.canonical);
      expect(revision.revision_content_sha256).toBe(wanted.binding);
      expect([rowsAcquired, revision.row_count]).toEqual([source.length, source.length]);
    });
  }

  it("sums up exactly, in all and per media buy", async () => {
    const { retained } = await world.retain(daily("rows.jsonl"), {
      meta: { mediaBuyIds: ["zero-buy", ...generatedMediaBuys({ rows: 0, mediaBuys: 4 })] },
    });
    const rows = await sourceRows("rows.jsonl");
    const sum = (member: string, of: readonly LogicalRow[]) =>
      of.reduce((total, row) => total + BigInt(String(row[member] ?? 0).replace(".", "")), 0n);
    const decimal = (units: bigint) => `${units / 1_000_000n}.${String(units % 1_000_000n).padStart(6, "0")}`;
    expect(retained.revision.control_totals).toEqual([
      { name: "impressions", value: String(sum("impressions", rows)), value_type: "integer", unit: "impressions" },
      { name: "clicks", value: String(sum("clicks", rows)), value_type: "integer", unit: "clicks" },
      { name: "spend", value: decimal(sum("spend", rows)), value_type: "decimal", unit: "USD" },
    ]);
    expect(retained.mediaBuyTotals.map(({ media_buy_id }) => media_buy_id)).toEqual([
      "mb-000",
      "mb-001",
      "mb-002",
      "mb-003",
      "zero-buy",
    ]);
    expect(retained.mediaBuyTotals.at(-1)).toMatchObject({
      row_count: 0,
      control_totals: [{ value: "0" }, { value: "0" }, { value: "0.000000" }],
    });
    const second = retained.mediaBuyTotals[1];
    const ofSecond = rows.filter((row) => row["media_buy_id"] === "mb-001");
    expect(second?.row_count).toBe(ofSecond.length);
    expect(second?.control_totals[2]?.value).toBe(decimal(sum("spend", ofSecond)));
  });

  it("B13: no rows are a revision of one empty part with totals of zero", async () => {
    const { retained } = await world.retain(daily("rows-zero.jsonl"), { meta: { mediaBuyIds: ["mb-000"] } });
    expect(retained.parts.map(({ rowCount }) => rowCount)).toEqual([0]);
    expect(retained.revision.control_totals.map(({ value }) => value)).toEqual(["0", "0", "0.000000"]);
    expect(retained.revision.canonical_content_digest?.value).toBe(
      "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945",
    );
  });

  it("splits into parts that follow one another, with the same digests and the same bytes each time", async () => {
    const rows = { rows: 5000, mediaBuys: 7 };
    const whole = await world.retain(generatedRows(rows));
    const split = () =>
      world.retain(generatedRows(rows), { rowsPerPart: 999, newId: () => "rev_same", store: nowhere });
    const first = await split();
    expect(first.retained.parts.map(({ name }) => name)).toEqual(
      [0, 1, 2, 3, 4, 5].map((index) => `rows-0000${index}.parquet`),
    );
    expect(first.retained.parts.map(({ rowCount }) => rowCount)).toEqual([999, 999, 999, 999, 999, 5]);
    expect(first.retained.revision.canonical_content_digest).toEqual(whole.retained.revision.canonical_content_digest);
    expect(await split()).toEqual(first);
  });

  it("the order of the source does not matter", async () => {
    const rows = await sourceRows("rows-hard.jsonl");
    const forward = await world.retain(recordsOf(rows));
    const backward = await world.retain(recordsOf([...rows].reverse()));
    expect(backward.retained.revision.canonical_content_digest).toEqual(
      forward.retained.revision.canonical_content_digest,
    );
  });

  it("a restatement names what it supersedes and leaves that readable", async () => {
    const first = await world.retain(daily("rows.jsonl"));
    const { reporting_revision_id: supersedes } = first.retained.revision;
    const second = await world.retain(daily("rows-restated.jsonl"), { meta: { supersedes } });
    expect(second.retained.revision.supersedes_reporting_revision_id).toBe(supersedes);
    expect(second.retained.revision.canonical_content_digest).not.toEqual(
      first.retained.revision.canonical_content_digest,
    );
    expect(await retainedRows(first.retained)).toHaveLength(26);
  });

  it("an official close takes the definition's policy and is refused before its time", async () => {
    const { retained } = await world.retain(daily("rows.jsonl"), { meta: { finality: "official" } });
    expect(retained.revision).toMatchObject({
      finality_basis: "contractual_cutoff",
      finality_policy_id: "close-4h",
      finalized_at: "2026-03-09T06:00:00Z",
    });
    const early = await refusalOf(
      world.retain(daily("rows.jsonl"), { meta: { finality: "official", finalizedAt: "2026-03-09T03:59:59Z" } }),
    );
    expect([early.kind, early.problems.map(({ code }) => code)]).toEqual(["usage", ["FINALIZED_TOO_EARLY"]]);
  });

  it("leaves nothing in the spool and tells how far it is", async () => {
    const steps: string[] = [];
    await world.retain(daily("rows.jsonl"), { onProgress: ({ step, rows }) => steps.push(`${step} ${rows}`) });
    expect(steps).toEqual(["read 26", "sort 26", "write 26", "check 26", "store 26"]);
    expect(await readdir(world.spool)).toEqual([]);
  });

  describePeer("adcp", "against the official schema", () => {
    for (const [title, meta] of [
      ["a snapshot", {}],
      ["an official revision", { finality: "official" }],
      [
        "a revision with everything said",
        {
          observedAt: "2026-03-09T05:00:00Z",
          dataThrough: { instant: "2026-03-09T00:00:00Z", precision: "exact" },
          supersedes: "rev_a",
        },
      ],
    ] as const) {
      it(`${title} is valid`, async () => {
        const { retained } = await world.retain(daily("rows.jsonl"), { meta });
        expect(officialSchema("core/reporting-revision")(retained.revision)).toEqual([]);
      });
    }
  });
});

/** Takes everything, keeps nothing. */
const nowhere: RetainedStore = {
  put: async () => {},
  describe: async () => undefined,
  openPart: async function* () {},
};

describe("bad input", () => {
  const good = (creative: number): LogicalRow => generatedRow({ rows: 100, mediaBuys: 2 }, creative);

  async function refused(rows: AsyncIterable<readonly DecodedRecord[]>, meta = {}) {
    const error = await refusalOf(world.retain(rows, { meta }));
    expect(await readdir(world.spool).catch(() => [])).toEqual([]);
    expect(existsSync(world.retainedFolder)).toBe(false);
    return { kind: error.kind, problems: error.problems.map(({ code, row, member }) => [code, row, member]) };
  }

  const text = async function* (lines: string): AsyncIterable<Uint8Array> {
    yield new TextEncoder().encode(lines);
  };
  const jsonl = (lines: string) =>
    openRows({ bytes: text(lines) }, { format: "jsonl", profile: world.documents.profile });
  const csv = (lines: string) => openRows({ bytes: text(lines) }, { format: "csv", profile: world.documents.profile });
  const line = (changes: string) => `${JSON.stringify(good(3)).slice(0, -1)},${changes}}\n`;

  it("B34 B35 B36 B39: every row that is no strict JSON is named, with its member where one is known", async () => {
    const lines = [
      JSON.stringify(good(1)),
      "{",
      "[]",
      '{"spend":"1.000000","spend":"2.000000"}',
      '{"spend":"1","\\u0073pend":"2"}',
      '{"creative_name":"\\ud800"}',
      '{"viewability_rate":9007199254740993}',
      '{"viewability_rate":1e400}',
      '{"viewability_rate":NaN}',
      '{"viewability_rate":0.1000000000000000055511151231257827}',
    ];
    const { kind, problems } = await refused(jsonl(`${lines.join("\n")}\n`));
    expect(kind).toBe("content");
    expect(problems.map(([code, row]) => [code, row])).toEqual([
      ["SYNTAX", 2],
      ["NOT_AN_OBJECT", 3],
      ["DUPLICATE_MEMBER", 4],
      ["DUPLICATE_MEMBER", 5],
      ["LONE_SURROGATE", 6],
      ["INEXACT_NUMBER", 7],
      ["NUMBER_OUT_OF_RANGE", 8],
      ["SYNTAX", 9],
      ["INEXACT_NUMBER", 10],
    ]);
  });

  it("wrong types, unknown and missing members are named by row and member", async () => {
    const { currency: _, ...incomplete } = good(5);
    const rows = [
      good(1),
      { ...good(2), spend: 1.5 },
      { ...good(4), colour: "red" },
      incomplete,
      { ...good(6), clicks: "007", impressions: null },
    ];
    expect(await refused(recordsOf(rows))).toEqual({
      kind: "content",
      problems: [
        ["WRONG_TYPE", 2, "spend"],
        ["UNKNOWN_MEMBER", 3, "colour"],
        ["MISSING_MEMBER", 4, "currency"],
        ["NULL_MEMBER", 5, "impressions"],
        ["NOT_CANONICAL_TEXT", 5, "clicks"],
      ],
    });
  });

  it("a member that stands twice in a good row is refused", async () => {
    expect((await refused(jsonl(line('"spend":"1.000000"')))).problems.map(([code]) => code)).toEqual([
      "DUPLICATE_MEMBER",
    ]);
  });

  it("a CSV header that does not fit is refused with all its problems", async () => {
    const { kind, problems } = await refused(csv("report_date,colour,report_date\r\n"));
    expect(kind).toBe("content");
    expect(problems).toContainEqual(["UNKNOWN_MEMBER", undefined, "colour"]);
    expect(problems).toContainEqual(["MISSING_MEMBER", undefined, "spend"]);
  });

  it("rows with one key are reported with both row numbers, however far apart", async () => {
    const twin = { ...good(50), impressions: "1" };
    const rows = [...Array.from({ length: 100 }, (_, index) => good(index)), twin, twin];
    const error = await refusalOf(world.retain(recordsOf(rows)));
    expect(error.problems.map(({ code, message }) => [code, message.slice(0, 35)])).toEqual([
      ["DUPLICATE_KEY", "rows 51 and 101 have the same key ("],
      ["DUPLICATE_KEY", "rows 101 and 102 have the same key "],
    ]);
    expect(existsSync(world.retainedFolder)).toBe(false);
  });

  it("rows of other media buys, and buys without a legal id, are refused", async () => {
    const rows = [good(0), { ...good(1), media_buy_id: "stranger" }];
    expect(await refused(recordsOf(rows), { mediaBuyIds: ["mb-000", "mb-001"] })).toEqual({
      kind: "content",
      problems: [["FOREIGN_MEDIA_BUY", 2, "media_buy_id"]],
    });
    const odd = [
      { ...good(0), media_buy_id: "buy 1" },
      { ...good(1), media_buy_id: "" },
    ];
    expect((await refused(recordsOf(odd))).problems).toEqual([
      ["INVALID_ID", 1, "media_buy_id"],
      ["INVALID_ID", 2, "media_buy_id"],
    ]);
  });

  it("declared totals and counts that disagree are named with both values", async () => {
    const declaredTotals = [
      { name: "impressions", value: "1", value_type: "integer", unit: "impressions" },
      { name: "revenue", value: "1", value_type: "integer" },
    ] as const;
    const error = await refusalOf(
      world.retain(recordsOf([good(0)]), { meta: { declaredTotals, declaredRowCount: 2 } }),
    );
    expect(error.problems.map(({ code, field }) => [code, field])).toEqual([
      ["DECLARED_ROW_COUNT", "row_count"],
      ["DECLARED_TOTAL", "control_totals.impressions"],
      ["DECLARED_TOTAL", "control_totals.revenue"],
      ["DECLARED_TOTAL", "control_totals.clicks"],
      ["DECLARED_TOTAL", "control_totals.spend"],
    ]);
    expect(error.message).toContain(`impressions: value 1 is declared, the rows give ${good(0)["impressions"]}`);
    expect(existsSync(world.retainedFolder)).toBe(false);
  });

  it("the first 100 problems are told and the others counted, over the whole input", async () => {
    const rows = Array.from({ length: 250 }, (_, index) => ({ ...good(index % 100), spend: "free" }));
    const error = await refusalOf(world.retain(recordsOf(rows)));
    expect(error.problems).toHaveLength(101);
    expect(error.problems.at(-1)).toEqual({ code: "MORE_PROBLEMS", message: "… and 150 more problems" });
  });

  it("a row too long for readers with default limits is refused", async () => {
    const rows = [{ ...good(0), creative_name: "é".repeat(4 * 1024 * 1024 + 1) }];
    expect((await refused(recordsOf(rows))).problems).toEqual([["RECORD_TOO_LONG", 1, undefined]]);
  });

  it("ids, period, zone and finality are checked before a single row is read", async () => {
    async function* untouched(): AsyncIterable<readonly DecodedRecord[]> {
      yield expect.unreachable();
    }
    const period = { start: "2026-03-09T00:00:00Z", end: "2026-03-08T00:00:00Z", source_timezone: "Mars/Olympus" };
    const error = await refusalOf(
      world.retain(untouched(), {
        meta: { accountId: "a/b", mediaBuyIds: ["x y"], supersedes: "", period, finalizedAt: "now" },
      }),
    );
    expect(error.kind).toBe("usage");
    expect(error.problems.map(({ field }) => field)).toEqual(
      expect.arrayContaining([
        "account_id",
        "supersedes",
        "media_buy_ids",
        "finality",
        "period.end",
        "period.source_timezone",
      ]),
    );
    const policy = await refusalOf(
      world.retain(untouched(), { meta: { finality: "official", finalityPolicyId: "other" } }),
    );
    expect(policy.problems.map(({ code }) => code)).toEqual(["FINALITY_POLICY_UNKNOWN"]);
  });

  it("a restatement of another slice, or of an official revision, is refused", async () => {
    const first = await world.retain(recordsOf([good(0)]));
    const supersedes = first.retained.revision.reporting_revision_id;
    const other = await refusalOf(
      world.retain(recordsOf([good(1), good(2)]), { meta: { supersedes, accountId: "acct-2" } }),
    );
    expect([other.kind, other.problems[0]?.code]).toEqual(["usage", "SLICE_DIFFERS"]);
    const official = await world.retain(recordsOf([good(0)]), { meta: { supersedes, finality: "official" } });
    const after = { supersedes: official.retained.revision.reporting_revision_id };
    expect((await refusalOf(world.retain(recordsOf([good(0)]), { meta: after }))).problems[0]?.code).toBe(
      "OFFICIAL_IS_FINAL",
    );
  });

  it("documents whose bytes, contract or vectors do not hold are not trusted", async () => {
    const { documents } = world;
    const flipped = Uint8Array.from(documents.rowSchema.bytes);
    flipped[20] = (flipped[20] ?? 0) ^ 1;
    const error = await refusalOf(
      world.retain(recordsOf([]), {
        documents: { ...documents, rowSchema: { ...documents.rowSchema, bytes: flipped } },
      }),
    );
    expect(error.problems.map(({ code, field }) => [code, field])).toContainEqual(["DOCUMENT_MISMATCH", "rowSchema"]);
  });

  it("an unwritable spool or retained folder is a problem with its name, and nothing is left behind", async () => {
    const file = join(world.directory, "file");
    await writeFile(file, "");
    const spool = await refusalOf(world.retain(recordsOf([good(0)]), { spoolDirectory: join(file, "spool") }));
    expect([spool.kind, spool.problems[0]?.code]).toEqual(["usage", "SPOOL_UNUSABLE"]);
    await writeFile(world.retainedFolder, "a file where the folder should be");
    const store = await refusalOf(world.retain(recordsOf([good(0)])));
    expect([store.kind, store.problems[0]?.code]).toEqual(["usage", "STORE_UNUSABLE"]);
    expect(await readdir(world.spool)).toEqual([]);
  });

  it("an aborted run ends with the signal's reason and leaves nothing", async () => {
    const controller = new AbortController();
    const rows = async function* (): AsyncIterable<readonly DecodedRecord[]> {
      yield* recordsOf([good(0)]);
      controller.abort(new DeliveryError("LEASE_LOST"));
      yield* recordsOf([good(1)]);
    };
    await expect(world.retain(rows(), { signal: controller.signal })).rejects.toThrow("LEASE_LOST");
    expect(await readdir(world.spool)).toEqual([]);
    expect(existsSync(world.retainedFolder)).toBe(false);
  });

  it("ids such as .. never become a path", async () => {
    await mkdir(world.retainedFolder);
    await world.retain(recordsOf([good(0)]), { newId: () => "..", meta: { accountId: ".." } });
    expect(await readdir(world.directory)).toEqual(["retained", "spool"]);
    expect((await readdir(world.retainedFolder)).every((name) => /^r_[a-z2-7]{26}$/.test(name))).toBe(true);
    expect((await world.store.describe(".."))?.retained.revision.account_id).toBe("..");
  });
});
