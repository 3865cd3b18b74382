import { canonicalJson } from "../../canonical-json.ts";
import { DeliveryError } from "../../errors.ts";
import { instantToUs, usToInstant } from "../../model/instant.ts";
import { readyMaterialization } from "../../model/materialization.ts";
import type { Materialization } from "../../model/records.ts";
import type { Database, Sql } from "../../store/sql.ts";
import { type Fact, recordFacts } from "../facts.ts";
import type { FinishResult, Lease, MaterializationWork, ReadyOutcome } from "../ledger-records.ts";
import { selectWork, type WorkRow, workOf } from "../materialization-row.ts";
import { refusal } from "../refusal.ts";
import { lockAuthority, lockCurrentRevision, lockObligationOf, lockUnderLease } from "./locks.ts";

type RefusalCode = Extract<FinishResult, { outcome: "refused" }>["code"];

/** Undoes the transaction; turned into a FinishResult outside of it. */
class FinishRefused extends Error {
  readonly code: RefusalCode;
  constructor(code: RefusalCode) {
    super(code);
    this.code = code;
  }
}

/**
 * tx 2: the one transition to `available` or `delivered`. Under the obligation's lock it checks again: the lease, tombstones,
 * configuration and destination, and for `selection: current` that the revision still is. Then the record ends, its lease too,
 * and one `reporting.delivery_ready` and one change row commit with it. `ready_at`, `verified_at` and `expires_at` are database time.
 * "refused" wrote nothing: the caller ends the attempt with finishFailed and that code, unless the lease is lost.
 * Throws WaybillError `content` when the evidence is not what the method, profile and revision demand, and ILLEGAL_TRANSITION before a recorded commit.
 */
export async function finishReady(db: Database, lease: Lease, outcome: ReadyOutcome): Promise<FinishResult> {
  try {
    const record = await db.transaction((tx) => endReady(tx, lease, outcome));
    return { outcome: "done", record };
  } catch (error) {
    if (error instanceof FinishRefused) return { outcome: "refused", code: error.code };
    if (error instanceof DeliveryError && error.code === "LEASE_LOST") return { outcome: "refused", code: error.code };
    throw error;
  }
}

async function endReady(tx: Sql, lease: Lease, outcome: ReadyOutcome): Promise<Materialization> {
  await lockObligationOf(tx, lease.materializationId);
  const leased = await lockUnderLease(tx, lease);
  if (leased.phase !== "committed") {
    throw refusal("ILLEGAL_TRANSITION", `a materialization in phase ${leased.phase} cannot become ready`, "phase");
  }
  const work = await selectWorkOf(tx, lease.materializationId);
  await refuseUnfit(tx, work);
  const statusOfHosting = work.destination.hosting === "producer" ? "available" : "delivered";
  if (outcome.status !== statusOfHosting) {
    throw refusal("ILLEGAL_TRANSITION", `this destination's ready word is ${statusOfHosting}`, "status");
  }
  const { first, atUs } = await recordFacts(tx, work.accountId, [readyFact(work, outcome)]);
  const record = readyRecord(work, outcome, atUs);
  await endMaterialization(tx, record, first, atUs, null);
  await endWork(tx, lease.materializationId);
  return record;
}

/** WITHDRAWN before UNAUTHORIZED before SUPERSEDED: the more final reason is the one to report. */
async function refuseUnfit(tx: Sql, work: MaterializationWork): Promise<void> {
  const { reporting_materialization_id, reporting_obligation_id, reporting_revision_id } = work.record;
  if (await isTombstoned(tx, reporting_materialization_id)) throw new FinishRefused("WITHDRAWN");
  if (!(await lockAuthority(tx, reporting_obligation_id))) throw new FinishRefused("UNAUTHORIZED");
  if (work.selection === "exact") return;
  if ((await lockCurrentRevision(tx, work.revision)) !== reporting_revision_id) throw new FinishRefused("SUPERSEDED");
}

/** Whether a withdrawal was announced. */
export async function isTombstoned(tx: Sql, materializationId: string): Promise<boolean> {
  const found = await tx.query("select 1 from tombstone where reporting_materialization_id = $1 limit 1", [
    materializationId,
  ]);
  return found.length > 0;
}

/** The materialization with all it joins. */
export async function selectWorkOf(tx: Sql, materializationId: string): Promise<MaterializationWork> {
  const [row] = await tx.query<WorkRow>(`${selectWork} where m.reporting_materialization_id = $1`, [materializationId]);
  if (row === undefined) throw new Error("a leased materialization has no record");
  return workOf(row);
}

const usPerDay = 86_400_000_000n;

function readyRecord(work: MaterializationWork, outcome: ReadyOutcome, readyAtUs: bigint): Materialization {
  const readyAt = usToInstant(readyAtUs);
  const expiresAt = usToInstant(readyAtUs + BigInt(work.destination.retention_days) * usPerDay);
  const evidence = {
    status: outcome.status,
    ready_at: readyAt,
    resource: { ...outcome.resource, expires_at: expiresAt },
    verification: { ...outcome.verification, verified_at: readyAt },
  };
  return readyMaterialization(work.record, evidence, work.revision);
}

function readyFact({ record, revision, accountId }: MaterializationWork, outcome: ReadyOutcome): Fact {
  const id = record.reporting_materialization_id;
  return {
    kind: "materialization",
    subjectId: id,
    event: outcome.status,
    detail: { location: outcome.resource.location, verification_path: outcome.verification.verification_path },
    outbox: {
      type: "reporting.delivery_ready",
      causeId: id,
      payload: {
        account_id: accountId,
        delivery_config_id: record.delivery_config_id,
        delivery_config_version: record.delivery_config_version,
        feed_purpose: record.feed_purpose,
        reporting_revision_id: record.reporting_revision_id,
        reporting_materialization_id: id,
        readiness: outcome.status,
        finality: revision.finality,
        data_through: revision.data_through,
      },
    },
    change: {
      action: "status_changed",
      resourceId: record.reporting_revision_id,
      parentIds: { reporting_obligation_id: record.reporting_obligation_id, reporting_materialization_id: id },
    },
  };
}

/** Writes the end of a pending materialization, exactly one row; anything else is undone. */
export async function endMaterialization(
  tx: Sql,
  record: Materialization,
  seq: bigint,
  atUs: bigint,
  failureDetail: string | null,
): Promise<void> {
  const { resource, verification } = record;
  const ended = await tx.query(
    `update materialization set status = $2, ended_at = $3, ended_seq = $4, failure_code = $5, failure_detail = $6,
       resource = $7, verification = $8, expires_at = $9
     where reporting_materialization_id = $1 and status = 'pending'
     returning 1`,
    [
      record.reporting_materialization_id,
      record.status,
      atUs,
      seq,
      record.failure_code ?? null,
      failureDetail,
      resource === undefined ? null : canonicalJson(resource),
      verification === undefined ? null : canonicalJson(verification),
      resource === undefined ? null : instantToUs(resource.expires_at),
    ],
  );
  if (ended.length !== 1) {
    throw refusal("ILLEGAL_TRANSITION", "the materialization has already ended; it changes exactly once", "status");
  }
}

/** The work is over and its lease given back. */
export async function endWork(tx: Sql, materializationId: string): Promise<void> {
  await tx.query(
    `update delivery_work set phase = 'done', lease_token = null, lease_until = null, lease_worker = null
     where reporting_materialization_id = $1`,
    [materializationId],
  );
}
