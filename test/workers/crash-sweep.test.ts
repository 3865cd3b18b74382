import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { expireLeases } from "../../core/ledger/transitions.ts";
import { freshPglite } from "../conformance/ledger/fresh-pglite.ts";
import { type Around, type Call, crashAt } from "../faults/around.ts";
import { deliveryWorld, leaseMs, type WorkerFaults } from "./delivery-world.ts";
import { calm } from "./use-world.ts";

const directory = await mkdtemp(join(tmpdir(), "waybill-sweep-"));
const world = await deliveryWorld(await freshPglite(), directory);
const clean = await callsOfCleanRun();

afterAll(async () => {
  await world.db.close();
  await rm(directory, { recursive: true, force: true });
});

describe("[I4] a worker that dies", () => {
  it("does so at each call to ledger, retained store, spool disk, destination and reader", () => {
    for (const port of ["ledger", "retained", "spool", "writer", "reader"]) {
      expect(clean.some(({ method }) => method.startsWith(port))).toBe(true);
    }
  });

  for (const when of ["before", "after"] as const) {
    for (const [n, { method, target }] of clean.entries()) {
      it(`${when} call ${n} (${method} ${shortOf(target)}): redelivery leaves one manifest, one end, one event`, async () => {
        const id = await world.open(await world.worker());
        const spoolDirectory = join(directory, `dead-${when}-${n}`);
        const faults = everywhere(crashAt(n, when));
        // Opening the spool makes the first of the calls: a worker that dies there never runs.
        const doomed = await world.worker({ faults, spoolDirectory, workerId: "doomed" }).catch(() => undefined);
        await doomed?.runner.run(id, calm);

        await world.clock.advance(leaseMs);
        await expireLeases(world.db);
        const next = await world.worker({ spoolDirectory, workerId: "next" });
        const { outcome } = await next.runner.run(id, calm);
        expect(["ready", "idle"]).toContain(outcome);
        await expectOneEnd(id);
        await rm(spoolDirectory, { recursive: true, force: true });
      });
    }
  }
});

describe("[I4] a worker that lives on", () => {
  for (const [n, { method, target }] of clean.entries()) {
    it(`when the reply to call ${n} (${method} ${shortOf(target)}) was lost: it leaves one manifest, one end, one event`, async () => {
      const spoolDirectory = join(directory, `lost-${n}`);
      const options = { faults: everywhere(lostReply(n)), spoolDirectory };
      const worker = await world.worker(options).catch(() => world.worker({ spoolDirectory }));
      const id = await world.open(worker);
      for (let runs = 0; runs < 4; runs++) {
        await worker.runner.run(id, calm);
        if ((await world.find(id)).phase === "done") break;
        await world.clock.advance(leaseMs);
        await expireLeases(world.db);
      }
      await expectOneEnd(id);
      await rm(spoolDirectory, { recursive: true, force: true });
    });
  }
});

/** Every port of a worker through one `around`, so that a crash at one stops them all, as a dead process would. */
function everywhere(around: Around): Required<WorkerFaults> {
  const named =
    (port: string): Around =>
    (call, act) =>
      around({ ...call, method: `${port} ${call.method}` }, act);
  return {
    ledger: named("ledger"),
    retained: named("retained"),
    spool: named("spool"),
    writer: named("writer"),
    reader: named("reader"),
  };
}

/** The n-th call takes effect and fails all the same, once. */
function lostReply(n: number): Around {
  let seen = 0;
  return async (_call, act) => {
    const here = seen++ === n;
    const result = await act();
    if (here) throw new Error("the reply was lost");
    return result;
  };
}

async function callsOfCleanRun(): Promise<readonly Call[]> {
  const calls: Call[] = [];
  const record: Around = (call, act) => {
    calls.push(call);
    return act();
  };
  const worker = await world.worker({ faults: everywhere(record), spoolDirectory: join(directory, "clean") });
  const { outcome } = await worker.runner.run(await world.open(worker), calm);
  if (outcome !== "ready") throw new Error(`the clean run ended as ${outcome}`);
  return calls;
}

/** The last name of a key or path, the first words of a statement; nothing that differs from run to run. */
function shortOf(target: string): string {
  const name = target.includes(" ") ? target.split(" ").slice(0, 2).join(" ") : (target.split("/").at(-1) ?? "");
  return /^(r_|\.tmp-|rev_|spool|clean)/.test(name) ? "..." : name;
}

async function expectOneEnd(id: string): Promise<void> {
  const { record, phase } = await world.find(id);
  expect({ status: record.status, phase }).toEqual({ status: "available", phase: "done" });
  const events = (await world.story(id)).map(({ event }) => event);
  expect(events.filter((event) => event === "available" || event === "failed")).toEqual(["available"]);
  expect(events.filter((event) => event === "committed")).toHaveLength(1);
  expect(await world.outbox(id)).toEqual(["reporting.delivery_ready"]);
  expect(await world.files(id)).toEqual([
    "SHA256SUMS",
    "canonicalization.json",
    "definition.json",
    "manifest.json",
    "part-00000.jsonl.gz",
    "part-00001.jsonl.gz",
    "part-00002.jsonl.gz",
    "revision.json",
    "row-schema.json",
  ]);
  const manifest = JSON.parse(await readFile(join(await world.folderOf(id), "manifest.json"), "utf8"));
  expect(manifest.reporting_materialization_id).toBe(id);
}
