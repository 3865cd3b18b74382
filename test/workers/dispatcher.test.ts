import { describe, expect, it } from "vitest";
import { createDispatcher, jobId } from "../../workers/dispatcher.ts";
import { silentLog } from "../../workers/log.ts";
import { createMemoryQueue } from "../../workers/queue/memory.ts";
import type { Job, Queue } from "../../workers/queue/queue.ts";
import { type Call, failWhere } from "../faults/around.ts";
import type { Worker } from "./delivery-world.ts";
import { calm, useWorld } from "./use-world.ts";

const isPut = ({ method }: Call): boolean => method === "putIfAbsent";

describe("the dispatcher", () => {
  const used = useWorld();

  function dispatch(worker: Worker, queue: Queue, signal = calm) {
    const { db } = used.world;
    const transports = ["local_fs"];
    return createDispatcher({ db, queue, runner: worker.runner, log: silentLog, transports, concurrency: 2, signal });
  }

  it("[I18] queues all that is due, once, and runs it to its end", async () => {
    const { world } = used;
    const worker = await world.worker();
    const ids = [await world.open(worker), await world.open(worker), await world.open(worker)];
    const queue = createMemoryQueue();
    const dispatcher = dispatch(worker, queue);
    expect(await dispatcher.enqueueDue()).toBe(3);
    expect(await dispatcher.enqueueDue()).toBe(3);
    dispatcher.start();
    await queue.idle();
    for (const id of ids) {
      expect((await world.find(id)).record.status).toBe("available");
      expect((await world.story(id)).filter(({ event }) => event === "claimed")).toHaveLength(1);
    }
    expect(await dispatcher.enqueueDue()).toBe(0);
    await queue.close(0);
  });

  it("[I18] a queue that loses everything loses no delivery", async () => {
    const { world } = used;
    const worker = await world.worker();
    const id = await world.open(worker);
    const lossy = createMemoryQueue();
    await dispatch(worker, lossy).enqueueDue();
    await lossy.close(0);
    const queue = createMemoryQueue();
    const dispatcher = dispatch(worker, queue);
    await dispatcher.enqueueDue();
    dispatcher.start();
    await queue.idle();
    expect((await world.find(id)).record.status).toBe("available");
    await queue.close(0);
  });

  it("a queue that cannot be reached does not fail the ledger's side", async () => {
    const { world } = used;
    const worker = await world.worker();
    const id = await world.open(worker);
    const queue: Queue = { ...createMemoryQueue(), add: () => Promise.reject(new Error("no connection")) };
    expect(await dispatch(worker, queue).enqueueDue()).toBe(1);
    expect((await world.find(id)).record.status).toBe("pending");
    await worker.runner.run(id, calm);
  });

  it("hands the next run over with its delay, under another id", async () => {
    const { world } = used;
    const worker = await world.worker({ faults: { writer: failWhere(isPut) } });
    const id = await world.open(worker);
    const added: { job: Job; delayMs: number | undefined }[] = [];
    const memory = createMemoryQueue();
    const queue: Queue = {
      ...memory,
      add: async (job, options) => {
        added.push({ job, delayMs: options?.delayMs });
        if (added.length === 1) await memory.add(job, options);
      },
    };
    const dispatcher = dispatch(worker, queue);
    dispatcher.start();
    await dispatcher.enqueueDue();
    await queue.idle();
    const { nextRunAtUs } = await world.find(id);
    expect(added.map(({ delayMs }) => delayMs)).toEqual([0, 750]);
    expect(added[1]?.job).toEqual({ id: jobId(id, nextRunAtUs), transport: "local_fs", materializationId: id });
    expect(added[0]?.job.id).not.toBe(added[1]?.job.id);
    await queue.close(0);
    await world.clock.advance(750);
    await worker.runner.run(id, calm);
  });

  it("goes on with the attempt that follows one", async () => {
    const { world, directory } = used;
    const first = await world.worker({ faults: { writer: failWhere(isPut) } });
    const id = await world.open(first);
    const worker = await world.worker({ fingerprint: "another encoder", spoolDirectory: `${directory}/spool-2` });
    const queue = createMemoryQueue();
    const dispatcher = dispatch(worker, queue);
    dispatcher.start();
    await dispatcher.enqueueDue();
    await queue.idle();
    expect((await world.find(id)).record.failure_code).toBe("ENCODER_CHANGED");
    const [next] = await world.db.query<{ status: string }>(
      `select b.status from materialization a join materialization b using (reporting_obligation_id)
       where a.reporting_materialization_id = $1 and b.attempt = 2`,
      [id],
    );
    expect(next?.status).toBe("available");
    await queue.close(0);
  });

  it("settles only when the runs under way have ended, although the queue gave up on them", async () => {
    const { world } = used;
    const stopping = new AbortController();
    let began: () => void = () => undefined;
    const reading = new Promise<void>((resolve) => {
      began = resolve;
    });
    const worker = await world.worker({
      driver: (driver) => ({
        ...driver,
        probe: (_plan, _commit, _profile, { signal }) => {
          began();
          return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
        },
      }),
    });
    const id = await world.open(worker);
    const queue = createMemoryQueue();
    const dispatcher = dispatch(worker, queue, stopping.signal);
    dispatcher.start();
    await dispatcher.enqueueDue();
    await reading;
    await queue.close(0);
    stopping.abort(new DOMException("shutting down", "AbortError"));
    await dispatcher.settled();
    expect((await world.story(id)).at(-1)?.event).toBe("interrupted");
    const next = await world.worker();
    expect(await next.runner.run(id, calm)).toMatchObject({ outcome: "ready" });
  });
});
