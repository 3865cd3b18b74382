import type { Clock } from "../../core/clock.ts";
import { type FailureCode, failureTable } from "../../core/failure-table.ts";
import { findMaterialization, listMaterializations, obligationFor } from "../../core/ledger/queries.ts";
import { createObligation, installConfiguration, openMaterialization } from "../../core/ledger/transitions.ts";
import { newId } from "../../core/model/id.ts";
import type { Materialization, ObligationFacts, Revision } from "../../core/model/records.ts";
import type { Database } from "../../core/store/sql.ts";
import type { DriverPool } from "../driver-pool.ts";
import { planWith } from "../plan-with.ts";
import type { Runner } from "../runner.ts";
import type { Feed } from "./check-config.ts";
import { obligationFacts } from "./obligation-facts.ts";
import type { ProgressListener } from "./progress.ts";

/** What delivery needs of the composition root. */
export interface DeliverPorts {
  readonly db: Database;
  readonly drivers: DriverPool;
  readonly runner: Runner;
  readonly clock: Clock;
  /** Hints workers at everything that is due. */
  enqueueDue(): Promise<number>;
}

export interface DeliverRequest {
  readonly revision: Revision;
  readonly feed: Feed;
  /** current: the delivery ends SUPERSEDED when another revision becomes current. exact: this revision, whatever is current. */
  readonly selection: "current" | "exact";
  /** How long to wait for retries and for the destination to become readable. Ms. "enqueue": not at all, a worker delivers it. */
  readonly patienceMs: number | "enqueue";
  readonly onProgress?: ProgressListener | undefined;
  readonly signal: AbortSignal;
}

/** One attempt, as far as it came. `pending` only when patience ended first. */
export interface Delivered {
  readonly obligation: ObligationFacts;
  readonly materialization: Materialization;
}

/**
 * The one path of a delivery: the feed's generation is installed, the obligation of the revision's period exists, an attempt is opened
 * or a pending one gone on with, and it is run until it ends. Repeating it after a crash goes on where the crash was.
 */
export async function deliverRevision(ports: DeliverPorts, request: DeliverRequest): Promise<Delivered> {
  const { db } = ports;
  const { revision, feed, selection } = request;
  const driver = await ports.drivers.driverOf(feed.destination);
  const obligation = await ensureObligation(db, request);
  const obligationId = obligation.reporting_obligation_id;
  const revisionId = revision.reporting_revision_id;
  const [pending] = await pendingAttempts(db, obligationId, revisionId);
  const attempt =
    pending ?? (await openMaterialization(db, { obligationId, revisionId, selection, plan: planWith(driver) }));
  const { patienceMs } = request;
  if (patienceMs === "enqueue") {
    await ports.enqueueDue();
    return { obligation, materialization: attempt };
  }
  return { obligation, materialization: await runToEnd(ports, attempt, { ...request, patienceMs }) };
}

/** The obligation of the revision's period under a feed, both made if they are not there. */
export async function ensureObligation(
  db: Database,
  { revision, feed }: Pick<DeliverRequest, "revision" | "feed">,
): Promise<ObligationFacts> {
  const { configuration } = feed;
  await installConfiguration(db, feed);
  const found = await obligationFor(
    db,
    { accountId: configuration.account_id },
    {
      accountId: configuration.account_id,
      deliveryConfigId: configuration.delivery_config_id,
      deliveryConfigVersion: configuration.delivery_config_version,
      period: revision.period,
    },
  );
  const facts = obligationFacts(configuration, revision, found?.reporting_obligation_id ?? newId("obl"));
  return (await createObligation(db, facts)).facts;
}

async function pendingAttempts(
  db: Database,
  obligationId: string,
  revisionId: string,
): Promise<readonly Materialization[]> {
  const page = await listMaterializations(
    db,
    { operator: true },
    { obligationId, revisionId, status: "pending", limit: 1 },
  );
  return page.items;
}

/** Runs an attempt, and those that follow from it, until one ends or patience does. */
export async function runToEnd(
  ports: DeliverPorts,
  attempt: Materialization,
  options: Pick<DeliverRequest, "onProgress" | "signal"> & { readonly patienceMs: number },
): Promise<Materialization> {
  const { signal, onProgress } = options;
  const endUs = ports.clock.nowUs() + BigInt(options.patienceMs) * 1000n;
  for (let current = attempt; ; ) {
    onProgress?.({ stage: `delivering, attempt ${current.attempt}` });
    const result = await ports.runner.run(current.reporting_materialization_id, signal);
    signal.throwIfAborted();
    if (result.outcome === "ready") return result.record;
    if (result.outcome === "failed" && result.reattempt === undefined) return result.record;
    if (result.outcome === "failed" && result.reattempt !== undefined) {
      current = result.reattempt;
      continue;
    }
    const work = await findMaterialization(ports.db, { operator: true }, current.reporting_materialization_id);
    if (work === undefined || work.record.status !== "pending") return work?.record ?? current;
    const nowUs = ports.clock.nowUs();
    const delayUs = work.nextRunAtUs > nowUs + minimumDelayUs ? work.nextRunAtUs - nowUs : minimumDelayUs;
    if (nowUs + delayUs > endUs) return work.record;
    onProgress?.({ stage: `waiting ${Math.ceil(Number(delayUs) / 1e6)} s before the next look` });
    await ports.clock.sleep(Number(delayUs / 1000n), signal);
  }
}

/** Between looks at an attempt that another worker holds. */
const minimumDelayUs = 250_000n;

/** What a failed attempt means, from the failure table. */
export function failureOfAttempt({ failure_code }: Materialization): FailureCode {
  return failure_code !== undefined && failure_code in failureTable ? (failure_code as FailureCode) : "INTERNAL";
}
