import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DeliveryError } from "../../core/errors.ts";
import type { FailureCode } from "../../core/failure-table.ts";
import type { Driver, Observation } from "../../drivers/driver.ts";
import { flipped } from "../conformance/file-rig.ts";
import type { Around } from "../faults/around.ts";
import { calm, useWorld } from "./use-world.ts";

/** A driver whose first reads see what is listed; later ones read for real. */
function seeingFirst(seen: readonly (Observation | FailureCode)[]): (driver: Driver) => Driver {
  let reads = 0;
  return (driver) => ({
    ...driver,
    probe: async (...parameters) => {
      const next = seen[reads++];
      if (next === undefined) return await driver.probe(...parameters);
      if (typeof next === "string") throw new DeliveryError(next);
      return next;
    },
  });
}

const notYet: Observation = { outcome: "not_yet", code: "NOT_YET_VISIBLE" };
const forbidden: Observation = { outcome: "not_yet", code: "READER_FORBIDDEN" };
const minute = { visibilityWindowMs: 60_000 };

describe("[I3] what was committed and replaced before it is read never becomes ready", () => {
  const used = useWorld();

  /** Acts once, when the reader opens the manifest: after the commit, with the spool intact. */
  function beforeReading(act: () => Promise<void>): Around {
    let done = false;
    return async (call, proceed) => {
      if (!done && call.method === "open") {
        done = true;
        await act();
      }
      return proceed();
    };
  }

  async function replaced(name: string, change: (path: string) => Promise<void>) {
    const { world } = used;
    let id = "";
    const reader = beforeReading(async () => change(join(await world.folderOf(id), name)));
    const worker = await world.worker({ faults: { reader } });
    id = await world.open(worker);
    const result = await worker.runner.run(id, calm);
    const failed = (await world.story(id)).at(-1);
    expect(await world.outbox(id)).toEqual([]);
    expect((await world.find(id)).record).not.toHaveProperty("ready_at");
    return { result, failed };
  }

  it("a part of the same size with one bit changed", async () => {
    const { result, failed } = await replaced("part-00001.jsonl.gz", async (path) => {
      const bytes = await readFile(path);
      await rm(path);
      await writeFile(path, flipped(bytes));
    });
    expect(result).toMatchObject({ outcome: "failed", record: { failure_code: "VERIFICATION_MISMATCH" } });
    expect(failed?.detail["findings"]).toContainEqual(
      expect.objectContaining({ code: "OBJECT_DIGEST_MISMATCH", object_ref: "part-00001.jsonl.gz" }),
    );
  });

  it("a part that is another part", async () => {
    const { result } = await replaced("part-00001.jsonl.gz", async (path) => {
      const bytes = await readFile(path.replace("00001", "00000"));
      await rm(path);
      await writeFile(path, bytes);
    });
    expect(result).toMatchObject({ outcome: "failed", record: { failure_code: "VERIFICATION_MISMATCH" } });
  });

  it("a part that is gone", async () => {
    const { result, failed } = await replaced("part-00002.jsonl.gz", (path) => rm(path));
    expect(result).toMatchObject({ outcome: "failed", record: { failure_code: "VERIFICATION_MISMATCH" } });
    expect(failed?.detail["findings"]).toContainEqual(expect.objectContaining({ code: "RESOURCE_READ_FAILED" }));
  });

  it("a manifest that says something else", async () => {
    const { result, failed } = await replaced("manifest.json", async (path) => {
      const text = await readFile(path, "utf8");
      await rm(path);
      await writeFile(path, text.replace('"row_count":8', '"row_count":9'));
    });
    expect(result).toMatchObject({ outcome: "failed", record: { failure_code: "VERIFICATION_MISMATCH" } });
    expect(failed?.detail["findings"]).toContainEqual(expect.objectContaining({ code: "MANIFEST_DIGEST_MISMATCH" }));
  });

  it("a manifest that is gone", async () => {
    const { result } = await replaced("manifest.json", (path) => rm(path));
    expect(result).toMatchObject({ outcome: "failed", record: { failure_code: "VISIBILITY_TIMEOUT" } });
  });
});

describe("reading back", () => {
  const used = useWorld();

  it("[I15] is repeated while nothing is visible; each read is journaled, uses up no try and holds no slot", async () => {
    const { world } = used;
    const worker = await world.worker({ traits: minute, driver: seeingFirst([notYet, forbidden, notYet]) });
    const id = await world.open(worker);
    const delays: number[] = [];
    for (;;) {
      const result = await worker.runner.run(id, calm);
      if (result.outcome !== "waiting") {
        expect(result.outcome).toBe("ready");
        break;
      }
      expect((await world.find(id)).nextRunAtUs).toBe(result.nextRunAtUs);
      delays.push(result.delayMs);
      await world.clock.advance(result.delayMs);
    }
    expect(delays).toEqual([500, 750, 1125]);
    const { tries, probes } = await world.find(id);
    expect({ tries, probes }).toEqual({ tries: 4, probes: 4 });
    const probed = (await world.story(id)).filter(({ event }) => event === "probed").map(({ detail }) => detail);
    expect(probed).toMatchObject([
      { probe: 1, outcome: "not_yet", code: "NOT_YET_VISIBLE" },
      { probe: 2, outcome: "not_yet", code: "READER_FORBIDDEN" },
      { probe: 3, outcome: "not_yet", code: "NOT_YET_VISIBLE" },
      { probe: 4, outcome: "match", row_count: 8 },
    ]);
  });

  it.each([
    ["VISIBILITY_TIMEOUT", notYet],
    ["READER_FORBIDDEN", forbidden],
  ] as const)("[I16] ends as %s with the window, whose last read is at its very end", async (code, seen) => {
    const { world } = used;
    const driver = seeingFirst(Array.from({ length: 100 }, () => seen));
    const worker = await world.worker({ traits: minute, driver });
    const id = await world.open(worker);
    const startUs = world.clock.nowUs();
    let result = await worker.runner.run(id, calm);
    while (result.outcome === "waiting") {
      await world.clock.advance(result.delayMs);
      result = await worker.runner.run(id, calm);
    }
    expect(result).toMatchObject({ outcome: "failed", record: { failure_code: code } });
    expect(world.clock.nowUs() - startUs).toBe(60_000_000n);
    expect(await world.outbox(id)).toEqual([]);
  });

  it("with a window of zero reads once", async () => {
    const worker = await used.world.worker({ driver: seeingFirst([notYet]) });
    const id = await used.world.open(worker);
    expect(await worker.runner.run(id, calm)).toMatchObject({
      outcome: "failed",
      record: { failure_code: "VISIBILITY_TIMEOUT" },
    });
  });

  it("counts trouble with the reader's connection as a try and commits nothing anew", async () => {
    const { world } = used;
    const worker = await world.worker({ traits: minute, driver: seeingFirst(["DESTINATION_UNREACHABLE"]) });
    const id = await world.open(worker);
    expect(await worker.runner.run(id, calm)).toMatchObject({ outcome: "waiting", delayMs: 750 });
    await world.clock.advance(750);
    expect(await worker.runner.run(id, calm)).toMatchObject({ outcome: "ready" });
    const events = (await world.story(id)).map(({ event }) => event);
    expect(events.filter((event) => event === "committed" || event === "writing")).toEqual(["writing", "committed"]);
  });

  it("believes the revision and not the driver: a read without findings but with other rows is a mismatch", async () => {
    const { world } = used;
    const empty: Observation = { outcome: "read", rowCount: 0, controlTotals: [], physicalChecksums: [], findings: [] };
    const worker = await world.worker({ driver: seeingFirst([empty]) });
    const id = await world.open(worker);
    expect(await worker.runner.run(id, calm)).toMatchObject({
      outcome: "failed",
      record: { failure_code: "VERIFICATION_MISMATCH" },
    });
    const codes = (await world.story(id)).at(-1)?.detail["findings"];
    expect(codes).toMatchObject([
      { code: "ROW_COUNT_MISMATCH", expected: "8", actual: "0" },
      { code: "CONTROL_TOTAL_MISMATCH", column: "impressions" },
      { code: "CONTROL_TOTAL_MISMATCH", column: "spend" },
      { code: "CANONICAL_DIGEST_MISMATCH" },
    ]);
  });
});
