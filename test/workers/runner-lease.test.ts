import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { claim } from "../../core/ledger/transitions.ts";
import type { Driver } from "../../drivers/driver.ts";
import { type Call, recordCalls } from "../faults/around.ts";
import { leaseMs } from "./delivery-world.ts";
import { calm, useWorld } from "./use-world.ts";

/** A promise that is resolved from outside. */
function signalled<T>() {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** A driver that stands still in one method until it is let go, and says when it got there. */
function pausing(method: "write" | "commit" | "probe") {
  const arrived = signalled<AbortSignal>();
  const go = signalled<void>();
  const pause = async (signal: AbortSignal): Promise<void> => {
    arrived.resolve(signal);
    await go.promise;
  };
  const driver = (made: Driver): Driver => ({
    ...made,
    async write(...parameters) {
      const staged = await made.write(...parameters);
      if (method === "write") await pause(parameters[2].signal);
      return staged;
    },
    async commit(...parameters) {
      if (method === "commit") await pause(parameters[2].signal);
      return await made.commit(...parameters);
    },
    async probe(...parameters) {
      const seen = await made.probe(...parameters);
      if (method === "probe") await pause(parameters[3].signal);
      return seen;
    },
  });
  return { driver, arrived: arrived.promise, go: () => go.resolve() };
}

/** A driver that reads until it is aborted. */
function hanging() {
  const arrived = signalled<void>();
  const driver = (made: Driver): Driver => ({
    ...made,
    probe: (_plan, _commit, _profile, { signal }) => {
      arrived.resolve();
      return new Promise((_, reject) => {
        if (signal.aborted) reject(signal.reason);
        signal.addEventListener("abort", () => reject(signal.reason));
      });
    },
  });
  return { driver, arrived: arrived.promise };
}

const isPut = ({ method }: Call): boolean => method === "putIfAbsent";

describe("[I8] two runners and one materialization", () => {
  const used = useWorld();

  it("that start together: one delivers, the other finds nothing to do", async () => {
    const { world, directory } = used;
    const first = await world.worker({ workerId: "a" });
    const second = await world.worker({ workerId: "b", spoolDirectory: `${directory}/spool-b` });
    const id = await world.open(first);
    const results = await Promise.all([first.runner.run(id, calm), second.runner.run(id, calm)]);
    expect(results.map(({ outcome }) => outcome).sort()).toEqual(["idle", "ready"]);
    expect(await world.outbox(id)).toEqual(["reporting.delivery_ready"]);
  });

  it.each(["write", "commit", "probe"] as const)(
    "[I7] B43 B69: one that slept through its lease in %s changes nothing after the other has finished",
    async (method) => {
      const { world, directory } = used;
      const { driver, arrived, go } = pausing(method);
      const slow = await world.worker({ workerId: "slow", driver });
      const fast = await world.worker({ workerId: "fast", spoolDirectory: `${directory}/spool-fast` });
      const id = await world.open(slow);
      const slept = slow.runner.run(id, calm);
      await arrived;
      await world.clock.advance(leaseMs);
      expect(await fast.runner.run(id, calm)).toMatchObject({ outcome: "ready" });
      const story = await world.story(id);
      const { record } = await world.find(id);
      go();
      expect(await slept).toEqual({ outcome: "lost" });
      expect(await world.story(id)).toEqual(story);
      expect((await world.find(id)).record).toEqual(record);
      expect(await world.outbox(id)).toEqual(["reporting.delivery_ready"]);
      expect((await world.files(id)).filter((name) => name.startsWith("manifest"))).toEqual(["manifest.json"]);
    },
  );

  it("that both write, each believing it may: the same bytes under the same names, one commit", async () => {
    const { world, directory } = used;
    const a = pausing("write");
    const slow = await world.worker({ workerId: "slow", driver: a.driver });
    const id = await world.open(slow);
    const slept = slow.runner.run(id, calm);
    await a.arrived;
    await world.clock.advance(leaseMs);
    const b = pausing("commit");
    const fast = await world.worker({ workerId: "fast", driver: b.driver, spoolDirectory: `${directory}/spool-both` });
    const running = fast.runner.run(id, calm);
    await b.arrived;
    a.go();
    expect(await slept).toEqual({ outcome: "lost" });
    b.go();
    expect(await running).toMatchObject({ outcome: "ready" });
  });
});

describe("[I7] a lost lease", () => {
  const used = useWorld();
  // Only what the lease keeper goes by: time stands still for it until a test moves it.
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("aborts what the driver is doing and changes nothing", async () => {
    const { world } = used;
    const { driver, arrived } = hanging();
    const worker = await world.worker({ driver });
    const id = await world.open(worker);
    const running = worker.runner.run(id, calm);
    await arrived;
    await world.clock.advance(leaseMs);
    const other = await claim(world.db, { materializationId: id, workerId: "other", leaseMs });
    const story = await world.story(id);
    await vi.advanceTimersByTimeAsync(leaseMs / 3);
    expect(await running).toEqual({ outcome: "lost" });
    expect(other).toBeDefined();
    expect(await world.story(id)).toEqual(story);
  });

  it("is renewed while work goes on, also past its first length", async () => {
    const { world } = used;
    const { driver, arrived, go } = pausing("probe");
    const worker = await world.worker({ driver });
    const id = await world.open(worker);
    const running = worker.runner.run(id, calm);
    await arrived;
    for (let n = 0; n < 7; n++) {
      await vi.advanceTimersByTimeAsync(leaseMs / 3);
      // One connection: this waits until the renewal was answered.
      await world.clock.advance(leaseMs / 3);
    }
    go();
    expect(await running).toMatchObject({ outcome: "ready" });
  });

  it("is kept while a run that took too long is cut off, which counts as a try against the destination", async () => {
    const { world } = used;
    const { driver, arrived } = hanging();
    const worker = await world.worker({ driver, maxRunMs: leaseMs / 2 });
    const id = await world.open(worker);
    const running = worker.runner.run(id, calm);
    await arrived;
    await vi.advanceTimersByTimeAsync(leaseMs);
    expect(await running).toMatchObject({ outcome: "waiting" });
    expect((await world.story(id)).at(-1)).toMatchObject({
      event: "retry_scheduled",
      detail: { code: "DESTINATION_UNREACHABLE" },
    });
  });
});

describe("a run that is cut off", () => {
  const used = useWorld();

  it("by shutting down gives its lease back at once and uses up no try", async () => {
    const { world } = used;
    const { driver, arrived } = hanging();
    const stopping = new AbortController();
    const worker = await world.worker({ driver });
    const id = await world.open(worker);
    const running = worker.runner.run(id, stopping.signal);
    await arrived;
    stopping.abort(new DOMException("shutting down", "AbortError"));
    expect(await running).toMatchObject({ outcome: "waiting", delayMs: 0 });
    expect(await world.find(id)).toMatchObject({ phase: "committed", tries: 0 });
    expect((await world.story(id)).at(-1)).toMatchObject({ event: "interrupted" });
    const next = await world.worker();
    expect(await next.runner.run(id, calm)).toMatchObject({ outcome: "ready" });
    expect(await world.outbox(id)).toEqual(["reporting.delivery_ready"]);
  });

  it("while it writes leaves no manifest", async () => {
    const { world } = used;
    const { driver, arrived, go } = pausing("write");
    const stopping = new AbortController();
    const { calls, around } = recordCalls();
    const worker = await world.worker({ driver, faults: { writer: around } });
    const id = await world.open(worker);
    const running = worker.runner.run(id, stopping.signal);
    await arrived;
    stopping.abort(new DOMException("shutting down", "AbortError"));
    go();
    expect(await running).toMatchObject({ outcome: "waiting" });
    expect(await world.files(id)).not.toContain("manifest.json");
    const written = calls.filter(isPut).length;
    const next = await world.worker({ faults: { writer: around } });
    expect(await next.runner.run(id, calm)).toMatchObject({ outcome: "ready" });
    expect(calls.filter(isPut).length).toBeGreaterThan(written);
  });

  it("before it began takes no lease", async () => {
    const { world } = used;
    const worker = await world.worker();
    const id = await world.open(worker);
    expect(await worker.runner.run(id, AbortSignal.abort())).toEqual({ outcome: "idle" });
    expect((await world.story(id)).map(({ event }) => event)).toEqual(["opened"]);
  });
});
