import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DeliveryError } from "../../core/errors.ts";
import { expireLeases } from "../../core/ledger/transitions.ts";
import { createLocalStore } from "../../drivers/file-transfer/local/store.ts";
import { explain } from "../../workers/operations/explain.ts";
import { type Around, type Call, crashAt, failWhere, recordCalls } from "../faults/around.ts";
import { overwriting } from "../faults/overwriting.ts";
import { leaseMs } from "./delivery-world.ts";
import { calm, useWorld } from "./use-world.ts";

const probe = "waybill-probe/";
const isPut = ({ method }: Call): boolean => method === "putIfAbsent";
const ofDelivery = (calls: readonly Call[]): readonly string[] =>
  calls.filter((call) => isPut(call) && !call.target.startsWith(probe)).map(({ target }) => target);
const ofProbe = (calls: readonly Call[]): readonly Call[] => calls.filter(({ target }) => target.startsWith(probe));
/** Each `around` stands outside the ones after it. */
const both =
  (outer: Around, inner: Around): Around =>
  (call, act) =>
    outer(call, () => inner(call, act));

describe("a destination that overwrites what it was told to create", () => {
  const used = useWorld();
  const destination = () => join(used.directory, "buyer");

  it("gets no delivery at any attempt, is tested anew each time, and the story says what to do", async () => {
    const { world } = used;
    const { calls, around } = recordCalls();
    const writer = both(around, overwriting(createLocalStore({ root: destination() })));
    const unsafe = await world.worker({ proves: true, faults: { writer } });
    for (let round = 0; round < 2; round++) {
      const before = calls.length;
      const id = await world.open(unsafe);
      const result = await unsafe.runner.run(id, calm);
      expect(result).toMatchObject({ outcome: "failed", record: { failure_code: "DESTINATION_UNSAFE" } });
      expect(ofProbe(calls.slice(before)).length).toBeGreaterThan(0);
      expect(ofDelivery(calls)).toEqual([]);
      expect(await readdir(destination())).toEqual([]);
      expect(await world.outbox(id)).toEqual([]);
      expect((await world.story(id)).map(({ event }) => event)).toEqual([
        "opened",
        "claimed",
        "destination_refused",
        "failed",
      ]);
      const told = (await explain(world.db, { operator: true }, id)).story.map(({ text }) => text).join("\n");
      expect(told).toMatch(/put to the test and refused \(DESTINATION_UNSAFE\).*create only fail \(deliver to another/);
    }
  });

  it("gets deliveries once it keeps its promise, and is then tested only once", async () => {
    const { world } = used;
    const { calls, around } = recordCalls();
    const worker = await world.worker({ proves: true, faults: { writer: around } });
    const id = await world.open(worker);
    expect(await worker.runner.run(id, calm)).toMatchObject({ outcome: "ready" });
    expect((await world.story(id)).map(({ event }) => event)).toContain("destination_proved");
    const told = (await explain(world.db, { operator: true }, id)).story.map(({ text }) => text).join("\n");
    expect(told).toContain("passed: write, read back, create only, checksum, clean up");
    const firstPut = calls.findIndex((call) => isPut(call) && !call.target.startsWith(probe));
    expect(calls.slice(firstPut).filter(({ target }) => target.startsWith(probe))).toEqual([]);

    const before = calls.length;
    const second = await world.open(worker);
    expect(await worker.runner.run(second, calm)).toMatchObject({ outcome: "ready" });
    expect(ofProbe(calls.slice(before))).toEqual([]);
    expect((await world.story(second)).map(({ event }) => event)).not.toContain("destination_proved");
  });
});

describe("the test of a destination that a worker does not live to finish", () => {
  const used = useWorld();

  it("is made again by the next worker, and only then is anything delivered", async () => {
    const { world } = used;
    const id = await world.open(await world.worker({ proves: true }));
    const recorder = recordCalls();
    for (let n = 0; n < 3; n++) {
      const writer = both(recorder.around, crashAt(n, "after"));
      const doomed = await world.worker({ proves: true, faults: { writer }, policy: { baseDelayMs: 0 } });
      await doomed.runner.run(id, calm);
      await world.clock.advance(leaseMs);
      await expireLeases(world.db);
    }
    expect(ofDelivery(recorder.calls)).toEqual([]);
    const next = await world.worker({ proves: true });
    expect(await next.runner.run(id, calm)).toMatchObject({ outcome: "ready" });
    expect((await world.story(id)).map(({ event }) => event)).toContain("destination_proved");
  });
});

describe("a destination that says nothing about itself", () => {
  const used = useWorld();

  it("is asked again later when it does not answer, and nothing is recorded about it", async () => {
    const { world } = used;
    const writer = failWhere(isPut);
    const worker = await world.worker({ proves: true, faults: { writer } });
    const id = await world.open(worker);
    expect(await worker.runner.run(id, calm)).toMatchObject({ outcome: "waiting" });
    expect(await world.db.query("select 1 from destination_proof")).toEqual([]);
    await world.clock.advance(1000);
    expect(await worker.runner.run(id, calm)).toMatchObject({ outcome: "ready" });
  });
});

describe("a reader that is refused, or sees nothing yet", () => {
  const used = useWorld();
  const reading = ({ method }: Call): boolean => method === "stat" || method === "open";

  it("ends the attempt as READER_FORBIDDEN with nothing delivered", async () => {
    const { world } = used;
    const { calls, around } = recordCalls();
    const error = () => new DeliveryError("DESTINATION_FORBIDDEN");
    const reader = failWhere(reading, { error });
    const worker = await world.worker({ proves: true, faults: { writer: around, reader } });
    const id = await world.open(worker);
    const result = await worker.runner.run(id, calm);
    expect(result).toMatchObject({ outcome: "failed", record: { failure_code: "READER_FORBIDDEN" } });
    expect(ofDelivery(calls)).toEqual([]);
  });

  it("is waited for when it sees nothing yet, as a mount may be slow", async () => {
    const { world } = used;
    let blind = true;
    const reader: Around = async <T>(call: Call, act: () => Promise<T>): Promise<T> =>
      blind && reading(call) ? (undefined as T) : await act();
    const worker = await world.worker({ proves: true, faults: { reader } });
    const id = await world.open(worker);
    expect(await worker.runner.run(id, calm)).toMatchObject({ outcome: "waiting" });
    blind = false;
    await world.clock.advance(1000);
    expect(await worker.runner.run(id, calm)).toMatchObject({ outcome: "ready" });
  });
});
