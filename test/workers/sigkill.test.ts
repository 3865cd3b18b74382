import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { verifyLocation } from "../../buyer/verify-location.ts";
import { sha256Hex } from "../faults/bodies.ts";
import type { DeliverReport } from "../processes/deliver.ts";
import { repositoryRoot } from "../servers/peers.ts";

const worker = join(repositoryRoot, ".cache/test-build/test/processes/deliver.js");
const fixture = join(repositoryRoot, "fixtures/daily-ad-delivery");
const fiveMinutesMs = 300_000;

/** Kill before or after a step, counted from 0. */
type KillPoint = readonly [when: "before" | "after", step: number];

describe("[I4] a worker killed with SIGKILL", () => {
  let base: string;
  let clean: DeliverReport;
  let cleanParts: ReadonlyMap<string, string>;
  beforeAll(async () => {
    base = await mkdtemp(join(tmpdir(), "waybill-sigkill-"));
    const ended = await start("template", "prepare", join(fixture, "rows.jsonl"), join(fixture, "definition.json"));
    expect(ended.signal).toBeNull();
    await copyOfTemplate("clean");
    clean = await finish("clean");
    cleanParts = await partsOf(clean);
  }, fiveMinutesMs);
  afterAll(() => rm(base, { recursive: true, force: true }));

  const start = async (folder: string, ...parameters: readonly string[]) => {
    const child = spawn(process.execPath, [worker, join(base, folder), ...parameters], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const output: Buffer[] = [];
    child.stdout.on("data", (data: Buffer) => output.push(data));
    const [, signal] = await once(child, "close");
    return { signal: signal as NodeJS.Signals | null, output: Buffer.concat(output).toString() };
  };
  const copyOfTemplate = (folder: string): Promise<void> =>
    cp(join(base, "template"), join(base, folder), { recursive: true });
  const kill = async (folder: string, [when, step]: KillPoint): Promise<void> => {
    const { signal } = await start(folder, "run", when, String(step));
    expect(signal).toBe("SIGKILL");
  };
  const finish = async (folder: string): Promise<DeliverReport> => {
    const { output } = await start(folder, "run");
    return JSON.parse(output) as DeliverReport;
  };

  /** Everything that must hold once a fresh worker has ended, whatever was killed before it. */
  const expectOneDelivery = async (folder: string, report: DeliverReport, what: string): Promise<void> => {
    const { steps: _, outcomes, ...state } = report;
    const { steps: __, outcomes: ___, ...expected } = clean;
    const [delivery] = state.materializations;
    const withoutLocation = ({ materializations, ...others }: typeof state) => ({
      ...others,
      materializations: materializations.map(({ attempt, status }) => ({ attempt, status })),
    });
    expect(withoutLocation(state), what).toEqual(withoutLocation(expected));
    expect(["available", "nothing was left to do"], what).toContain(outcomes[0] ?? "nothing was left to do");
    expect(await partsOf(report), what).toEqual(cleanParts);
    expect(await filesBelow(join(base, folder, "buyer")), what).toEqual([
      "SHA256SUMS",
      "canonicalization.json",
      "definition.json",
      "manifest.json",
      ...cleanParts.keys(),
      "revision.json",
      "row-schema.json",
    ]);
    const verified = await verifyLocation(delivery?.location ?? "");
    expect([verified.ok, verified.row_count, verified.findings], what).toEqual([true, 26, []]);
  };

  /** Two at a time, each in a folder of its own. */
  const killEach = async (points: readonly KillPoint[]): Promise<void> => {
    expect(points.length).toBeGreaterThan(0);
    const waiting = [...points];
    const lane = async (): Promise<void> => {
      for (let point = waiting.pop(); point !== undefined; point = waiting.pop()) {
        const folder = point.join("-");
        await copyOfTemplate(folder);
        await kill(folder, point);
        await expectOneDelivery(folder, await finish(folder), `${point.join(" step ")}: ${clean.steps[point[1]]}`);
        await rm(join(base, folder), { recursive: true, force: true });
      }
    };
    await Promise.all([lane(), lane()]);
  };
  const stepsLike = (pattern: RegExp): readonly number[] =>
    clean.steps.flatMap((step, index) => (pattern.test(step) ? [index] : []));
  const killAfter = (pattern: RegExp): readonly KillPoint[] =>
    stepsLike(pattern).map((step) => ["after", step] as const);
  const killBefore = (pattern: RegExp): readonly KillPoint[] =>
    stepsLike(pattern).map((step) => ["before", step] as const);

  it(
    "after any transaction of the ledger: the next worker ends in one delivery",
    () => killEach(killAfter(/^ledger transaction/)),
    fiveMinutesMs,
  );

  it(
    "after a name appeared at the destination, or just before: the next worker ends in one delivery",
    () =>
      killEach([
        ...killBefore(/^disk link (part-00000|manifest)/),
        ...killAfter(/^disk link (part-00000|SHA256SUMS|manifest)/),
      ]),
    fiveMinutesMs,
  );

  it(
    "while rows are fetched, encoded, or read back: the next worker ends in one delivery",
    () =>
      killEach([
        ...killAfter(/^retained openPart/),
        ...killAfter(/^spool rename/),
        ...killBefore(/^reader open part-00000/),
      ]),
    fiveMinutesMs,
  );

  it(
    "again and again, each time a little later: the one that lives ends in one delivery",
    async () => {
      await copyOfTemplate("again");
      const isTransaction = (step: string): boolean => step.startsWith("ledger transaction");
      const opened = stepsLike(/^ledger transaction/)[2] ?? 0;
      await kill("again", ["after", opened]);
      // From here on a worker finds the attempt open and starts with its claim, so steps count from there.
      const shift = opened + 1;
      const firstPart = stepsLike(/^disk link part-00000/)[0] ?? 0;
      await kill("again", ["after", firstPart - shift]);
      await kill("again", ["before", firstPart - shift]);
      const report = await finish("again");
      await expectOneDelivery("again", report, "killed three times");
      expect(report.steps.filter(isTransaction).length).toBeLessThan(clean.steps.filter(isTransaction).length);
    },
    fiveMinutesMs,
  );
});

/** Hashes of the data objects of the one delivery. */
async function partsOf({ materializations }: DeliverReport): Promise<ReadonlyMap<string, string>> {
  const folder = dirname(fileURLToPath(materializations[0]?.location ?? "file:///nowhere/manifest.json"));
  const names = (await readdir(folder)).filter((name) => name.startsWith("part-")).sort();
  return new Map(
    await Promise.all(names.map(async (name) => [name, sha256Hex(await readFile(join(folder, name)))] as const)),
  );
}

/** Bare names of all files, temporary ones too. */
async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => basename(entry.name))
    .sort();
}
