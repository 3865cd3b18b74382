import { createHash } from "node:crypto";
import { due, ledgerNow } from "../core/ledger/queries.ts";
import type { Database } from "../core/store/sql.ts";
import type { WorkerLog } from "./log.ts";
import type { Job, Queue } from "./queue/queue.ts";
import type { Runner, RunResult } from "./runner.ts";

export interface DispatcherOptions {
  readonly db: Database;
  readonly queue: Queue;
  readonly runner: Runner;
  readonly log: WorkerLog;
  /** Wire words this worker takes work for. */
  readonly transports: readonly string[];
  /** Deliveries at once. */
  readonly concurrency: number;
  readonly signal: AbortSignal;
}

/** Connects the ledger's due list with the queue's slots. */
export interface Dispatcher {
  /** Starts taking jobs. */
  start(): void;
  /** Adds every materialization that is due to the queue; what waits there already is added once. Returns how many were due. */
  enqueueDue(): Promise<number>;
  /** Resolves when the runs that are under way here have ended, also those that a queue which was closed no longer waits for. */
  settled(): Promise<void>;
}

/** The queue may lose everything: `enqueueDue` brings it back from the ledger. */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { db, queue, runner, log, transports } = options;
  const running = new Set<Promise<void>>();

  async function add(transport: string, materializationId: string, nextRunAtUs: bigint, delayMs = 0): Promise<void> {
    const job = { id: jobId(materializationId, nextRunAtUs), transport, materializationId };
    // A hint that could not be given is not lost work: the ledger still has it.
    await queue
      .add(job, { delayMs })
      .catch((error) => log.error("enqueue failed", error, { materialization: materializationId }));
  }

  async function follow(result: RunResult, materializationId: string): Promise<void> {
    if (options.signal.aborted) return;
    if (result.outcome === "waiting")
      await add(result.transport, materializationId, result.nextRunAtUs, result.delayMs);
    if (result.outcome === "failed" && result.reattempt !== undefined) {
      const { transport = "", reporting_materialization_id } = result.reattempt;
      await add(transport, reporting_materialization_id, await ledgerNow(db).catch(() => 0n));
    }
  }

  async function work(job: Job): Promise<void> {
    const result = await runner.run(job.materializationId, options.signal);
    await follow(result, job.materializationId);
  }

  return {
    start() {
      queue.process({ transports, concurrency: options.concurrency }, async (job) => {
        const run = work(job);
        running.add(run);
        await run.finally(() => running.delete(run));
      });
    },
    async enqueueDue() {
      const found = await due(db, { transports, limit: 1_000 });
      for (const { transport, materializationId, nextRunAtUs } of found)
        await add(transport, materializationId, nextRunAtUs);
      return found.length;
    },
    async settled() {
      await Promise.allSettled(running);
    },
  };
}

/** Equal work has an equal id; the next schedule of the same materialization has another, so that a finished id never swallows it. */
export function jobId(materializationId: string, nextRunAtUs: bigint): string {
  return `j_${createHash("sha256").update(`${materializationId}\n${nextRunAtUs}`).digest("hex").slice(0, 32)}`;
}
