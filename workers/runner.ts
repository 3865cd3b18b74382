import { DeliveryError, toDeliveryError } from "../core/errors.ts";
import type { FailureCode } from "../core/failure-table.ts";
import type { JsonObject } from "../core/json.ts";
import { checkAuthority } from "../core/ledger/authority.ts";
import type { Lease, MaterializationWork } from "../core/ledger/ledger-records.ts";
import { ledgerNow } from "../core/ledger/queries.ts";
import {
  claim,
  finishFailed,
  finishReady,
  recordCommit,
  recordPhase,
  recordProbe,
  release,
} from "../core/ledger/transitions.ts";
import type { Materialization } from "../core/model/records.ts";
import type { Database } from "../core/store/sql.ts";
import type { Attempt, CommitEvidence, Driver, DriverPlan, Observation } from "../drivers/driver.ts";
import type { Finding } from "../manifests/finding.ts";
import type { ContentProvider } from "./delivery-content.ts";
import type { DriverPool } from "./driver-pool.ts";
import { judgeObservation } from "./judge-observation.ts";
import { keepLease } from "./lease-keeper.ts";
import type { WorkerLog } from "./log.ts";
import { planWith } from "./plan-with.ts";
import { nextStep, pollDelayMs, type RetryPolicy } from "./retry-policy.ts";

export interface RunnerOptions {
  readonly db: Database;
  readonly drivers: DriverPool;
  readonly content: ContentProvider;
  /** Names this worker in the journal. */
  readonly workerId: string;
  /** How long a claim holds without renewal. Ms. */
  readonly leaseMs: number;
  readonly policy: RetryPolicy;
  readonly log: WorkerLog;
  /** 0 to 1. Default Math.random. */
  readonly random?: () => number;
}

/** How one run ended. `waiting` holds no slot: the ledger knows when the next one is due. */
export type RunResult =
  | { readonly outcome: "idle" }
  | { readonly outcome: "ready"; readonly record: Materialization }
  | { readonly outcome: "failed"; readonly record: Materialization; readonly reattempt: Materialization | undefined }
  | { readonly outcome: "waiting"; readonly transport: string; readonly nextRunAtUs: bigint; readonly delayMs: number }
  | { readonly outcome: "lost" };

export interface Runner {
  /**
   * Runs one materialization as far as it goes now and never throws. Whatever an earlier run did or did not live to record, this one
   * starts at the top: recorded commit, else one found at the destination, else write and commit; then one read; then the end.
   */
  run(materializationId: string, signal: AbortSignal): Promise<RunResult>;
}

/** See DESIGN: plan in tx 0 (openMaterialization), evidence in tx 1, the end in tx 2. */
export function createRunner(options: RunnerOptions): Runner {
  const { db, leaseMs, log } = options;
  return {
    async run(materializationId, signal) {
      try {
        const claimed = await claim(db, { materializationId, workerId: options.workerId, leaseMs });
        if (claimed === undefined) return { outcome: "idle" };
        const keeper = keepLease(db, claimed.lease, leaseMs, signal);
        try {
          return await runClaimed(options, claimed.lease, claimed.work, keeper.signal);
        } finally {
          await keeper.stop();
        }
      } catch (error) {
        // The ledger did not answer, or the lease is gone: nothing more may be written. The lease ends by itself and the sweeper goes on.
        log.error("run lost", error, { materialization: materializationId });
        return { outcome: "lost" };
      }
    },
  };
}

async function runClaimed(
  options: RunnerOptions,
  lease: Lease,
  work: MaterializationWork,
  signal: AbortSignal,
): Promise<RunResult> {
  const tries = work.tries - work.probes;
  // A worker that dies each time never gets to report; its claims are what shows it.
  if (tries > options.policy.maxTries) return await fail(options, lease, undefined, { code: "TRIES_EXHAUSTED" });
  let driver: Driver | undefined;
  try {
    driver = await options.drivers.driverOf(work.destination);
    return await deliver(options, lease, work, driver, signal);
  } catch (error) {
    if (signal.aborted) return await interrupted(options, lease, work, signal);
    const failure = toDeliveryError(error);
    if (failure.code === "LEASE_LOST") throw failure;
    if (failure.code === "INTERNAL") options.log.error("run failed", failure, idsOf(work));
    const random = (options.random ?? Math.random)();
    const step = nextStep({ code: failure.code, tries, retryAfterMs: failure.retryAfterMs, random }, options.policy);
    if (step.kind === "retry") {
      if (failure.code === "REVISION_UNREADABLE") await options.content.forget(work.revision);
      return await wait(options, lease, work, step.delayMs, {
        event: "retry_scheduled",
        detail: { code: failure.code, tries },
      });
    }
    const reattempt = step.reattempt ? driver : undefined;
    return await fail(options, lease, reattempt, { code: step.code, detail: { cause_code: failure.code, tries } });
  }
}

async function deliver(
  options: RunnerOptions,
  lease: Lease,
  work: MaterializationWork,
  driver: Driver,
  signal: AbortSignal,
): Promise<RunResult> {
  const plan = work.plan as DriverPlan;
  const id = work.record.reporting_materialization_id;
  const attempt: Attempt = { key: `${id}.${lease.generation}`, signal, nowUs: () => BigInt(Date.now()) * 1000n };
  await checkAuthority(options.db, id);
  let commit = work.commit as CommitEvidence | undefined;
  let committedAtUs = work.committedAtUs;
  if (commit === undefined) {
    commit = (await driver.findCommit(plan, attempt)) ?? (await writeAndCommit(options, lease, work, driver, attempt));
    ({ committedAtUs } = await recordCommit(options.db, lease, commit));
  }
  await checkAuthority(options.db, id);
  const startedAtUs = await ledgerNow(options.db);
  const profile = work.configuration.verification_profile;
  const seen = await driver.probe(plan, commit, profile, attempt);
  signal.throwIfAborted();
  if (seen.outcome === "not_yet") {
    const windowEndUs = (committedAtUs ?? startedAtUs) + BigInt(driver.traits.visibilityWindowMs) * 1000n;
    return await notYet(options, lease, work, seen.code, startedAtUs >= windowEndUs);
  }
  return await conclude(options, lease, work, { driver, plan, commit }, seen);
}

async function writeAndCommit(
  options: RunnerOptions,
  lease: Lease,
  work: MaterializationWork,
  driver: Driver,
  attempt: Attempt,
): Promise<CommitEvidence> {
  const plan = work.plan as DriverPlan;
  const id = work.record.reporting_materialization_id;
  await recordPhase(options.db, lease, "writing");
  const content = await options.content.contentOf(work.revision, attempt.signal);
  try {
    const staged = await driver.write(plan, content, attempt);
    await checkAuthority(options.db, id);
    attempt.signal.throwIfAborted();
    return await driver.commit(plan, staged, attempt);
  } finally {
    await content.release();
  }
}

async function notYet(
  options: RunnerOptions,
  lease: Lease,
  work: MaterializationWork,
  code: Extract<Observation, { outcome: "not_yet" }>["code"],
  windowEnded: boolean,
): Promise<RunResult> {
  const { probes } = await recordProbe(options.db, lease, { outcome: "not_yet", code });
  if (windowEnded) {
    // What stood in the way to the end says more than that time ran out.
    const final: FailureCode = code === "READER_FORBIDDEN" ? code : "VISIBILITY_TIMEOUT";
    return await fail(options, lease, undefined, { code: final, detail: { probes } });
  }
  const delayMs = pollDelayMs(probes, options.policy);
  return await wait(options, lease, work, delayMs, { event: "probe_scheduled", detail: { code, probes } });
}

/** The runner judges, never the driver: only an equal read ends as ready, and only if the ledger still agrees (tx 2). */
async function conclude(
  options: RunnerOptions,
  lease: Lease,
  work: MaterializationWork,
  committed: { readonly driver: Driver; readonly plan: DriverPlan; readonly commit: CommitEvidence },
  seen: Extract<Observation, { outcome: "read" }>,
): Promise<RunResult> {
  const { revision, configuration, destination } = work;
  const against = { revision, profile: configuration.verification_profile, path: destination.verification_path };
  const judgement = judgeObservation(seen, against);
  const outcome = judgement.match ? "match" : "mismatch";
  await recordProbe(options.db, lease, { outcome, row_count: seen.rowCount });
  if (!judgement.match) {
    const detail = {
      finding_count: judgement.findings.length,
      findings: judgement.findings.slice(0, 20).map(findingDetail),
    };
    return await fail(options, lease, undefined, { code: "VERIFICATION_MISMATCH", detail });
  }
  const { driver, plan, commit } = committed;
  const status = destination.hosting === "producer" ? "available" : "delivered";
  const resource = driver.resource(plan, commit);
  const result = await finishReady(options.db, lease, { status, resource, verification: judgement.verification });
  if (result.outcome === "done") return { outcome: "ready", record: result.record };
  if (result.code === "LEASE_LOST") return { outcome: "lost" };
  return await fail(options, lease, undefined, { code: result.code });
}

async function fail(
  options: RunnerOptions,
  lease: Lease,
  /** Opens attempt + 1 with a plan of this driver. */
  reattemptWith: Driver | undefined,
  failure: { readonly code: FailureCode; readonly detail?: JsonObject },
): Promise<RunResult> {
  const again = reattemptWith === undefined ? undefined : planWith(reattemptWith);
  const { record, reattempt } = await finishFailed(options.db, lease, failure, again);
  return { outcome: "failed", record, reattempt };
}

async function wait(
  options: RunnerOptions,
  lease: Lease,
  work: MaterializationWork,
  delayMs: number,
  why: { readonly event: string; readonly detail: JsonObject },
): Promise<RunResult> {
  const { nextRunAtUs } = await release(options.db, lease, { delayMs, ...why });
  return { outcome: "waiting", transport: work.record.transport ?? "", nextRunAtUs, delayMs };
}

/** Shutting down gives the lease back, so that the next worker need not wait for its end. A lost lease cannot be given back. */
async function interrupted(
  options: RunnerOptions,
  lease: Lease,
  work: MaterializationWork,
  signal: AbortSignal,
): Promise<RunResult> {
  if (signal.reason instanceof DeliveryError && signal.reason.code === "LEASE_LOST") return { outcome: "lost" };
  return await wait(options, lease, work, 0, { event: "interrupted", detail: {} });
}

function findingDetail({ code, object_ref, row, key, column, expected, actual }: Finding): JsonObject {
  return { code, object_ref, row, key, column, expected, actual };
}

function idsOf({ record }: MaterializationWork): JsonObject {
  return {
    materialization: record.reporting_materialization_id,
    obligation: record.reporting_obligation_id,
    attempt: record.attempt,
  };
}
