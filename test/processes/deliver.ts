import { mkdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { systemClock } from "../../core/clock.ts";
import { destinationGeneration } from "../../core/config/generations.ts";
import { due, listMaterializations } from "../../core/ledger/queries.ts";
import { expireLeases } from "../../core/ledger/transitions.ts";
import { instantToUs } from "../../core/model/instant.ts";
import { parseDefinition } from "../../core/rows/definition.ts";
import { buildDocuments } from "../../core/rows/documents.ts";
import { createFolderRetainedStore } from "../../core/rows/folder-retained-store.ts";
import { migrate } from "../../core/store/migrate.ts";
import { openPglite } from "../../core/store/pglite.ts";
import type { Database } from "../../core/store/sql.ts";
import type { Driver } from "../../drivers/driver.ts";
import { createFileTransferDriver } from "../../drivers/file-transfer/file-transfer-driver.ts";
import { readLocalConfig } from "../../drivers/file-transfer/local/config.ts";
import { traitsOf } from "../../drivers/file-transfer/local/driver.ts";
import { nodeFileSystem } from "../../drivers/file-transfer/local/file-system.ts";
import { createLocalStore } from "../../drivers/file-transfer/local/store.ts";
import { createContentProvider } from "../../workers/delivery-content.ts";
import { createLog } from "../../workers/log.ts";
import { deliverRevision } from "../../workers/operations/deliver-revision.ts";
import { retainReport } from "../../workers/operations/retain-report.ts";
import { defaultRetryPolicy } from "../../workers/retry-policy.ts";
import { createRunner } from "../../workers/runner.ts";
import { openSpool } from "../../workers/spool.ts";
import { stopLedgerClock } from "../conformance/ledger/clock.ts";
import { type Around, aroundFileSystem, aroundStore } from "../faults/around.ts";
import { aroundDatabase, aroundRetainedStore, aroundSpoolFiles } from "../faults/around-worker.ts";

/**
 * A worker of one delivery, made to be killed. Arguments: folder, what, and for the rest what follows.
 * prepare: retains the rows (third argument) under a definition (fourth) in a ledger whose clock stands still; prints nothing.
 * run: a lease length later, takes leases of the dead back and delivers: what is due, or the revision when nothing was opened yet. With
 * `before` or `after` and n it kills itself at its n-th step. Otherwise it prints a DeliverReport as JSON.
 */
export interface DeliverReport {
  /** Calls to ledger, retained store, spool, destination and reader, in order. */
  readonly steps: readonly string[];
  /** How each run ended. */
  readonly outcomes: readonly string[];
  readonly materializations: readonly {
    readonly attempt: number;
    readonly status: string;
    readonly location?: string;
  }[];
  /** Types in the outbox. */
  readonly outbox: readonly string[];
  /** Resource types in the account's change feed. */
  readonly changes: readonly string[];
  readonly rowsAcquired: number;
}

const [folder = "", what = "", ...rest] = process.argv.slice(2);
const destination = join(folder, "buyer");
const work = join(folder, "work");
// Long enough that no renewal, which comes by the clock, is ever counted as a step.
const leaseMs = 600_000;
const operator = { operator: true } as const;
const signal = new AbortController().signal;

const binding = {
  destination_id: "buyer-folder",
  transport: "local_fs",
  hosting: "producer",
  verification_path: "producer",
  retention_days: 90,
  settings: { location: pathToFileURL(destination).href, format: "jsonl", compression: "gzip", rows_per_part: 15 },
} as const;

if (what === "prepare") await prepare(rest[0] ?? "", rest[1] ?? "");
else await run(rest[0], Number(rest[1]));

async function prepare(rows: string, definition: string): Promise<void> {
  for (const path of [destination, work]) await mkdir(path, { recursive: true });
  const db = await openPglite(join(folder, "ledger"));
  await migrate(db);
  await stopLedgerClock(db, instantToUs("2026-03-09T06:00:00Z"));
  await retainReport(
    { db, retained: createFolderRetainedStore(join(folder, "retained")), workDirectory: work, clock: systemClock },
    {
      rows: { path: rows },
      documents: buildDocuments(parseDefinition(await readFile(definition, "utf8"), "json")),
      accountId: "acct-1",
      timezone: "UTC",
      finality: "snapshot",
      signal,
    },
  );
  await db.close();
}

async function run(when: string | undefined, n: number): Promise<void> {
  const steps: string[] = [];
  const killing =
    (port: string): Around =>
    async (call, act) => {
      const here = steps.push(`${port} ${call.method} ${nameOf(call.target)}`) - 1 === n;
      if (here && when === "before") process.kill(process.pid, "SIGKILL");
      const result = await act();
      if (here && when === "after") process.kill(process.pid, "SIGKILL");
      return result;
    };

  const db = await openPglite(join(folder, "ledger"));
  await migrate(db);
  await db.query("update test_clock set now = now + $1", [BigInt(leaseMs) * 1000n]);
  await expireLeases(db);
  const ledger = aroundDatabase(db, killing("ledger"));
  const driver = createDriver(killing);
  const runner = createRunner({
    db: ledger,
    drivers: { driverOf: async () => driver, close: () => driver.close() },
    content: createContentProvider({
      retained: aroundRetainedStore(createFolderRetainedStore(join(folder, "retained")), killing("retained")),
      spool: await openSpool({ directory: join(folder, "spool"), fileSystem: aroundSpoolFiles(killing("spool")) }),
    }),
    workerId: `worker.${process.pid}`,
    leaseMs,
    policy: defaultRetryPolicy,
    log: createLog(),
  });

  const outcomes: string[] = [];
  const { items } = await listMaterializations(db, operator, {});
  if (items.length === 0) {
    const ports = { db: ledger, drivers: { driverOf: async () => driver, close: () => driver.close() }, runner };
    const [row] = await db.query<{ record: string }>("select record from revision");
    const revision = JSON.parse(row?.record ?? "");
    const { materialization } = await deliverRevision(
      { ...ports, clock: systemClock, enqueueDue: async () => 0 },
      { revision, feed: feed(), selection: "current", patienceMs: 0, signal },
    );
    outcomes.push(materialization.status);
  }
  for (const { materializationId } of await due(db, { limit: 10 })) {
    const result = await runner.run(materializationId, signal);
    outcomes.push(result.outcome === "ready" ? result.record.status : result.outcome);
  }
  process.stdout.write(JSON.stringify({ steps, outcomes, ...(await stateOf(db)) }));
  await db.close();
}

async function stateOf(db: Database): Promise<Omit<DeliverReport, "steps" | "outcomes">> {
  const { items } = await listMaterializations(db, operator, {});
  const outbox = await db.query<{ event_type: string }>("select event_type from outbox order by event_type");
  const changes = await db.query<{ resource_type: string }>(
    "select resource_type from account_change order by resource_type",
  );
  const [acquired] = await db.query<{ rows: bigint }>(
    "select sum((detail::json->>'rows_acquired')::bigint)::bigint as rows from journal",
  );
  return {
    materializations: items.map(({ attempt, status, resource }) => ({
      attempt,
      status,
      ...(resource === undefined ? {} : { location: resource.location }),
    })),
    outbox: outbox.map(({ event_type }) => event_type),
    changes: changes.map(({ resource_type }) => resource_type),
    rowsAcquired: Number(acquired?.rows),
  };
}

function createDriver(killing: (port: string) => Around): Driver {
  const { config } = readLocalConfig(binding);
  if (config === undefined) throw new Error("the destination is not valid");
  // Below the store only link(2) is a step: it is what makes a name appear.
  const fileSystem = aroundFileSystem(nodeFileSystem, (call, act) =>
    call.method === "link" ? killing("disk")(call, act) : act(),
  );
  return createFileTransferDriver({
    traits: traitsOf(config),
    settings: config,
    writer: aroundStore(createLocalStore({ root: config.root, fileSystem }), killing("writer")),
    openReader: () => aroundStore(createLocalStore({ root: config.readerRoot }), killing("reader")),
    spoolDirectory: work,
  });
}

function feed() {
  const generation = destinationGeneration(binding);
  const configuration = {
    account_id: "acct-1",
    delivery_config_id: "daily",
    delivery_config_version: 1,
    report_definition_id: "daily-ad-delivery",
    reporting_profile: "daily-ad-delivery-v1",
    feed_purpose: "analytics",
    required_finality: "snapshot",
    reconciliation_mode: "delivery_only",
    verification_profile: "canonical_digest",
    schedule: { period_duration: "P1D", alignment: "utc", delivery_sla: "PT4H" },
    destination_ref: generation.destination_ref,
    media_buy_ids: "all",
  } as const;
  return { configuration, destination: generation };
}

/** Paths and keys without the parts that differ from run to run. */
function nameOf(target: string): string {
  return /^[a-z]/.test(target) && target.includes(" ") ? target : basename(target);
}
