import { canonicalJson } from "../../canonical-json.ts";
import type { JsonObject } from "../../json.ts";
import { newId } from "../../model/id.ts";
import { usToInstant } from "../../model/instant.ts";
import type { Materialization, MethodPattern, ObligationFacts, Revision } from "../../model/records.ts";
import { sliceIdentity } from "../../model/revision-chain.ts";
import type { Database, Sql } from "../../store/sql.ts";
import { type Fact, recordFacts } from "../facts.ts";
import type { ConfigurationGeneration, DestinationGeneration, MaterializationWork } from "../ledger-records.ts";
import { refusal } from "../refusal.ts";
import { fromStored } from "../stored-json.ts";
import { lockAuthority, lockCurrentRevision, lockObligation } from "./locks.ts";

/** What a plan is made from. */
export interface PlanFacts {
  readonly materializationId: string;
  readonly attempt: number;
  /** Database time; the manifest's `created_at`, so that a redelivery writes the same bytes. */
  readonly createdAt: string;
  readonly revision: Revision;
  readonly obligation: ObligationFacts;
  readonly configuration: ConfigurationGeneration;
  readonly destination: DestinationGeneration;
}

/**
 * Fixes every name before anything external happens. Pure and synchronous: it runs inside the ledger's transaction. What it
 * throws aborts the opening. The plan holds no secret.
 */
export type PlanWork = (facts: PlanFacts) => {
  readonly plan: JsonObject;
  readonly method: MethodPattern;
  /** The wire's word: `s3`, `local_fs`. */
  readonly transport: string;
};

export interface OpenMaterialization {
  readonly obligationId: string;
  readonly revisionId: string;
  /** current: may end SUPERSEDED. exact: never does, and never satisfies an obligation that wants another revision. */
  readonly selection: MaterializationWork["selection"];
  readonly plan: PlanWork;
}

/**
 * tx 0: opens the next attempt to expose a revision for an obligation, due at once. Attempts count from 1 per obligation and
 * revision. Refused: NOT_FOUND, SLICE_DIFFERS (the revision is about something else), ATTEMPT_PENDING, CONFIGURATION_INACTIVE,
 * REVISION_NOT_CURRENT (selection current only).
 */
export async function openMaterialization(db: Database, request: OpenMaterialization): Promise<Materialization> {
  return await db.transaction(async (tx) => {
    const target = await lockTarget(tx, request);
    const pending = await pendingAttempt(tx, request);
    if (pending !== undefined) {
      const message = `attempt ${pending} of this revision is still pending; wait for it or withdraw it`;
      throw refusal("ATTEMPT_PENDING", message, "reporting_materialization_id");
    }
    if (!(await lockAuthority(tx, request.obligationId))) {
      const message = "the delivery configuration or its destination was deactivated";
      throw refusal("CONFIGURATION_INACTIVE", message, "delivery_config_id");
    }
    const { revisionId, selection } = request;
    if (selection === "current" && (await lockCurrentRevision(tx, target.revision)) !== revisionId) {
      throw refusal("REVISION_NOT_CURRENT", `revision ${revisionId} is not current`, "reporting_revision_id");
    }
    const draft = await draftAttempt(tx, target, selection, request.plan);
    const { first } = await recordFacts(tx, draft.accountId, [draft.fact]);
    await insertAttempt(tx, draft, first);
    return draft.record;
  });
}

/** What an attempt joins. */
export interface Target {
  readonly obligation: ObligationFacts;
  readonly revision: Revision;
  readonly configuration: ConfigurationGeneration;
  readonly destination: DestinationGeneration;
}

async function lockTarget(tx: Sql, { obligationId, revisionId }: OpenMaterialization): Promise<Target> {
  const locked = await lockObligation(tx, obligationId);
  if (locked === undefined) {
    throw refusal("NOT_FOUND", `there is no obligation ${obligationId}`, "reporting_obligation_id");
  }
  const target = await selectTarget(tx, obligationId, revisionId);
  if (target === undefined) throw refusal("NOT_FOUND", `there is no revision ${revisionId}`, "reporting_revision_id");
  if (sliceIdentity(target.obligation) !== sliceIdentity(target.revision)) {
    const message = `revision ${revisionId} is not about the report definition, profile, period and media buys of obligation ${obligationId}`;
    throw refusal("SLICE_DIFFERS", message, "reporting_revision_id");
  }
  return target;
}

type TargetRow = {
  readonly facts: string;
  readonly record: string;
  readonly configuration: string;
  readonly destination: string;
};

/** A revision of another account is no revision at all. */
export async function selectTarget(tx: Sql, obligationId: string, revisionId: string): Promise<Target | undefined> {
  const [row] = await tx.query<TargetRow>(
    `select o.facts, r.record, c.content as configuration, d.content as destination
     from obligation o
     join revision r on r.account_id = o.account_id
     join configuration c on c.account_id = o.account_id
       and c.delivery_config_id = o.delivery_config_id and c.delivery_config_version = o.delivery_config_version
     join destination d on d.destination_ref = c.destination_ref
     where o.reporting_obligation_id = $1 and r.reporting_revision_id = $2`,
    [obligationId, revisionId],
  );
  if (row === undefined) return undefined;
  return {
    obligation: fromStored(row.facts),
    revision: fromStored(row.record),
    configuration: fromStored(row.configuration),
    destination: fromStored(row.destination),
  };
}

async function pendingAttempt(tx: Sql, { obligationId, revisionId }: OpenMaterialization): Promise<string | undefined> {
  const [row] = await tx.query<{ reporting_materialization_id: string }>(
    `select reporting_materialization_id from materialization
     where reporting_obligation_id = $1 and reporting_revision_id = $2 and status = 'pending'`,
    [obligationId, revisionId],
  );
  return row?.reporting_materialization_id;
}

/** An attempt that is fully decided but not yet written. */
export interface AttemptDraft {
  readonly record: Materialization;
  readonly createdAtUs: bigint;
  readonly accountId: string;
  readonly selection: MaterializationWork["selection"];
  readonly plan: JsonObject;
  readonly fact: Fact;
}

/** Numbers and plans the next attempt. Needs the obligation's lock. */
export async function draftAttempt(
  tx: Sql,
  target: Target,
  selection: MaterializationWork["selection"],
  plan: PlanWork,
): Promise<AttemptDraft> {
  const { obligation, revision, configuration, destination } = target;
  const { attempt, now } = await nextAttempt(tx, obligation.reporting_obligation_id, revision.reporting_revision_id);
  const materializationId = newId("mat");
  const createdAt = usToInstant(now);
  const work = plan({ materializationId, attempt, createdAt, ...target });
  const record: Materialization = {
    reporting_materialization_id: materializationId,
    reporting_revision_id: revision.reporting_revision_id,
    reporting_obligation_id: obligation.reporting_obligation_id,
    delivery_config_id: configuration.delivery_config_id,
    delivery_config_version: configuration.delivery_config_version,
    destination_ref: destination.destination_ref,
    feed_purpose: configuration.feed_purpose,
    method: work.method,
    transport: work.transport,
    attempt,
    status: "pending",
    created_at: createdAt,
  };
  const fact: Fact = {
    kind: "materialization",
    subjectId: materializationId,
    event: "opened",
    detail: {
      reporting_obligation_id: record.reporting_obligation_id,
      reporting_revision_id: record.reporting_revision_id,
      attempt,
      selection,
      transport: work.transport,
      rows_acquired: 0,
    },
  };
  return { record, createdAtUs: now, accountId: obligation.account_id, selection, plan: work.plan, fact };
}

async function nextAttempt(
  tx: Sql,
  obligationId: string,
  revisionId: string,
): Promise<{ attempt: number; now: bigint }> {
  const [row] = await tx.query<{ attempt: number; now: bigint }>(
    `select coalesce(max(attempt), 0) + 1 as attempt, ledger_now() as now from materialization
     where reporting_obligation_id = $1 and reporting_revision_id = $2`,
    [obligationId, revisionId],
  );
  if (row === undefined) throw new Error("an aggregate returned no row");
  return row;
}

/** Writes a drafted attempt under its place; it is due at once. */
export async function insertAttempt(tx: Sql, draft: AttemptDraft, seq: bigint): Promise<void> {
  const { record, accountId, createdAtUs } = draft;
  const transport = record.transport ?? "";
  await tx.query(
    `insert into materialization (reporting_materialization_id, account_id, reporting_obligation_id, reporting_revision_id,
       attempt, selection, method, transport, plan, created_at, seq)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    [
      record.reporting_materialization_id,
      accountId,
      record.reporting_obligation_id,
      record.reporting_revision_id,
      record.attempt,
      draft.selection,
      record.method,
      transport,
      canonicalJson(draft.plan),
      createdAtUs,
      seq,
    ],
  );
  await tx.query(
    `insert into delivery_work (reporting_materialization_id, account_id, transport, next_run_at)
     values ($1, $2, $3, $4)`,
    [record.reporting_materialization_id, accountId, transport, createdAtUs],
  );
}
