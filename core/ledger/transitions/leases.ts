import { randomBytes } from "node:crypto";
import { DeliveryError } from "../../errors.ts";
import type { JsonObject } from "../../json.ts";
import type { Database, Sql } from "../../store/sql.ts";
import { recordFacts } from "../facts.ts";
import type { Lease, MaterializationWork } from "../ledger-records.ts";
import { selectWork, type WorkRow, workOf } from "../materialization-row.ts";
import { lockUnderLease } from "./locks.ts";

export interface Claim {
  readonly materializationId: string;
  /** For the journal: who runs it. */
  readonly workerId: string;
  readonly leaseMs: number;
  /**
   * deliver (default): pending and due, which a run that died with its lease is again once the lease has ended.
   * withdraw: in any status, once a tombstone stands. Both take the one lease, so they exclude each other.
   */
  readonly purpose?: "deliver" | "withdraw";
}

export interface Claimed {
  readonly lease: Lease;
  readonly work: MaterializationWork;
}

/** Takes the lease and counts a try. Undefined when someone else holds it, or there is nothing to do (yet). Of racing claims one wins. */
export async function claim(db: Database, request: Claim): Promise<Claimed | undefined> {
  const token = randomBytes(16).toString("hex");
  return await db.transaction(async (tx) => {
    const taken = await takeLease(tx, request, token);
    if (taken === undefined) return undefined;
    const { account_id, lease_generation, lease_until } = taken;
    const subjectId = request.materializationId;
    const purpose = request.purpose ?? "deliver";
    const detail = { worker: request.workerId, generation: lease_generation, purpose };
    await recordFacts(tx, account_id, [{ kind: "materialization", subjectId, event: "claimed", detail }]);
    const [row] = await tx.query<WorkRow>(`${selectWork} where m.reporting_materialization_id = $1`, [subjectId]);
    if (row === undefined) throw new Error("a claimed materialization has no record");
    const lease = { materializationId: subjectId, token, generation: lease_generation, untilUs: lease_until };
    return { lease, work: workOf(row) };
  });
}

type TakenRow = { readonly account_id: string; readonly lease_generation: number; readonly lease_until: bigint };

async function takeLease(tx: Sql, request: Claim, token: string): Promise<TakenRow | undefined> {
  const eligible =
    request.purpose === "withdraw"
      ? "exists (select 1 from tombstone t where t.reporting_materialization_id = w.reporting_materialization_id)"
      : "w.phase <> 'done' and w.next_run_at <= ledger_now()";
  const [row] = await tx.query<TakenRow>(
    `update delivery_work set lease_token = $2, lease_worker = $3, lease_generation = lease_generation + 1,
       lease_until = ledger_now() + $4::bigint, tries = tries + 1
     where reporting_materialization_id = (
       select w.reporting_materialization_id from delivery_work w
       where w.reporting_materialization_id = $1 and ${eligible}
         and (w.lease_until is null or w.lease_until <= ledger_now())
       for update skip locked)
     returning account_id, lease_generation, lease_until`,
    [request.materializationId, token, request.workerId, leaseUs(request.leaseMs)],
  );
  return row;
}

/** Extends a lease that still holds, counted from now. DeliveryError LEASE_LOST once it has ended, even if nobody took over. */
export async function renew(db: Database, lease: Lease, leaseMs: number): Promise<Lease> {
  const [row] = await db.query<{ lease_until: bigint }>(
    `update delivery_work set lease_until = ledger_now() + $3::bigint
     where reporting_materialization_id = $1 and lease_token = $2 and lease_until > ledger_now()
     returning lease_until`,
    [lease.materializationId, lease.token, leaseUs(leaseMs)],
  );
  if (row === undefined) throw new DeliveryError("LEASE_LOST");
  return { ...lease, untilUs: row.lease_until };
}

export interface Release {
  /** When the next run is due, from now. Ms. */
  readonly delayMs: number;
  /** Why, in the journal. */
  readonly event: string;
  readonly detail?: JsonObject;
  /** Takes the claim's try back: what ended the run says nothing about the delivery. Default false. */
  readonly uncounted?: boolean;
}

/** Gives the lease back. DeliveryError LEASE_LOST. */
export async function release(db: Database, lease: Lease, end: Release): Promise<{ readonly nextRunAtUs: bigint }> {
  return await db.transaction(async (tx) => {
    const work = await lockUnderLease(tx, lease);
    const [row] = await tx.query<{ next_run_at: bigint }>(
      `update delivery_work set lease_token = null, lease_until = null, lease_worker = null,
         next_run_at = ledger_now() + $2::bigint, tries = tries - $3::integer
       where reporting_materialization_id = $1
       returning next_run_at`,
      [lease.materializationId, leaseUs(end.delayMs), end.uncounted === true ? 1 : 0],
    );
    if (row === undefined) throw new Error("a locked work row is gone");
    const detail = { ...end.detail, delay_ms: end.delayMs };
    await recordFacts(tx, work.account_id, [
      { kind: "materialization", subjectId: lease.materializationId, event: end.event, detail },
    ]);
    return { nextRunAtUs: row.next_run_at };
  });
}

function leaseUs(ms: number): bigint {
  return BigInt(Math.round(ms)) * 1000n;
}
