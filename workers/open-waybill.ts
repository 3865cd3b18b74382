import { randomBytes } from "node:crypto";
import { mkdir, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { type Clock, systemClock } from "../core/clock.ts";
import { createFolderRetainedStore } from "../core/rows/folder-retained-store.ts";
import type { RetainedStore } from "../core/rows/retained.ts";
import { migrate } from "../core/store/migrate.ts";
import { openPglite } from "../core/store/pglite.ts";
import type { Database } from "../core/store/sql.ts";
import { transportNames } from "../drivers/registry.ts";
import { type ContentOptions, createContentProvider } from "./delivery-content.ts";
import { createDispatcher } from "./dispatcher.ts";
import { createDriverPool, type DriverPool } from "./driver-pool.ts";
import { createLog, type WorkerLog } from "./log.ts";
import { createMemoryQueue } from "./queue/memory.ts";
import { defaultRetryPolicy, type RetryPolicy } from "./retry-policy.ts";
import { createRunner, type Runner } from "./runner.ts";
import { createSecretResolver } from "./secrets.ts";
import { openSpool } from "./spool.ts";
import { type Swept, sweep } from "./sweeper.ts";

export interface OpenWaybillOptions {
  /** Home of the embedded ledger, retained rows and work files. Created if missing. Default of the command line: `./.waybill`. */
  readonly directory: string;
  /** Default: environment variables of this process. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly spoolQuotaBytes?: number;
  /** Default 4: deliveries at once. */
  readonly concurrency?: number;
  /** Default 60,000. Ms. */
  readonly leaseMs?: number;
  readonly policy?: Partial<RetryPolicy>;
  readonly log?: WorkerLog;
  readonly onProgress?: ContentOptions["onProgress"];
}

/** Everything one process needs to retain, deliver and explain, on embedded parts. */
export interface Waybill {
  readonly db: Database;
  readonly retained: RetainedStore;
  readonly drivers: DriverPool;
  /** For work files of retention; removed by whoever makes them. */
  readonly workDirectory: string;
  /** Runs one materialization in the caller's turn; for commands that wait for it. */
  readonly runner: Runner;
  readonly clock: Clock;
  /** One round of the sweeper; the deliveries that it found due go on in this process until `close`. */
  sweep(): Promise<Swept>;
  /** Resolves when no delivery is queued or running here. */
  idle(): Promise<void>;
  /** Takes no new work, lets running deliveries end or give their leases back, closes the ledger. */
  close(): Promise<void>;
}

const closeDeadlineMs = 10_000;

/** Opens or creates a folder. WaybillError `usage` FOLDER_IN_USE names the process that has it open. */
export async function openWaybill(options: OpenWaybillOptions): Promise<Waybill> {
  await mkdir(options.directory, { recursive: true, mode: 0o700 });
  const db = await openPglite(join(options.directory, "ledger"));
  try {
    await migrate(db);
    return await compose(options, db);
  } catch (error) {
    await db.close();
    throw error;
  }
}

async function compose(options: OpenWaybillOptions, db: Database): Promise<Waybill> {
  const at = (name: string): string => join(options.directory, name);
  const log = options.log ?? createLog();
  const workerId = `${hostname()}.${process.pid}.${randomBytes(3).toString("hex")}`;
  const leaseMs = options.leaseMs ?? 60_000;
  // The ledger's lock says that no other process works here: whatever lies there was left by one that was killed.
  const workDirectory = at("work");
  await rm(workDirectory, { recursive: true, force: true });
  await mkdir(workDirectory, { mode: 0o700 });
  const spool = await openSpool({
    directory: at("spool"),
    ...(options.spoolQuotaBytes === undefined ? {} : { quotaBytes: options.spoolQuotaBytes }),
  });
  const retained = createFolderRetainedStore(at("retained"));
  const secret = createSecretResolver({ environment: options.environment ?? process.env });
  const drivers = createDriverPool({ spoolDirectory: workDirectory, secret });
  const onProgress = options.onProgress === undefined ? {} : { onProgress: options.onProgress };
  const content = createContentProvider({ retained, spool, ...onProgress });
  const policy = { ...defaultRetryPolicy, ...options.policy };
  const runner = createRunner({ db, drivers, content, workerId, leaseMs, policy, log });
  const queue = createMemoryQueue();
  const stopping = new AbortController();
  const dispatcher = createDispatcher({
    db,
    queue,
    runner,
    log,
    transports: transportNames,
    concurrency: options.concurrency ?? 4,
    signal: stopping.signal,
  });
  dispatcher.start();
  const sweepOnce = (): Promise<Swept> =>
    sweep({ db, drivers, dispatcher, spool, workerId, leaseMs, log }, stopping.signal);

  return {
    db,
    retained,
    drivers,
    workDirectory,
    runner,
    clock: systemClock,
    sweep: sweepOnce,
    idle: () => queue.idle(),
    async close() {
      // Running deliveries get their time first; only then are they cut off, which gives their leases back.
      await queue.close(closeDeadlineMs);
      stopping.abort(new DOMException("shutting down", "AbortError"));
      await queue.close(closeDeadlineMs);
      await drivers.close();
      await db.close();
    },
  };
}
