import { randomUUID } from "node:crypto";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { DestinationConfig } from "../../core/config/config.ts";
import { destinationGeneration } from "../../core/config/generations.ts";
import type { ConfigurationGeneration, MaterializationWork } from "../../core/ledger/ledger-records.ts";
import { findMaterialization, journalOf } from "../../core/ledger/queries.ts";
import { openMaterialization } from "../../core/ledger/transitions.ts";
import { instantToUs } from "../../core/model/instant.ts";
import type { Revision } from "../../core/model/records.ts";
import { checkDefinition } from "../../core/rows/definition.ts";
import { buildDocuments } from "../../core/rows/documents.ts";
import { createFolderRetainedStore } from "../../core/rows/folder-retained-store.ts";
import type { RetainedStore } from "../../core/rows/retained.ts";
import type { Database } from "../../core/store/sql.ts";
import type { Driver, DriverTraits } from "../../drivers/driver.ts";
import { createFileTransferDriver } from "../../drivers/file-transfer/file-transfer-driver.ts";
import { readLocalConfig } from "../../drivers/file-transfer/local/config.ts";
import { traitsOf } from "../../drivers/file-transfer/local/driver.ts";
import { createLocalStore } from "../../drivers/file-transfer/local/store.ts";
import { createContentProvider } from "../../workers/delivery-content.ts";
import { silentLog, type WorkerLog } from "../../workers/log.ts";
import type { Feed } from "../../workers/operations/check-config.ts";
import { ensureObligation } from "../../workers/operations/deliver-revision.ts";
import { retainReport } from "../../workers/operations/retain-report.ts";
import { planWith } from "../../workers/plan-with.ts";
import { defaultRetryPolicy, type RetryPolicy } from "../../workers/retry-policy.ts";
import { createRunner, type Runner } from "../../workers/runner.ts";
import { openSpool } from "../../workers/spool.ts";
import { type LedgerClock, stopLedgerClock } from "../conformance/ledger/clock.ts";
import { type Around, aroundStore } from "../faults/around.ts";
import { aroundDatabase, aroundRetainedStore, aroundSpoolFiles } from "../faults/around-worker.ts";

export const leaseMs = 60_000;
const operator = { operator: true } as const;
const nowText = "2026-03-09T06:00:00Z";

/** Where the calls of a worker may be broken. */
export interface WorkerFaults {
  readonly ledger?: Around;
  readonly retained?: Around;
  readonly spool?: Around;
  readonly writer?: Around;
  readonly reader?: Around;
}

export interface WorkerOptions {
  readonly workerId?: string;
  readonly faults?: WorkerFaults;
  readonly policy?: Partial<RetryPolicy>;
  readonly traits?: Partial<DriverTraits>;
  /** What makes the bytes; another one than the plan's is another encoder. */
  readonly fingerprint?: string;
  /** Puts the destination to the test before its first delivery. Default false: the world's folder counts as proved. */
  readonly proves?: boolean;
  /** Changes the driver, for what an object store cannot show. */
  readonly driver?: (driver: Driver) => Driver;
  readonly log?: WorkerLog;
  readonly leaseMs?: number;
  readonly maxRunMs?: number;
  /** A folder of its own. Default: the world's, as for a process that starts again. */
  readonly spoolDirectory?: string;
  readonly spoolQuotaBytes?: number;
}

export interface Worker {
  readonly runner: Runner;
  readonly driver: Driver;
}

export interface OpenOptions {
  /** Default exact: then attempts of one world do not care for each other's restatements. */
  readonly selection?: MaterializationWork["selection"];
  /** Default producer. */
  readonly hosting?: "producer" | "buyer";
}

/** A retained revision, owed to a folder, and whoever may deliver it. The ledger's clock stands still. */
export interface DeliveryWorld {
  readonly db: Database;
  readonly clock: LedgerClock;
  readonly retained: RetainedStore;
  readonly revision: Revision;
  worker(options?: WorkerOptions): Promise<Worker>;
  /** tx 0, for a feed and an obligation of its own. Returns the materialization's id. */
  open(worker: Worker, options?: OpenOptions): Promise<string>;
  /** Retains the same period again, with other rows. */
  restate(): Promise<Revision>;
  find(id: string): Promise<MaterializationWork>;
  /** Events of a materialization in order. */
  story(id: string): Promise<readonly { readonly event: string; readonly detail: Record<string, unknown> }[]>;
  /** Rows of the outbox that this materialization caused. */
  outbox(id: string): Promise<readonly string[]>;
  /** Files in the delivery's folder. */
  files(id: string): Promise<readonly string[]>;
  folderOf(id: string): Promise<string>;
}

const definition = checkDefinition({
  waybill_definition: 1,
  report_definition_id: "daily",
  reporting_profile: "daily-v1",
  schema_version: "1.0",
  grain: "creative-day",
  documents_base_uri: "https://schemas.seller.example/reporting",
  source: { provider: { domain: "seller.example" }, system: "ad-server", api_version: "1" },
  calendar: { timezone_basis: "utc" },
  primary_keys: ["report_date", "creative_id"],
  media_buy_member: "media_buy_id",
  members: [
    { name: "report_date", type: "date" },
    { name: "media_buy_id", type: "string" },
    { name: "creative_id", type: "string" },
    { name: "impressions", type: "integer-string" },
    { name: "spend", type: "decimal-string", precision: 18, scale: 6, unit: "USD" },
  ],
  control_totals: [
    { name: "impressions", member: "impressions", unit: "impressions" },
    { name: "spend", member: "spend" },
  ],
  finality_policies: [{ finality_policy_id: "close", basis: "contractual_cutoff", duration_after_period_end: "PT4H" }],
  restatement: { source_requery_duration: "P7D" },
});

/** `directory` and the database belong to this world; what an earlier call in them retained is retained again without change. */
export async function deliveryWorld(
  db: Database,
  directory: string,
  options: { readonly clock?: LedgerClock } = {},
): Promise<DeliveryWorld> {
  const clock = options.clock ?? (await stopLedgerClock(db, instantToUs(nowText)));
  const destination = join(directory, "buyer");
  const work = join(directory, "work");
  for (const path of [destination, work]) await mkdir(path, { recursive: true });
  const retained = createFolderRetainedStore(join(directory, "retained"));
  const documents = buildDocuments(definition);

  const retain = async (seed: number): Promise<Revision> => {
    const path = join(work, `rows-${seed}.jsonl`);
    await writeFile(path, rowsText(seed));
    const ports = { db, retained, workDirectory: work, clock: { nowUs: () => instantToUs(nowText) } };
    const { revision } = await retainReport(ports, {
      rows: { path },
      documents,
      accountId: "acct-1",
      timezone: "UTC",
      finality: "snapshot",
      supersedes: "current",
      signal: new AbortController().signal,
    });
    return revision;
  };

  const revision = await retain(0);
  const find = async (id: string): Promise<MaterializationWork> => {
    const found = await findMaterialization(db, operator, id);
    if (found === undefined) throw new Error(`no materialization ${id}`);
    return found;
  };
  const folderOf = async (id: string): Promise<string> => join(destination, String((await find(id)).plan["folder"]));

  return {
    db,
    clock,
    retained,
    revision,
    find,
    folderOf,
    restate: () => retain(1),
    worker: (workerOptions = {}) => createWorker({ db, retained, destination, directory }, workerOptions),
    async open({ driver }, { selection = "exact", hosting = "producer" } = {}) {
      const feed = feedOf(revision, destination, hosting, `daily-${randomUUID()}`);
      const { reporting_obligation_id: obligationId } = await ensureObligation(db, { revision, feed });
      const revisionId = revision.reporting_revision_id;
      const opened = await openMaterialization(db, { obligationId, revisionId, selection, plan: planWith(driver) });
      return opened.reporting_materialization_id;
    },
    async story(id) {
      const { items } = await journalOf(db, operator, id, { limit: 100 });
      return items.map(({ event, detail }) => ({ event, detail }));
    },
    async outbox(id) {
      const rows = await db.query<{ event_type: string }>("select event_type from outbox where cause_id = $1", [id]);
      return rows.map(({ event_type }) => event_type);
    },
    files: async (id) => (await readdir(await folderOf(id)).catch(() => [])).sort(),
  };
}

function rowsText(seed: number): string {
  return Array.from({ length: 8 }, (_, index) =>
    JSON.stringify({
      report_date: "2026-03-08",
      media_buy_id: `buy-${index % 2}`,
      creative_id: `creative-${index}`,
      impressions: index === 0 ? "9007199254740993" : String(index + seed),
      spend: `${index}.000001`,
    }),
  ).join("\n");
}

/** Three parts of the eight rows, which is enough to lose one in the middle. */
function bindingOf(folder: string): Omit<DestinationConfig, "hosting"> {
  return {
    destination_id: "buyer-folder",
    transport: "local_fs",
    verification_path: "producer",
    retention_days: 90,
    settings: { location: pathToFileURL(folder).href, format: "jsonl", compression: "gzip", rows_per_part: 3 },
  };
}

function feedOf(revision: Revision, folder: string, hosting: "producer" | "buyer", configId: string): Feed {
  const destination = destinationGeneration({ ...bindingOf(folder), hosting });
  const configuration: ConfigurationGeneration = {
    account_id: revision.account_id,
    delivery_config_id: configId,
    delivery_config_version: 1,
    report_definition_id: revision.report_definition_id,
    reporting_profile: revision.reporting_profile,
    feed_purpose: "analytics",
    required_finality: "snapshot",
    reconciliation_mode: "delivery_only",
    verification_profile: "canonical_digest",
    schedule: { period_duration: "P1D", alignment: "utc", delivery_sla: "PT4H" },
    destination_ref: destination.destination_ref,
    media_buy_ids: "all",
  };
  return { configuration, destination };
}

interface WorkerPlace {
  readonly db: Database;
  readonly retained: RetainedStore;
  readonly destination: string;
  readonly directory: string;
}

const untouched: Around = (_call, act) => act();

/** A worker as its process would make it on starting. */
async function createWorker(place: WorkerPlace, options: WorkerOptions): Promise<Worker> {
  const { faults = {}, fingerprint } = options;
  const { config } = readLocalConfig(bindingOf(place.destination));
  if (config === undefined) throw new Error("the world's destination is not valid");
  const store = () => createLocalStore({ root: config.root });
  const made = createFileTransferDriver({
    traits: { ...traitsOf(config), ...options.traits },
    settings: config,
    writer: aroundStore(store(), faults.writer ?? untouched),
    openReader: () => aroundStore(store(), faults.reader ?? untouched),
    spoolDirectory: join(place.directory, "work"),
    ...(fingerprint === undefined ? {} : { fingerprint: () => fingerprint }),
  });
  const { prove: _, ...proved } = made;
  const proving = options.proves === true ? made : proved;
  const driver = options.driver === undefined ? proving : options.driver(proving);
  const spool = await openSpool({
    directory: options.spoolDirectory ?? join(place.directory, "spool"),
    ...(faults.spool === undefined ? {} : { fileSystem: aroundSpoolFiles(faults.spool) }),
    ...(options.spoolQuotaBytes === undefined ? {} : { quotaBytes: options.spoolQuotaBytes }),
  });
  const runner = createRunner({
    db: faults.ledger === undefined ? place.db : aroundDatabase(place.db, faults.ledger),
    drivers: { driverOf: async () => driver, close: () => driver.close() },
    content: createContentProvider({
      retained: aroundRetainedStore(place.retained, faults.retained ?? untouched),
      spool,
    }),
    workerId: options.workerId ?? "worker-a",
    leaseMs: options.leaseMs ?? leaseMs,
    ...(options.maxRunMs === undefined ? {} : { maxRunMs: options.maxRunMs }),
    policy: { ...defaultRetryPolicy, ...options.policy },
    log: options.log ?? silentLog,
    random: () => 0.5,
  });
  return { runner, driver };
}
