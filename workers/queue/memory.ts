import type { Job, Queue } from "./queue.ts";

/** Jobs in this process; lost with it, which the ledger's due list makes good. */
export function createMemoryQueue(): Queue {
  const waiting: Job[] = [];
  const delayed = new Map<string, NodeJS.Timeout>();
  const known = new Set<string>();
  const running = new Set<Promise<void>>();
  const idleWaiters: (() => void)[] = [];
  let consumer:
    | {
        readonly transports: ReadonlySet<string>;
        readonly concurrency: number;
        readonly handler: (job: Job) => Promise<void>;
      }
    | undefined;
  let closed = false;

  function start(): void {
    while (consumer !== undefined && !closed && running.size < consumer.concurrency) {
      const { transports, handler } = consumer;
      const index = waiting.findIndex((job) => transports.has(job.transport));
      const [job] = index < 0 ? [] : waiting.splice(index, 1);
      if (job === undefined) break;
      const run = handler(job).finally(() => {
        known.delete(job.id);
        running.delete(run);
        start();
        tellIdle();
      });
      running.add(run);
    }
  }

  function tellIdle(): void {
    if (known.size > 0) return;
    for (const resolve of idleWaiters.splice(0)) resolve();
  }

  return {
    async add(job, options = {}) {
      if (closed) throw new Error("the queue is closed");
      if (known.has(job.id)) return;
      known.add(job.id);
      const ready = (): void => {
        delayed.delete(job.id);
        waiting.push(job);
        start();
      };
      const delayMs = options.delayMs ?? 0;
      if (delayMs > 0) delayed.set(job.id, setTimeout(ready, delayMs));
      else ready();
    },
    process({ transports, concurrency }, handler) {
      if (consumer !== undefined) throw new Error("the queue has a handler already");
      consumer = { transports: new Set(transports), concurrency, handler };
      start();
    },
    idle: () =>
      known.size === 0
        ? Promise.resolve()
        : new Promise((resolve) => {
            idleWaiters.push(resolve);
          }),
    async close(deadlineMs) {
      closed = true;
      for (const timer of delayed.values()) clearTimeout(timer);
      for (const id of delayed.keys()) known.delete(id);
      for (const job of waiting.splice(0)) known.delete(job.id);
      delayed.clear();
      let timer: NodeJS.Timeout | undefined;
      const deadline = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, deadlineMs);
      });
      await Promise.race([Promise.allSettled(running), deadline]);
      clearTimeout(timer);
      tellIdle();
    },
  };
}
