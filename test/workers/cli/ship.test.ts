import { execFileSync } from "node:child_process";
import { readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { officialSchema } from "../../servers/official-schemas.ts";
import { describePeer } from "../../servers/peers.ts";
import { type CommandLine, type CommandLines, definitionFile, fixture, openCommandLines } from "./command-line.ts";

let lines: CommandLines;
beforeAll(async () => {
  lines = await openCommandLines();
});
afterAll(() => lines.close());

interface Shipped {
  readonly revision: {
    readonly reporting_revision_id: string;
    readonly supersedes_reporting_revision_id?: string;
    readonly row_count: number;
    readonly media_buy_ids: readonly string[];
    readonly period: { readonly start: string; readonly end: string };
    readonly canonical_content_digest: { readonly value: string };
  };
  readonly obligation: { readonly reporting_obligation_id: string; readonly health: string };
  readonly materialization: { readonly reporting_materialization_id: string; readonly status: string };
  readonly manifest: { readonly format: string; readonly files: readonly { readonly object_ref: string }[] };
  readonly location: string;
}

async function ship(line: CommandLine, rows: string, ...flags: string[]): Promise<Shipped> {
  const ended = await line.run("ship", rows, "--definition", definitionFile, "--to", "out", "--json", ...flags);
  expect(ended.stderr).not.toContain("waybill:");
  expect(ended.code).toBe(0);
  return ended.json<Shipped>();
}

const folderOf = (shipped: Shipped): string => dirname(fileURLToPath(shipped.location));

describe("ship", () => {
  it("retains, delivers and verifies in an empty folder, and prints every default it chose", async () => {
    const line = await lines.open({ ledger: false });
    const ended = await line.run("ship", fixture("rows.jsonl"), "--definition", definitionFile, "--to", "./out");
    expect(ended.code).toBe(0);
    for (const told of ["account", "default", "2026-03-08 (UTC)", "the 4 that have rows", "snapshot", "analytics"]) {
      expect(ended.stdout).toContain(told);
    }
    expect(ended.stdout).toMatch(/due PT4H after the period/);
    expect(ended.stdout).toMatch(/producer, read back as producer, kept 90 days/);
    expect(ended.stdout).toContain("Delivered and read back.");
    expect((await line.files()).map((path) => path.replace(/[rm]_[a-z2-7]{26}/g, "*"))).toEqual([
      "out/*/*/SHA256SUMS",
      "out/*/*/canonicalization.json",
      "out/*/*/definition.json",
      "out/*/*/manifest.json",
      "out/*/*/part-00000.jsonl.gz",
      "out/*/*/revision.json",
      "out/*/*/row-schema.json",
    ]);
  });

  it("names one byte that changed in any format, and sha256sum agrees before", async () => {
    const line = await lines.open();
    for (const [format, compression] of [
      ["jsonl", "none"],
      ["csv", "gzip"],
      ["parquet", "zstd"],
    ] as const) {
      const shipped = await ship(line, fixture("rows.jsonl"), "--format", format, "--compression", compression);
      expect(shipped.materialization.status).toBe("available");
      const folder = folderOf(shipped);
      execFileSync("sha256sum", ["-c", "--strict", "--quiet", "SHA256SUMS"], { cwd: folder });
      const good = await line.run("verify", join(folder, "manifest.json"), "--json");
      expect(good.json()).toMatchObject({ ok: true, level: "SELF_CONSISTENT", row_count: 26, findings: [] });

      const object = shipped.manifest.files[0]?.object_ref ?? "";
      await flipByte(join(folder, object));
      const bad = await line.run("verify", folder, "--json");
      expect(bad.code).toBe(1);
      const { ok, findings } = bad.json<{ ok: boolean; findings: readonly { object_ref: string; code: string }[] }>();
      expect(ok).toBe(false);
      expect(findings.find((finding) => finding.object_ref === object)?.code).toBe("OBJECT_DIGEST_MISMATCH");
      expect((await line.run("verify", folder)).stdout).toContain(object);
    }
  });

  it("re-uses the revision and the delivery for the same rows, whatever their order", async () => {
    const line = await lines.open();
    const first = await ship(line, fixture("rows.jsonl"));
    const rows = (await readFile(fixture("rows.jsonl"), "utf8")).trimEnd().split("\n");
    await writeFile(line.path("reversed.jsonl"), `${rows.toReversed().join("\n")}\n`);
    const second = await ship(line, "reversed.jsonl");
    expect(second.revision).toEqual(first.revision);
    expect(second.materialization).toEqual(first.materialization);
    const listed = await line.run("ls", "revisions", "--json");
    expect(listed.json<{ items: unknown[] }>().items).toHaveLength(1);
  });

  it("delivers again when the earlier delivery no longer verifies, and leaves the damaged one as it is", async () => {
    const line = await lines.open();
    const first = await ship(line, fixture("rows.jsonl"));
    const object = join(folderOf(first), first.manifest.files[0]?.object_ref ?? "");
    await flipByte(object);
    const damaged = await readFile(object);
    const second = await ship(line, fixture("rows.jsonl"));
    expect(second.revision).toEqual(first.revision);
    expect(second.materialization).toMatchObject({ status: "available", attempt: 2 });
    expect(second.location).not.toBe(first.location);
    expect(await readFile(object)).toEqual(damaged);
  });

  it("makes other rows of the same period a restatement, after which A is still readable and can be delivered again", async () => {
    const line = await lines.open();
    const a = await ship(line, fixture("rows.jsonl"));
    const b = await ship(line, fixture("rows-restated.jsonl"));
    expect(b.revision.supersedes_reporting_revision_id).toBe(a.revision.reporting_revision_id);
    expect(b.obligation.reporting_obligation_id).toBe(a.obligation.reporting_obligation_id);
    expect((await line.run("verify", folderOf(a))).code).toBe(0);

    const again = await line.run("deliver", a.revision.reporting_revision_id, "--json");
    const replay = again.json<Shipped>();
    expect(again.code).toBe(0);
    expect(replay.revision).toEqual(a.revision);
    expect(replay.materialization).toMatchObject({
      status: "available",
      attempt: 2,
      verification: { canonical_content_digest: { value: a.revision.canonical_content_digest.value } },
    });
    expect(replay.materialization.reporting_materialization_id).not.toBe(
      a.materialization.reporting_materialization_id,
    );
    const told = await line.run("explain", replay.materialization.reporting_materialization_id, "--json");
    const story = told.json<{ story: readonly { event: string; detail: Record<string, unknown> }[] }>().story;
    expect(story.find(({ event }) => event === "opened")?.detail).toMatchObject({
      rows_acquired: 0,
      selection: "exact",
    });
    expect(story.filter(({ event }) => event === "published").map(({ detail }) => detail["rows_acquired"])).toEqual([
      26,
    ]);

    // B is still what the period's obligation is complete with.
    const current = await line.run("redrive", a.obligation.reporting_obligation_id, "--json");
    expect(current.json<Shipped>().revision).toEqual(b.revision);
  });

  it("keeps the period's media buys when a restatement has rows of fewer, and refuses rows of others", async () => {
    const line = await lines.open();
    const a = await ship(line, fixture("rows.jsonl"));
    const rows = (await readFile(fixture("rows.jsonl"), "utf8")).trimEnd().split("\n");
    await writeFile(line.path("fewer.jsonl"), `${rows.filter((row) => !row.includes('"mb-000"')).join("\n")}\n`);
    const b = await ship(line, "fewer.jsonl");
    expect(b.revision.media_buy_ids).toEqual(a.revision.media_buy_ids);
    expect(b.revision.supersedes_reporting_revision_id).toBe(a.revision.reporting_revision_id);

    await writeFile(line.path("other.jsonl"), `${rows.map((row) => row.replace("mb-000", "mb-999")).join("\n")}\n`);
    const refused = await line.run("ship", "other.jsonl", "--definition", definitionFile, "--to", "out");
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("mb-999");
    expect(refused.stderr).toContain("--media-buys");
  });

  it("never supersedes an official revision and names the adjustment as the way on", async () => {
    const line = await lines.open();
    const snapshot = await ship(line, fixture("rows.jsonl"));
    const official = await ship(line, fixture("rows.jsonl"), "--finality", "official");
    expect(official.revision).toMatchObject({
      finality: "official",
      finality_policy_id: "close-4h",
      supersedes_reporting_revision_id: snapshot.revision.reporting_revision_id,
    });
    const before = await line.files();
    for (const finality of ["official", "snapshot"]) {
      const flags = ["--definition", definitionFile, "--to", "out", "--finality", finality];
      const refused = await line.run("ship", fixture("rows-restated.jsonl"), ...flags);
      expect(refused.code).toBe(2);
      expect(refused.stderr).toContain("record an adjustment");
    }
    expect(await line.files()).toEqual(before);
    expect((await ship(line, fixture("rows.jsonl"))).revision).toEqual(official.revision);
  });

  it("B13 delivers a day without rows once it is told which day and which buys", async () => {
    const line = await lines.open();
    const asked = await line.run("ship", fixture("rows-zero.jsonl"), "--definition", definitionFile, "--to", "out");
    expect(asked.code).toBe(2);
    expect(asked.stderr).toContain("--period-start");
    expect(asked.stderr).toContain("--media-buys");
    expect(await line.files()).toEqual([]);
    const flags = ["--period-start", "2026-03-09", "--period-end", "2026-03-10", "--media-buys", "mb-2,mb-1"];
    for (const format of ["jsonl", "csv", "parquet"]) {
      const empty = await ship(line, fixture("rows-zero.jsonl"), ...flags, "--format", format);
      expect(empty.revision).toMatchObject({ row_count: 0, media_buy_ids: ["mb-1", "mb-2"] });
      expect(empty.manifest.files).toHaveLength(1);
    }
  });

  it("splits rows into parts and still verifies", async () => {
    const line = await lines.open();
    const shipped = await ship(line, fixture("rows.jsonl"), "--rows-per-part", "10");
    expect(shipped.manifest.files).toHaveLength(3);
  });

  it("takes compressed rows for what they are", async () => {
    const line = await lines.open();
    const gz = line.path("rows.jsonl.gz");
    await writeFile(gz, execFileSync("gzip", ["-c", fixture("rows.jsonl")]));
    const first = await ship(line, fixture("rows.jsonl"));
    expect((await ship(line, gz)).revision).toEqual(first.revision);
  });

  it("writes nothing into the ledger's folder that others may read", async () => {
    const line = await lines.open({ ledger: false });
    await ship(line, fixture("rows.jsonl"));
    expect((await stat(line.path(".waybill"))).mode & 0o077).toBe(0);
  });
});

describePeer("adcp", "what ship --json prints, by the official schemas", () => {
  it("is valid, record by record, for a snapshot, a restatement, an official and a day without rows", async () => {
    const line = await lines.open();
    const zero = ["--period-start", "2026-03-09", "--period-end", "2026-03-10", "--media-buys", "mb-1"];
    const documents = [
      await ship(line, fixture("rows.jsonl")),
      await ship(line, fixture("rows-restated.jsonl"), "--format", "parquet"),
      await ship(line, fixture("rows-restated.jsonl"), "--finality", "official", "--format", "csv"),
      await ship(line, fixture("rows-zero.jsonl"), ...zero),
    ];
    const checks = {
      revision: officialSchema("core/reporting-revision"),
      obligation: officialSchema("core/reporting-obligation"),
      materialization: officialSchema("core/reporting-materialization"),
      manifest: officialSchema("core/reporting-file-manifest"),
    };
    for (const document of documents) {
      expect(Object.keys(document).toSorted()).toEqual([
        "location",
        "manifest",
        "materialization",
        "obligation",
        "revision",
      ]);
      for (const [name, check] of Object.entries(checks)) {
        expect({ name, faults: check(document[name as keyof typeof checks]) }).toEqual({ name, faults: [] });
      }
    }
    const listed = await line.run("ls", "obligations", "--json");
    for (const obligation of listed.json<{ items: unknown[] }>().items)
      expect(checks.obligation(obligation)).toEqual([]);
  });
});

async function flipByte(path: string): Promise<void> {
  const bytes = await readFile(path);
  const middle = Math.floor(bytes.length / 2);
  bytes.writeUInt8(bytes.readUInt8(middle) ^ 1, middle);
  await writeFile(path, bytes);
}
