import { Queue as BullQueue, Worker } from "bullmq";
import { Redis } from "ioredis";
import { WaybillError } from "../../core/errors.ts";
import type { Queue } from "./queue.ts";

export interface BullmqQueueOptions {
  /** `redis://…` or `rediss://…`; a secret when it carries a password. */
  readonly url: string;
  /** Keeps several installations apart on one Redis. Default: `waybill`. */
  readonly prefix?: string;
  /** How long a job may go without its lock being renewed before another worker takes it. Ms. Default: 60,000. */
  readonly lockMs?: number;
  /** How long adding may wait for Redis. Ms. Default: 5,000. The ledger already has the work, so failing is cheap. */
  readonly addTimeoutMs?: number;
  /** Told of trouble with Redis, as a code without addresses; work goes on from the ledger. */
  readonly onTrouble: (code: "REDIS_ERROR" | "REDIS_POLICY_UNKNOWN") => void;
}

interface JobData {
  readonly materializationId: string;
}

/**
 * Jobs over Redis, one BullMQ queue per wire transport, so that sellers run a pool per cloud. Finished jobs are removed, so an id can
 * be used again. A lock lost under load runs a job twice; the ledger's fencing decides which run counts.
 */
export function createBullmqQueue(options: BullmqQueueOptions): Queue {
  const prefix = options.prefix ?? "waybill";
  const lockMs = options.lockMs ?? 60_000;
  const queues = new Map<string, BullQueue<JobData>>();
  const workers: Worker<JobData>[] = [];
  let closing = false;
  // Adding must fail fast while Redis is away instead of waiting in memory; working must wait for it to come back.
  const adding = connect({ enableOfflineQueue: false, maxRetriesPerRequest: 1 });
  const working = connect({ maxRetriesPerRequest: null });

  return {
    async add(job, addOptions = {}) {
      if (closing) throw new Error("the queue is closed");
      const data = { materializationId: job.materializationId };
      const delay = addOptions.delayMs ?? 0;
      const added = queueOf(job.transport).add("deliver", data, {
        jobId: job.id,
        removeOnComplete: true,
        removeOnFail: true,
        attempts: 1,
        ...(delay > 0 && { delay }),
      });
      await within(options.addTimeoutMs ?? 5_000, added);
    },

    process({ transports, concurrency }, handler) {
      for (const transport of transports) {
        const run = (job: { readonly id?: string | undefined; readonly data: JobData }): Promise<void> =>
          handler({ id: job.id ?? "", transport, materializationId: job.data.materializationId });
        const worker = new Worker<JobData>(nameOf(transport), run, {
          connection: working,
          prefix,
          concurrency,
          lockDuration: lockMs,
          // A stalled job is run again as often as it takes: the ledger counts tries, not Redis.
          maxStalledCount: Number.MAX_SAFE_INTEGER,
        });
        worker.on("error", () => options.onTrouble("REDIS_ERROR"));
        workers.push(worker);
      }
    },

    async idle() {
      for (;;) {
        const counts = await Promise.all(
          [...queues.values()].map((queue) => queue.getJobCounts("active", "waiting", "delayed", "prioritized")),
        );
        if (counts.every((count) => Object.values(count).every((value) => value === 0))) return;
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
    },

    async close(deadlineMs) {
      closing = true;
      const closed = Promise.all(workers.map((worker) => worker.close()));
      const graceful = await within(deadlineMs, closed).then(
        () => true,
        () => false,
      );
      // Past the deadline running handlers are left to their aborted signals; their leases expire or are released.
      if (!graceful)
        await within(1_000, Promise.all(workers.map((worker) => worker.close(true)))).catch(() => undefined);
      await within(1_000, Promise.all([...queues.values()].map((queue) => queue.close()))).catch(() => undefined);
      adding.disconnect();
      working.disconnect();
    },
  };

  function queueOf(transport: string): BullQueue<JobData> {
    let queue = queues.get(transport);
    if (queue === undefined) {
      queue = new BullQueue<JobData>(nameOf(transport), { connection: adding, prefix });
      queue.on("error", () => options.onTrouble("REDIS_ERROR"));
      queues.set(transport, queue);
    }
    return queue;
  }

  function connect(settings: {
    readonly enableOfflineQueue?: boolean;
    readonly maxRetriesPerRequest: number | null;
  }): Redis {
    const connection = new Redis(options.url, { connectTimeout: 5_000, ...settings });
    connection.on("error", () => options.onTrouble("REDIS_ERROR"));
    return connection;
  }
}

/**
 * Refuses a Redis that may evict keys: locks and jobs would vanish under memory pressure. Where CONFIG is forbidden (managed Redis) the
 * policy cannot be seen, which is reported through `onTrouble`. Throws WaybillError `usage` or, when nothing answers, `unreachable`.
 */
export async function checkRedis(options: BullmqQueueOptions): Promise<void> {
  const connection = new Redis(options.url, {
    lazyConnect: true,
    connectTimeout: 5_000,
    maxRetriesPerRequest: 1,
    retryStrategy: () => null,
  });
  connection.on("error", () => undefined);
  try {
    await connection.connect();
  } catch (error) {
    const message =
      "queue.redis.url: Redis does not answer; check that it runs and that host, port and password are right";
    throw new WaybillError("unreachable", [{ code: "REDIS_UNREACHABLE", field: "queue.redis.url", message }], {
      cause: error,
    });
  }
  try {
    const answer = await connection.config("GET", "maxmemory-policy").catch(() => undefined);
    const policy = Array.isArray(answer) ? answer[1] : undefined;
    if (policy === undefined) options.onTrouble("REDIS_POLICY_UNKNOWN");
    else if (policy !== "noeviction") {
      const message =
        "queue.redis.url: Redis must run with maxmemory-policy noeviction; with any other it may drop jobs and locks";
      throw new WaybillError("usage", [
        { code: "REDIS_EVICTS", field: "queue.redis.url", message, limit: "noeviction" },
      ]);
    }
  } finally {
    connection.disconnect();
  }
}

function nameOf(transport: string): string {
  return `deliver-${transport}`;
}

async function within<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("timed out")), milliseconds);
  });
  // The loser of the race may still fail later; nobody is left to hear it.
  work.catch(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
