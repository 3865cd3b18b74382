import { canonicalJson } from "../../canonical-json.ts";
import { usToInstant } from "../../model/instant.ts";
import { failedMaterialization } from "../../model/materialization.ts";
import type { Materialization } from "../../model/records.ts";
import type { Database, Sql } from "../../store/sql.ts";
import { type Fact, recordFacts } from "../facts.ts";
import type { FailureOutcome, Lease, MaterializationWork } from "../ledger-records.ts";
import { endMaterialization, endWork, isTombstoned, selectWorkOf } from "./finish.ts";
import { lockAuthority, lockCurrentRevision, lockObligationOf, lockUnderLease } from "./locks.ts";
import { type AttemptDraft, draftAttempt, insertAttempt, type PlanWork, selectTarget } from "./materializations.ts";

/** The ended attempt, and the one that continues when one was opened. */
export interface Failed {
  readonly record: Materialization;
  readonly reattempt: Materialization | undefined;
}

/**
 * The one transition to `failed`. With `reattempt` the same transaction opens attempt + 1 of the same revision and selection, unless
 * the materialization is withdrawn, no longer authorized or superseded. DeliveryError LEASE_LOST.
 */
export async function finishFailed(
  db: Database,
  lease: Lease,
  outcome: FailureOutcome,
  reattempt?: PlanWork,
): Promise<Failed> {
  return await db.transaction(async (tx) => {
    await lockObligationOf(tx, lease.materializationId);
    await lockUnderLease(tx, lease);
    return await endFailed(tx, lease.materializationId, outcome, reattempt);
  });
}

/** Needs the locks of obligation and work row. */
export async function endFailed(
  tx: Sql,
  materializationId: string,
  outcome: FailureOutcome,
  reattempt?: PlanWork,
): Promise<Failed> {
  const work = await selectWorkOf(tx, materializationId);
  const next = reattempt === undefined ? undefined : await draftNext(tx, work, reattempt);
  const { first, atUs } = await recordFacts(tx, work.accountId, failureFacts(work, outcome, next));
  const failure = { failed_at: usToInstant(atUs), failure_code: outcome.code };
  const record = failedMaterialization(work.record, failure);
  await endMaterialization(tx, record, first, atUs, canonicalJson(outcome.detail ?? {}));
  await endWork(tx, materializationId);
  if (next !== undefined) await insertAttempt(tx, next, first + 1n);
  return { record, reattempt: next?.record };
}

async function draftNext(tx: Sql, work: MaterializationWork, plan: PlanWork): Promise<AttemptDraft | undefined> {
  const { reporting_materialization_id, reporting_obligation_id, reporting_revision_id } = work.record;
  if (await isTombstoned(tx, reporting_materialization_id)) return undefined;
  if (!(await lockAuthority(tx, reporting_obligation_id))) return undefined;
  if (work.selection === "current" && (await lockCurrentRevision(tx, work.revision)) !== reporting_revision_id) {
    return undefined;
  }
  const target = await selectTarget(tx, reporting_obligation_id, reporting_revision_id);
  return target === undefined ? undefined : await draftAttempt(tx, target, work.selection, plan);
}

function failureFacts(
  work: MaterializationWork,
  outcome: FailureOutcome,
  next: AttemptDraft | undefined,
): readonly Fact[] {
  const failed: Fact = {
    kind: "materialization",
    subjectId: work.record.reporting_materialization_id,
    event: "failed",
    detail: { ...outcome.detail, failure_code: outcome.code },
  };
  return next === undefined ? [failed] : [failed, next.fact];
}
