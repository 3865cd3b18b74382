import { type Clock, systemClock } from "../core/clock.ts";
import { DeliveryError, isAbort, toDeliveryError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import type { FailureOutcome, Lease, MaterializationWork } from "../core/ledger/ledger-records.ts";
import { claim, finishFailed, finishReady, type Release, release } from "../core/ledger/transitions.ts";
import type { Materialization } from "../core/model/records.ts";
import type { Database } from "../core/store/sql.ts";
import type { CommitEvidence, Driver, DriverPlan } from "../drivers/driver.ts";
import { commitOnce, type DeliveryRun } from "./commit-once.ts";
import type { ContentProvider } from "./delivery-content.ts";
import type { DriverPool } from "./driver-pool.ts";
import { keepLease } from "./lease-keeper.ts";
import type { WorkerLog } from "./log.ts";
import { planWith } from "./plan-with.ts";
import { type ProbeStep, probeOnce } from "./probe-loop.ts";
import { refuseUnproved } from "./refuse-unproved.ts";
import { nextStep, type RetryPolicy } from "./retry-policy.ts";

export interface RunnerOptions {
  readonly db: Database;
  readonly drivers: DriverPool;
  readonly content: ContentProvider;
  /** Names this worker in the journal. */
  readonly workerId: string;
  /** How long a claim holds without renewal. Ms. */
  readonly leaseMs: number;
  /** One run that takes longer is cut off and counts as DESTINATION_UNREACHABLE. Ms. Default 6 hours. */
  readonly maxRunMs?: number;
  readonly policy: RetryPolicy;
  readonly log: WorkerLog;
  /** What drivers see as `nowUs`. Default: the system's. */
  readonly clock?: Pick<Clock, "nowUs">;
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

const sixHoursMs = 6 * 60 * 60 * 1000;

/** See DESIGN: plan in tx 0 (openMaterialization), evidence in tx 1, the end in tx 2. */
export function createRunner(options: RunnerOptions): Runner {
  const { db, leaseMs, log, workerId } = options;
  return {
    async run(materializationId, outer) {
      if (outer.aborted) return { outcome: "idle" };
      try {
        const claimed = await claim(db, { materializationId, workerId, leaseMs });
        if (claimed === undefined) return { outcome: "idle" };
        const maxRunMs = options.maxRunMs ?? sixHoursMs;
        const keeper = keepLease({ db, lease: claimed.lease, leaseMs, maxRunMs, outer });
        try {
          return await runClaimed(options, claimed.lease, claimed.work, keeper.signal, outer);
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
  outer: AbortSignal,
): Promise<RunResult> {
  const tries = work.tries - work.probes;
  // A worker that dies each time never gets to report; its claims are what shows it.
  if (tries > options.policy.maxTries) return await fail(options, lease, { code: "TRIES_EXHAUSTED" });
  let driver: Driver | undefined;
  try {
    driver = await options.drivers.driverOf(work.destination);
    return await deliver(options, runOf(options, lease, work, driver, signal));
  } catch (error) {
    // Shutting down gives the lease back, so that the next worker need not wait for its end, and uses up no try.
    if (outer.aborted) return await wait(options, lease, work, { delayMs: 0, event: "interrupted", uncounted: true });
    const failure = asFailure(signal.aborted ? signal.reason : error);
    if (failure.code === "LEASE_LOST") throw failure;
    return await afterFailure(options, lease, work, driver, failure, tries);
  }
}

function runOf(
  { db, content, clock = systemClock }: RunnerOptions,
  lease: Lease,
  work: MaterializationWork,
  driver: Driver,
  signal: AbortSignal,
): DeliveryRun {
  const key = `${lease.materializationId}.${lease.generation}`;
  const attempt = { key, signal, nowUs: () => clock.nowUs() };
  return { db, content, lease, work, driver, plan: work.plan as DriverPlan, attempt };
}

async function deliver(options: RunnerOptions, run: DeliveryRun): Promise<RunResult> {
  const { lease, work } = run;
  const startedAtUs = run.attempt.nowUs();
  const refusal = await refuseUnproved(run);
  if (refusal !== undefined) return await fail(options, lease, refusal);
  const committed = await commitOnce(run);
  const step = await probeOnce(run, committed, options.policy);
  switch (step.kind) {
    case "later": {
      const { code, probes, delayMs } = step;
      return await wait(options, lease, work, { delayMs, event: "probe_scheduled", detail: { code, probes } });
    }
    case "failed":
      return await fail(options, lease, step.failure);
    case "match":
      await tidy(options, run, startedAtUs);
      return await finish(options, run, committed.commit, step);
  }
}

/** tx 2: only an equal read ends as ready, and only if the ledger still agrees. */
async function finish(
  options: RunnerOptions,
  { lease, work, driver, plan }: DeliveryRun,
  commit: CommitEvidence,
  { verification }: Extract<ProbeStep, { kind: "match" }>,
): Promise<RunResult> {
  const status = work.destination.hosting === "producer" ? "available" : "delivered";
  const resource = driver.resource(plan, commit);
  const result = await finishReady(options.db, lease, { status, resource, verification });
  if (result.outcome === "done") return { outcome: "ready", record: result.record };
  if (result.code === "LEASE_LOST") return { outcome: "lost" };
  return await fail(options, lease, { code: result.code });
}

/** What killed runs left at the destination is no one's after the commit. It is no reason to fail: a sweep of the place finds it too. */
async function tidy({ log }: RunnerOptions, { driver, plan, attempt, work, lease }: DeliveryRun, startedAtUs: bigint) {
  if (lease.generation === 1 || driver.collectLeftovers === undefined) return;
  try {
    await driver.collectLeftovers(plan, startedAtUs, attempt);
  } catch (error) {
    attempt.signal.throwIfAborted();
    log.error("leftovers not collected", error, idsOf(work));
  }
}

async function afterFailure(
  options: RunnerOptions,
  lease: Lease,
  work: MaterializationWork,
  driver: Driver | undefined,
  failure: DeliveryError,
  tries: number,
): Promise<RunResult> {
  const { code, retryAfterMs } = failure;
  if (code === "INTERNAL") options.log.error("run failed", failure, idsOf(work));
  const random = (options.random ?? Math.random)();
  const step = nextStep({ code, tries, retryAfterMs, random }, options.policy);
  if (step.kind === "retry") {
    return await wait(options, lease, work, {
      delayMs: step.delayMs,
      event: "retry_scheduled",
      detail: { code, tries },
    });
  }
  const detail = { cause_code: code, tries };
  return await fail(options, lease, { code: step.code, detail }, step.reattempt ? driver : undefined);
}

/** `reattemptWith` opens attempt + 1 with a plan of that driver. */
async function fail(
  options: RunnerOptions,
  lease: Lease,
  failure: FailureOutcome,
  reattemptWith?: Driver,
): Promise<RunResult> {
  const again = reattemptWith === undefined ? undefined : planWith(reattemptWith);
  const { record, reattempt } = await finishFailed(options.db, lease, failure, again);
  return { outcome: "failed", record, reattempt };
}

async function wait(
  options: RunnerOptions,
  lease: Lease,
  work: MaterializationWork,
  until: Release,
): Promise<RunResult> {
  const { nextRunAtUs } = await release(options.db, lease, until);
  return { outcome: "waiting", transport: work.record.transport ?? "", nextRunAtUs, delayMs: until.delayMs };
}

/** An abort that is not this run's own is somebody else's accident. */
function asFailure(error: unknown): DeliveryError {
  return isAbort(error) ? new DeliveryError("INTERNAL", { cause: error }) : toDeliveryError(error);
}

function idsOf({ record }: MaterializationWork): JsonObject {
  return {
    materialization: record.reporting_materialization_id,
    obligation: record.reporting_obligation_id,
    attempt: record.attempt,
  };
}
