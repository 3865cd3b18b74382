import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { type Clock, systemClock } from "../core/clock.ts";
import { WaybillError } from "../core/errors.ts";
import { expireAllLeases } from "../core/ledger/transitions.ts";
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
import type { Queue } from "./queue/queue.ts";
import { defaultRetryPolicy, type RetryPolicy } from "./retry-policy.ts";
import { createRunner, type Runner } from "./runner.ts";
import { createSecretResolver } from "./secrets.ts";
import { openSpool } from "./spool.ts";
import { type Swept, sweep } from "./sweeper.ts";
import { takeWorkFolder } from "./work-folder.ts";

export interface OpenWaybillOptions {
  /** Home of the embedded ledger, retained rows and work files. Created if missing. Default of the command line: `./.waybill`. */
  readonly directory: string;
  /** Default: the embedded ledger of `directory`, which is then this process's alone. A secret when it carries a password. */
  readonly postgresUrl?: string;
  /** Default: jobs in the memory of this process. A secret when it carries a password. */
  readonly redis?: { readonly url: string; readonly prefix?: string };
  /** Default: the folder `retained` of `directory`. */
  readonly retained?: RetainedStore;
  /** What this process delivers by itself. Default: every transport, 4 at once; false: only what `runner` is asked for. */
  readonly work?: { readonly transports?: readonly string[]; readonly concurrency?: number } | false;
  /** Default: environment variables of this process. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly spoolQuotaBytes?: number;
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
  /** Hints workers at everything that is due, over the queue. Returns how many deliveries that are. */
  enqueueDue(): Promise<number>;
  /** One round of the sweeper; the deliveries that it found due go on in this process until `close`. */
  sweep(): Promise<Swept>;
  /** Resolves when no delivery is queued or running here. */
  idle(): Promise<void>;
  /** Takes no new work, lets running deliveries end or give their leases back, closes the ledger. */
  close(): Promise<void>;
}

const closeDeadlineMs = 10_000;

/**
 * Opens everything; what was opened before a failure is closed again. WaybillError `usage` FOLDER_IN_USE names the process that has the
 * embedded ledger open; `unreachable` when PostgreSQL or Redis does not answer.
 */
export async function openWaybill(options: OpenWaybillOptions): Promise<Waybill> {
  await mkdir(options.directory, { recursive: true, mode: 0o700 });
  const opened: (() => Promise<void>)[] = [];
  try {
    return await compose(options, opened);
  } catch (error) {
    for (const close of opened.reverse()) await close();
    throw error;
  }
}

async function openLedger({ directory, postgresUrl }: OpenWaybillOptions): Promise<Database> {
  if (postgresUrl === undefined) return await openPglite(join(directory, "ledger"));
  const { openPostgres, sqlStateOf } = await import("../core/store/postgres.ts");
  const db = openPostgres({ url: postgresUrl });
  try {
    await db.query("select 1");
    return db;
  } catch (error) {
    await db.close();
    // SQLSTATE class 28 is a refused sign-in, 3D000 a database that does not exist: waiting will not mend either.
    const refused = /^(28|3D)/.test(sqlStateOf(error) ?? "");
    const message = refused
      ? "ledger.postgres.url: PostgreSQL refused the user, the password or the name of the database"
      : "ledger.postgres.url: PostgreSQL does not answer; check that it runs and that host and port are right";
    const problem = { code: refused ? "LEDGER_REFUSED" : "LEDGER_UNREACHABLE", field: "ledger.postgres.url", message };
    throw new WaybillError(refused ? "usage" : "unreachable", [problem], { cause: error });
  }
}

async function openQueue({ redis }: OpenWaybillOptions, log: WorkerLog): Promise<Queue> {
  if (redis === undefined) return createMemoryQueue();
  const { checkRedis, createBullmqQueue } = await import("./queue/bullmq.ts");
  const queueOptions = { ...redis, onTrouble: (code: string) => log.info("queue trouble", { code }) };
  await checkRedis(queueOptions);
  return createBullmqQueue(queueOptions);
}

async function compose(options: OpenWaybillOptions, opened: (() => Promise<void>)[]): Promise<Waybill> {
  const at = (name: string): string => join(options.directory, name);
  const log = options.log ?? createLog();
  const workerId = `${hostname()}.${process.pid}.${randomBytes(3).toString("hex")}`;
  const leaseMs = options.leaseMs ?? 60_000;
  const db = await openLedger(options);
  opened.push(() => db.close());
  await migrate(db);
  // The embedded ledger's lock says that no other process works here: whoever still has a lease was killed.
  if (options.postgresUrl === undefined) await expireAllLeases(db);
  const folder = await takeWorkFolder(at("work"));
  opened.push(() => folder.release());
  const workDirectory = folder.scratch;
  const spool = await openSpool({
    directory: folder.spool,
    ...(options.spoolQuotaBytes === undefined ? {} : { quotaBytes: options.spoolQuotaBytes }),
  });
  const retained = options.retained ?? createFolderRetainedStore(at("retained"));
  const secret = createSecretResolver({ environment: options.environment ?? process.env });
  const drivers = createDriverPool({ spoolDirectory: workDirectory, secret });
  opened.push(() => drivers.close());
  const onProgress = options.onProgress === undefined ? {} : { onProgress: options.onProgress };
  const content = createContentProvider({ retained, spool, ...onProgress });
  const policy = { ...defaultRetryPolicy, ...options.policy };
  const runner = createRunner({ db, drivers, content, workerId, leaseMs, policy, log });
  const queue = await openQueue(options, log);
  opened.push(() => queue.close(0));
  const stopping = new AbortController();
  const work = options.work === false ? undefined : (options.work ?? {});
  const dispatcher = createDispatcher({
    db,
    queue,
    runner,
    log,
    transports: work?.transports ?? transportNames,
    concurrency: work?.concurrency ?? 4,
    signal: stopping.signal,
  });
  if (work !== undefined) dispatcher.start();
  const sweepOnce = (): Promise<Swept> =>
    sweep({ db, drivers, dispatcher, spool, workerId, leaseMs, log }, stopping.signal);

  return {
    db,
    retained,
    drivers,
    workDirectory,
    runner,
    clock: systemClock,
    enqueueDue: () => dispatcher.enqueueDue(),
    sweep: sweepOnce,
    idle: () => queue.idle(),
    async close() {
      // Running deliveries get their time first; only then are they cut off, which gives their leases back.
      await queue.close(closeDeadlineMs);
      stopping.abort(new DOMException("shutting down", "AbortError"));
      const settled = new AbortController();
      await Promise.race([dispatcher.settled(), systemClock.sleep(closeDeadlineMs, settled.signal)]);
      settled.abort();
      await drivers.close();
      await folder.release();
      await db.close();
    },
  };
}
