import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DeliveryError } from "../../core/errors.ts";
import type { FailureCode } from "../../core/failure-table.ts";
import { claim, expireLeases } from "../../core/ledger/transitions.ts";
import type { WorkerLog } from "../../workers/log.ts";
import { type Call, crashAt, failWhere, recordCalls } from "../faults/around.ts";
import { leaseMs } from "./delivery-world.ts";
import { calm, useWorld } from "./use-world.ts";

const isPut = ({ method }: Call): boolean => method === "putIfAbsent";
const isManifestPut = (call: Call): boolean => isPut(call) && call.target.endsWith("/manifest.json");
const failing = (code: FailureCode, retryAfterMs?: number) => () =>
  new DeliveryError(code, retryAfterMs === undefined ? {} : { retryAfterMs });

describe("a delivery", () => {
  const used = useWorld();

  it("goes from its plan to ready, and the journal tells how", async () => {
    const { world } = used;
    const worker = await world.worker();
    const id = await world.open(worker);
    const result = await worker.runner.run(id, calm);
    expect(result).toMatchObject({ outcome: "ready", record: { status: "available", attempt: 1 } });
    const { record, phase, commit } = await world.find(id);
    expect(record.verification).toMatchObject({ verification_path: "producer", row_count: world.revision.row_count });
    expect(record.resource?.manifest_sha256).toBe(commit?.["manifest_sha256"]);
    expect(phase).toBe("done");
    expect((await world.story(id)).map(({ event }) => event)).toEqual([
      "opened",
      "claimed",
      "writing",
      "committed",
      "probed",
      "available",
    ]);
    expect(await world.outbox(id)).toEqual(["reporting.delivery_ready"]);
  });

  it("ends as delivered where the buyer hosts", async () => {
    const worker = await used.world.worker();
    const id = await used.world.open(worker, { hosting: "buyer" });
    expect(await worker.runner.run(id, calm)).toMatchObject({ outcome: "ready", record: { status: "delivered" } });
  });

  it("[I5] writes parts, then side files, then the manifest, then the evidence; reads; and only then ends", async () => {
    const { world } = used;
    const log = recordCalls();
    const faults = { ledger: log.around, writer: log.around, reader: log.around };
    const worker = await world.worker({ faults });
    const id = await world.open(worker);
    await worker.runner.run(id, calm);
    const steps = log.calls.map(({ method, target }) => `${method} ${target.split("/").at(-1)}`);
    const puts = steps.filter((step) => step.startsWith("putIfAbsent"));
    expect(puts.slice(0, 3)).toEqual([0, 1, 2].map((part) => `putIfAbsent part-0000${part}.jsonl.gz`));
    expect(puts.at(-1)).toBe("putIfAbsent manifest.json");
    const committing = steps.lastIndexOf("putIfAbsent manifest.json");
    const recording = steps.indexOf("transaction ", committing);
    const reading = steps.indexOf("open manifest.json", committing + 3);
    expect(recording).toBeGreaterThan(committing);
    expect(reading).toBeGreaterThan(recording);
    expect(steps.at(-1)).toBe("transaction ");
    expect(steps.slice(reading).filter((step) => step.startsWith("open part-"))).toHaveLength(3);
  });

  it("is not run again once it has ended", async () => {
    const { world } = used;
    const worker = await world.worker();
    const id = await world.open(worker);
    await worker.runner.run(id, calm);
    const before = await world.story(id);
    expect(await worker.runner.run(id, calm)).toEqual({ outcome: "idle" });
    expect(await world.story(id)).toEqual(before);
  });

  it("[I22] encodes a revision once for all destinations of one encoding", async () => {
    const { world, directory } = used;
    const { calls, around } = recordCalls();
    const spoolDirectory = join(directory, "spool-of-its-own");
    const worker = await world.worker({ faults: { retained: around }, spoolDirectory });
    const ids = [await world.open(worker), await world.open(worker), await world.open(worker)];
    const results = await Promise.all(ids.map((id) => worker.runner.run(id, calm)));
    expect(results.map(({ outcome }) => outcome)).toEqual(["ready", "ready", "ready"]);
    expect(calls.filter(({ method }) => method === "openPart")).toHaveLength(1);
  });
});

describe("a delivery that meets trouble", () => {
  const used = useWorld();

  it("[I15] is tried again when the table says so, at an instant that the ledger keeps", async () => {
    const { world } = used;
    const worker = await world.worker({ faults: { writer: failWhere(isPut) } });
    const id = await world.open(worker);
    const nextRunAtUs = world.clock.nowUs() + 750_000n;
    expect(await worker.runner.run(id, calm)).toEqual({
      outcome: "waiting",
      transport: "local_fs",
      delayMs: 750,
      nextRunAtUs,
    });
    expect(await world.find(id)).toMatchObject({ nextRunAtUs, tries: 1, phase: "writing" });
    expect(await worker.runner.run(id, calm)).toEqual({ outcome: "idle" });
    await world.clock.advance(750);
    expect(await worker.runner.run(id, calm)).toMatchObject({ outcome: "ready" });
    const scheduled = (await world.story(id)).find(({ event }) => event === "retry_scheduled");
    expect(scheduled?.detail).toEqual({ code: "DESTINATION_UNREACHABLE", tries: 1, delay_ms: 750 });
  });

  it("waits at least as long as the destination asked, and not all at the same instant", async () => {
    const error = failing("DESTINATION_THROTTLED", 60_000);
    const worker = await used.world.worker({ faults: { writer: failWhere(isPut, { error }) } });
    const id = await used.world.open(worker);
    expect(await worker.runner.run(id, calm)).toMatchObject({ outcome: "waiting", delayMs: 66_000 });
  });

  it.each(["DESTINATION_FORBIDDEN", "DESTINATION_FULL", "DESTINATION_MISSING", "DESTINATION_UNSAFE"] as const)(
    "ends at once with %s, and nothing is announced",
    async (code) => {
      const { world } = used;
      const worker = await world.worker({ faults: { writer: failWhere(isPut, { error: failing(code) }) } });
      const id = await world.open(worker);
      const result = await worker.runner.run(id, calm);
      expect(result).toMatchObject({ outcome: "failed", record: { failure_code: code }, reattempt: undefined });
      expect(await world.files(id)).not.toContain("manifest.json");
      expect(await world.outbox(id)).toEqual([]);
    },
  );

  it("[I16] B44: uses up its tries, each with a longer pause, and then ends with the cause", async () => {
    const { world } = used;
    const always = failWhere(isPut, { times: Number.POSITIVE_INFINITY });
    const worker = await world.worker({ faults: { writer: always } });
    const id = await world.open(worker);
    const delays: number[] = [];
    for (;;) {
      const result = await worker.runner.run(id, calm);
      if (result.outcome !== "waiting") {
        expect(result).toMatchObject({ outcome: "failed", record: { failure_code: "TRIES_EXHAUSTED" } });
        break;
      }
      delays.push(result.delayMs);
      await world.clock.advance(result.delayMs);
    }
    expect(delays).toEqual([750, 1500, 3000, 6000, 12_000, 24_000, 48_000]);
    expect((await world.story(id)).at(-1)).toEqual({
      event: "failed",
      detail: { cause_code: "DESTINATION_UNREACHABLE", failure_code: "TRIES_EXHAUSTED", tries: 8 },
    });
  });

  it("[I16] ends after its tries also when every worker that took it died", async () => {
    const { world } = used;
    const worker = await world.worker();
    const id = await world.open(worker);
    for (let n = 0; n < 8; n++) {
      expect(await claim(world.db, { materializationId: id, workerId: "doomed", leaseMs })).toBeDefined();
      await world.clock.advance(leaseMs);
      await expireLeases(world.db);
    }
    expect(await worker.runner.run(id, calm)).toMatchObject({
      outcome: "failed",
      record: { failure_code: "TRIES_EXHAUSTED" },
    });
    expect(await world.files(id)).toEqual([]);
  });

  it("[I4] finds its own commit when only the reply to it was lost", async () => {
    const { world } = used;
    const writer = failWhere(isManifestPut, { when: "after" });
    const worker = await world.worker({ faults: { writer } });
    const id = await world.open(worker);
    expect(await worker.runner.run(id, calm)).toMatchObject({ outcome: "waiting" });
    await world.clock.advance(1000);
    const { calls, around } = recordCalls();
    const second = await world.worker({ faults: { writer: around } });
    expect(await second.runner.run(id, calm)).toMatchObject({ outcome: "ready" });
    expect(calls.filter(isPut)).toEqual([]);
  });

  it("[I6] overwrites nothing: a foreign file at one of its names ends it as CONTENT_CONFLICT", async () => {
    const { world } = used;
    const worker = await world.worker();
    const id = await world.open(worker);
    const path = join(await world.folderOf(id), "part-00001.jsonl.gz");
    await mkdir(await world.folderOf(id), { recursive: true });
    await writeFile(path, "foreign");
    const result = await worker.runner.run(id, calm);
    expect(result).toMatchObject({ outcome: "failed", record: { failure_code: "CONTENT_CONFLICT" } });
    expect(await readFile(path, "utf8")).toBe("foreign");
    expect(await world.files(id)).not.toContain("manifest.json");
  });

  it("[I23] goes on in a new folder as attempt 2 when another encoder began", async () => {
    const { world, directory } = used;
    const first = await world.worker({ faults: { writer: crashAt(1, "before") } });
    const id = await world.open(first);
    await first.runner.run(id, calm);
    await world.clock.advance(leaseMs);
    const second = await world.worker({ fingerprint: "another encoder", spoolDirectory: join(directory, "other") });
    const result = await second.runner.run(id, calm);
    expect(result).toMatchObject({
      outcome: "failed",
      record: { failure_code: "ENCODER_CHANGED", attempt: 1 },
      reattempt: { attempt: 2, status: "pending" },
    });
    const next = result.outcome === "failed" ? (result.reattempt?.reporting_materialization_id ?? "") : "";
    expect(await second.runner.run(next, calm)).toMatchObject({ outcome: "ready", record: { attempt: 2 } });
    expect(await world.folderOf(next)).not.toBe(await world.folderOf(id));
    expect(await world.files(id)).not.toContain("manifest.json");
    expect(await world.outbox(id)).toEqual([]);
  });

  it("[I17] keeps what a provider said out of ledger and log", async () => {
    const { world } = used;
    const told: string[] = [];
    const log: WorkerLog = {
      info: (message, fields) => void told.push(message, JSON.stringify(fields)),
      error: (message, error, fields) => void told.push(message, (error as Error).message, JSON.stringify(fields)),
    };
    const error = () => Object.assign(new Error("canary-provider-body"), { name: "canary-name" });
    const worker = await world.worker({ log, faults: { writer: failWhere(isPut, { error, times: 99 }) } });
    const id = await world.open(worker);
    for (let n = 0; n < 8; n++) {
      await worker.runner.run(id, calm);
      await world.clock.advance(300_000);
    }
    const { record } = await world.find(id);
    expect(record.failure_code).toBe("TRIES_EXHAUSTED");
    expect(told.length).toBeGreaterThan(0);
    expect(told.join("\n")).not.toContain("canary");
    const tables = ["journal", "materialization", "delivery_work", "outbox", "account_change"];
    for (const table of tables) {
      const rows = await world.db.query<{ text: string }>(`select t::text as text from ${table} t`);
      expect(rows.map(({ text }) => text).join("\n")).not.toContain("canary");
    }
  });
});

describe("work files of a delivery", () => {
  const used = useWorld();
  const isPart = ({ method }: Call): boolean => method === "openPart";

  it("[I22] are made again when they were damaged, and the retained revision is what counts", async () => {
    const { world, directory } = used;
    const spoolDirectory = join(directory, "damaged");
    const worker = await world.worker({ spoolDirectory });
    await worker.runner.run(await world.open(worker), calm);
    const encoded = (await readdir(spoolDirectory)).find((name) => !name.endsWith("-retained")) ?? "";
    const path = join(spoolDirectory, encoded, "part-00001.jsonl.gz");
    const before = await readFile(path);
    await writeFile(
      path,
      before.map((byte, index) => (index === 20 ? byte ^ 1 : byte)),
    );
    const id = await world.open(worker);
    expect(await worker.runner.run(id, calm)).toMatchObject({ outcome: "ready" });
    const stored = await readFile(join(await world.folderOf(id), "part-00001.jsonl.gz"));
    expect(sha256(stored)).toBe(sha256(before));
  });

  it("[I22] are made again when a power cut emptied their list", async () => {
    const { world, directory } = used;
    const spoolDirectory = join(directory, "emptied");
    const worker = await world.worker({ spoolDirectory });
    await worker.runner.run(await world.open(worker), calm);
    const encoded = (await readdir(spoolDirectory)).find((name) => !name.endsWith("-retained")) ?? "";
    await writeFile(join(spoolDirectory, encoded, "parts.json"), "");
    expect(await worker.runner.run(await world.open(worker), calm)).toMatchObject({ outcome: "ready" });
  });

  it("a retained revision that cannot be read ends the delivery before anything is committed", async () => {
    const { world, directory } = used;
    const error = failing("REVISION_UNREADABLE");
    const retained = failWhere(isPart, { error, times: Number.POSITIVE_INFINITY });
    const worker = await world.worker({ faults: { retained }, spoolDirectory: join(directory, "unreadable") });
    const id = await world.open(worker);
    const result = await worker.runner.run(id, calm);
    expect(result).toMatchObject({ outcome: "failed", record: { failure_code: "REVISION_UNREADABLE" } });
    expect(await world.files(id)).toEqual([]);
  });
});

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
