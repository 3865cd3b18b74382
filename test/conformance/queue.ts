import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Job, Queue } from "../../workers/queue/queue.ts";

/** A queue of its own for one test. */
export interface QueueRig {
  readonly queue: Queue;
  close(): Promise<void>;
}

/** What every queue must do, whatever carries the jobs. */
export function queueConformance(name: string, open: () => Promise<QueueRig>): void {
  describe(`queue: ${name}`, () => {
    let rig: QueueRig;
    let queue: Queue;
    beforeEach(async () => {
      rig = await open();
      queue = rig.queue;
    });
    afterEach(async () => {
      await queue.close(1_000);
      await rig.close();
    });

    it("hands a job to the handler as it was added", async () => {
      const seen = collect(queue);
      await queue.add(jobOf("a"));
      await seen.count(1);
      expect(seen.jobs).toEqual([jobOf("a")]);
    });

    it("keeps jobs that were added before anyone takes them", async () => {
      await queue.add(jobOf("a"));
      await queue.add(jobOf("b"));
      const seen = collect(queue);
      await seen.count(2);
      expect(seen.ids()).toEqual(["j_a", "j_b"]);
    });

    it("adds an id that waits already once", async () => {
      await queue.add(jobOf("a"));
      await queue.add(jobOf("a"));
      await queue.add(jobOf("b"));
      const seen = collect(queue);
      await queue.idle();
      expect(seen.ids()).toEqual(["j_a", "j_b"]);
    });

    it("adds an id that runs already once", async () => {
      const started = signal();
      const mayEnd = signal();
      const seen = collect(queue, async () => {
        started.fire();
        await mayEnd.fired;
      });
      await queue.add(jobOf("a"));
      await started.fired;
      await queue.add(jobOf("a"));
      mayEnd.fire();
      await queue.idle();
      expect(seen.ids()).toEqual(["j_a"]);
    });

    it("B72: an id that has finished can be added again and runs again", async () => {
      const seen = collect(queue);
      await queue.add(jobOf("a"));
      await queue.idle();
      await queue.add(jobOf("a"));
      await queue.idle();
      expect(seen.ids()).toEqual(["j_a", "j_a"]);
    });

    it("lets a delayed job wait while a ready one passes it", async () => {
      const seen = collect(queue);
      await queue.add(jobOf("late"), { delayMs: 100 });
      await queue.add(jobOf("now"));
      await queue.idle();
      expect(seen.ids()).toEqual(["j_now", "j_late"]);
    });

    it("gives a handler only the transports that it takes", async () => {
      const seen = collect(queue, undefined, ["local_fs", "s3"]);
      await queue.add(jobOf("a", "bigquery"));
      await queue.add(jobOf("b", "s3"));
      await queue.add(jobOf("c", "local_fs"));
      await seen.count(2);
      expect(seen.ids().sort()).toEqual(["j_b", "j_c"]);
    });

    it("runs as many handlers at once as allowed, and never more", async () => {
      const mayEnd = signal();
      const two = signal();
      let running = 0;
      let most = 0;
      const handler = async (): Promise<void> => {
        running++;
        most = Math.max(most, running);
        if (running === 2) two.fire();
        await mayEnd.fired;
        running--;
      };
      collect(queue, handler, ["local_fs"], 2);
      for (const id of ["a", "b", "c", "d", "e"]) await queue.add(jobOf(id));
      await two.fired;
      mayEnd.fire();
      await queue.idle();
      expect(most).toBe(2);
    });

    it("is idle when nothing was ever added", async () => {
      await queue.idle();
    });

    it("waits for a running handler when it closes, and starts nothing after it", async () => {
      const started = signal();
      const mayEnd = signal();
      const seen = collect(queue, async () => {
        started.fire();
        await mayEnd.fired;
      });
      await queue.add(jobOf("a"));
      await started.fired;
      await queue.add(jobOf("b"));
      const closing = queue.close(30_000).then(() => seen.finished());
      mayEnd.fire();
      expect(await closing).toEqual(["j_a"]);
      expect(seen.ids()).toEqual(["j_a"]);
    });

    it("leaves a handler that does not end behind when the deadline passes", async () => {
      const started = signal();
      const never = signal();
      collect(queue, async () => {
        started.fire();
        await never.fired;
      });
      await queue.add(jobOf("a"));
      await started.fired;
      await queue.close(10);
      never.fire();
    });

    it("takes no job once it is closed, and says so", async () => {
      await queue.close(1_000);
      await expect(queue.add(jobOf("a"))).rejects.toThrow("closed");
    });

    it("may be closed twice", async () => {
      await queue.close(1_000);
      await queue.close(1_000);
    });
  });
}

/** A job whose id has the required form. */
export function jobOf(word: string, transport = "local_fs"): Job {
  return { id: `j_${word}`, transport, materializationId: `mat ${word}` };
}

/** A promise that resolves when told to. */
export function signal(): { readonly fired: Promise<void>; fire(): void } {
  let fire = (): void => undefined;
  const fired = new Promise<void>((resolve) => {
    fire = resolve;
  });
  return { fired, fire: () => fire() };
}

interface Collected {
  readonly jobs: readonly Job[];
  ids(): string[];
  /** Ids whose handler has ended. */
  finished(): readonly string[];
  /** Resolves once so many handlers have ended. */
  count(finished: number): Promise<void>;
}

/** Takes jobs and notes them in the order in which they began. */
export function collect(
  queue: Queue,
  handler: (job: Job) => Promise<void> = async () => undefined,
  transports: readonly string[] = ["local_fs"],
  concurrency = 1,
): Collected {
  const jobs: Job[] = [];
  const finished: string[] = [];
  const waiting: { readonly count: number; resolve(): void }[] = [];
  queue.process({ transports, concurrency }, async (job) => {
    jobs.push(job);
    await handler(job);
    finished.push(job.id);
    for (const waiter of waiting) if (finished.length >= waiter.count) waiter.resolve();
  });
  return {
    jobs,
    ids: () => jobs.map((job) => job.id),
    finished: () => [...finished],
    count: (count) =>
      finished.length >= count
        ? Promise.resolve()
        : new Promise((resolve) => {
            waiting.push({ count, resolve });
          }),
  };
}
