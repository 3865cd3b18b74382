import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sha256Hex } from "../../../../core/digest/node-hasher.ts";
import type { JsonObject } from "../../../../core/json.ts";
import type { Driver } from "../../../../drivers/driver.ts";
import { createFileTransferDriver } from "../../../../drivers/file-transfer/file-transfer-driver.ts";
import { readLocalConfig } from "../../../../drivers/file-transfer/local/config.ts";
import { createLocalDriver, traitsOf } from "../../../../drivers/file-transfer/local/driver.ts";
import { nodeFileSystem } from "../../../../drivers/file-transfer/local/file-system.ts";
import { createLocalStore } from "../../../../drivers/file-transfer/local/store.ts";
import { attemptOf, deliver, matches } from "../../../conformance/driver.ts";
import { fileDriverConformance } from "../../../conformance/file-driver.ts";
import { folderOf, partsOf } from "../../../conformance/file-rig.ts";
import { createSampleDelivery, type SampleDelivery } from "../../../conformance/sample-delivery.ts";
import { type Around, aroundFileSystem, crashAt, recordCalls } from "../../../faults/around.ts";

const environment = { spoolDirectory: tmpdir(), secret: async () => "" };

fileDriverConformance("local", async () => {
  const root = await mkdtemp(join(tmpdir(), "waybill-local-"));
  const settings = { location: pathToFileURL(root).href, format: "jsonl", compression: "none" };
  const { config } = readLocalConfig({ transport: "local_fs", verification_path: "producer", settings });
  if (config === undefined) throw new Error("the settings of the rig are wrong");
  return {
    traits: traitsOf(config),
    settings,
    canaries: [],
    openWriter: () => createLocalStore({ root }),
    openReader: () => createLocalStore({ root }),
    replace: async (key, bytes) => {
      await mkdir(join(root, key, ".."), { recursive: true });
      await writeFile(join(root, key), bytes);
    },
    close: () => rm(root, { recursive: true, force: true }),
  };
});

describe("local driver", () => {
  let base: string;
  let root: string;
  let sample: SampleDelivery;

  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), "waybill-local-"));
    root = join(base, "root");
    await mkdir(root);
    sample = await createSampleDelivery({ revisionId: "..", rowCount: 7 });
  });
  afterEach(async () => {
    await rm(base, { recursive: true, force: true });
    await sample.close();
  });

  const settingsOf = (more: JsonObject): JsonObject => ({
    location: pathToFileURL(root).href,
    format: "jsonl",
    compression: "gzip",
    ...more,
  });
  const planBy = (driver: Driver, settings: JsonObject, of = sample) =>
    driver.prepare({
      revision: of.revision,
      obligationId: "o",
      materializationId: "..",
      attempt: 1,
      destination: settings,
      createdAt: "2026-03-09T02:00:00Z",
    });

  const encodings = [
    ["jsonl", "none"],
    ["jsonl", "gzip"],
    ["jsonl", "zstd"],
    ["csv", "none"],
    ["csv", "gzip"],
    ["csv", "zstd"],
    ["parquet", "none"],
    ["parquet", "snappy"],
    ["parquet", "gzip"],
    ["parquet", "zstd"],
  ] as const;
  for (const [format, compression] of encodings) {
    for (const rowCount of [0, 7]) {
      it(`${rowCount} rows as ${format}, ${compression}: read back as the revision, and sha256sum agrees`, async () => {
        const settings = settingsOf({ format, compression, rows_per_part: 4, path_template: "{account}/{day}" });
        const driver = createLocalDriver(
          { transport: "local_fs", verification_path: "producer", settings },
          environment,
        );
        const of = await createSampleDelivery({ revisionId: "r", rowCount });
        const plan = planBy(driver, settings, of);
        const commit = await deliver(driver, { plan, sample: of }, "1");
        const observation = await driver.probe(plan, commit, "canonical_digest", attemptOf("2"));
        expect(observation).toMatchObject({ outcome: "read", rowCount, findings: [] });
        expect(matches(observation, of)).toBe(true);
        expect(folderOf(plan)).toMatch(/^acct-1\/2026-03-08\/r_[a-z2-7]{26}\/m_[a-z2-7]{26}$/);
        expect(partsOf(plan)).toHaveLength(rowCount === 0 ? 1 : 2);
        const folder = join(root, folderOf(plan));
        expect(commit.location).toBe(pathToFileURL(join(folder, "manifest.json")).href);
        execFileSync("sha256sum", ["--check", "--strict", "SHA256SUMS"], { cwd: folder, stdio: "ignore" });
        await driver.withdraw(plan, "data", attemptOf("3"));
        expect(await readdir(root)).toEqual([]);
        await driver.close();
        await of.close();
      });
    }
  }

  it("reads through the buyer's own mount when there is one, and then may speak for the consumer", async () => {
    const settings = settingsOf({ reader: { location: pathToFileURL(join(base, "mount")).href } });
    const binding = { transport: "local_fs", verification_path: "representative_consumer", settings } as const;
    const driver = createLocalDriver(binding, environment);
    expect(driver.traits).toMatchObject({
      verificationPaths: ["representative_consumer", "producer"],
      visibilityWindowMs: 90_000,
    });
    const plan = planBy(driver, settings);
    const commit = await deliver(driver, { plan, sample }, "1");
    const probe = () => driver.probe(plan, commit, "canonical_digest", attemptOf("2"));
    expect(await probe()).toEqual({ outcome: "not_yet", code: "NOT_YET_VISIBLE" });
    await mkdir(join(base, "mount"));
    expect(await probe()).toEqual({ outcome: "not_yet", code: "NOT_YET_VISIBLE" });
    execFileSync("cp", ["-r", `${root}/.`, join(base, "mount")]);
    expect(matches(await probe(), sample)).toBe(true);
    await driver.close();
  });

  it("a location longer than the wire allows is refused when it is planned", () => {
    const long = `/${"a".repeat(200)}`.repeat(11);
    const settings = { location: pathToFileURL(long).href, format: "jsonl", compression: "gzip" };
    const driver = createLocalDriver({ transport: "local_fs", verification_path: "producer", settings }, environment);
    expect(() => planBy(driver, settings)).toThrow("CONFIGURATION_INVALID");
  });

  it("a split into more than 10,000 parts is refused when it is planned", () => {
    const settings = settingsOf({ rows_per_part: 1 });
    const driver = createLocalDriver({ transport: "local_fs", verification_path: "producer", settings }, environment);
    const many = { ...sample, revision: { ...sample.revision, row_count: 10_001 } };
    expect(() => planBy(driver, settings, many)).toThrow("CONFIGURATION_INVALID");
  });

  it("temporary files of killed calls are collected by age, and the delivery stays", async () => {
    const settings = settingsOf({});
    const driver = createLocalDriver({ transport: "local_fs", verification_path: "producer", settings }, environment);
    const plan = planBy(driver, settings);
    const commit = await deliver(driver, { plan, sample }, "1");
    await writeFile(join(root, folderOf(plan), ".waybill-0123456789abcdef-00.tmp"), "half");
    expect(await driver.collectLeftovers?.(plan, 0n, attemptOf("2"))).toBe(0);
    expect(await driver.collectLeftovers?.(plan, 10n ** 18n, attemptOf("2"))).toBe(1);
    expect(matches(await driver.probe(plan, commit, "canonical_digest", attemptOf("3")), sample)).toBe(true);
    await driver.close();
  });

  describe("killed at any call to the operating system", () => {
    for (const when of ["before", "after"] as const) {
      it(`${when} it: redelivery leaves exactly one commit and the same bytes, and no partial read verifies`, async () => {
        const settings = settingsOf({ rows_per_part: 4 });
        const { config } = readLocalConfig({ transport: "local_fs", verification_path: "producer", settings });
        if (config === undefined) throw new Error("the settings are wrong");
        const open = (around?: Around): Driver => {
          const local =
            around === undefined ? { root } : { root, fileSystem: aroundFileSystem(nodeFileSystem, around) };
          return createFileTransferDriver({
            traits: traitsOf(config),
            settings: config,
            writer: createLocalStore(local),
            openReader: () => createLocalStore({ root }),
            spoolDirectory: environment.spoolDirectory,
          });
        };
        const recorder = recordCalls();
        const plan = planBy(open(), settings);
        const clean = await deliver(open(recorder.around), { plan, sample }, "clean");
        const folder = join(root, folderOf(plan));
        const files = filesIn(folder);
        expect(matches(await open().probe(plan, clean, "canonical_digest", attemptOf("clean")), sample)).toBe(true);
        expect(recorder.calls.length).toBeGreaterThan(100);

        for (let n = 0; n < recorder.calls.length; n++) {
          await rm(root, { recursive: true });
          await mkdir(root);
          await deliver(open(crashAt(n, when)), { plan, sample }, `victim-${n}`).catch(() => undefined);
          // Without the mark a reader sees nothing, whatever lies beside it.
          if (existsSync(join(folder, "manifest.json"))) {
            const early = await open().probe(plan, clean, "canonical_digest", attemptOf(`early-${n}`));
            expect([n, matches(early, sample)]).toEqual([n, true]);
          }
          expect([n, await deliver(open(), { plan, sample }, `heir-${n}`)]).toEqual([n, clean]);
          await open().collectLeftovers?.(plan, 10n ** 18n, attemptOf(`sweep-${n}`));
          expect([n, filesIn(folder)]).toEqual([n, files]);
        }
      }, 180_000);
    }
  });
});

/** Name and content of every file, hidden ones too. */
function filesIn(folder: string): readonly string[] {
  return readdirSync(folder)
    .sort()
    .map((name) => `${name} ${sha256Hex(readFileSync(join(folder, name)))}`);
}
