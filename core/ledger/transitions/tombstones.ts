import type { Database } from "../../store/sql.ts";
import { recordFacts } from "../facts.ts";
import type { Lease } from "../ledger-records.ts";
import { refusal } from "../refusal.ts";
import { lockObligationOf, lockUnderLease } from "./locks.ts";

export interface TombstoneRequest {
  readonly materializationId: string;
  readonly what: "access" | "data";
  readonly reason: string;
}

/**
 * Announces a withdrawal. From now on the materialization cannot become ready; a worker that still holds the lease may act at
 * the destination until `leaseUntilUs`, so withdraw only after that. Repeating it keeps the first. Refused: NOT_FOUND.
 */
export async function placeTombstone(
  db: Database,
  { materializationId, what, reason }: TombstoneRequest,
): Promise<{ readonly placed: boolean; readonly leaseUntilUs: bigint | undefined }> {
  return await db.transaction(async (tx) => {
    // finishReady holds the same locks, so it either ended before this or sees the tombstone.
    await lockObligationOf(tx, materializationId);
    const [work] = await tx.query<{ account_id: string; lease_until: bigint | null }>(
      "select account_id, lease_until from delivery_work where reporting_materialization_id = $1 for update",
      [materializationId],
    );
    if (work === undefined) {
      throw refusal("NOT_FOUND", `there is no materialization ${materializationId}`, "reporting_materialization_id");
    }
    const inserted = await tx.query(
      `insert into tombstone (reporting_materialization_id, what, account_id, reason, placed_at)
       values ($1, $2, $3, $4, ledger_now())
       on conflict do nothing returning 1`,
      [materializationId, what, work.account_id, reason],
    );
    const leaseUntilUs = work.lease_until ?? undefined;
    if (inserted.length === 0) return { placed: false, leaseUntilUs };
    await recordFacts(tx, work.account_id, [
      { kind: "materialization", subjectId: materializationId, event: "tombstone_placed", detail: { what, reason } },
    ]);
    return { placed: true, leaseUntilUs };
  });
}

/** Notes that access or data was withdrawn and the consumer was seen to be denied. Needs a lease claimed to withdraw. DeliveryError LEASE_LOST; refused: NOT_FOUND. */
export async function settleTombstone(db: Database, lease: Lease, what: "access" | "data"): Promise<void> {
  await db.transaction(async (tx) => {
    const work = await lockUnderLease(tx, lease);
    const settled = await tx.query(
      `update tombstone set settled_at = coalesce(settled_at, ledger_now())
       where reporting_materialization_id = $1 and what = $2
       returning 1`,
      [lease.materializationId, what],
    );
    if (settled.length === 0) throw refusal("NOT_FOUND", `no withdrawal of ${what} was announced`, "what");
    await recordFacts(tx, work.account_id, [
      { kind: "materialization", subjectId: lease.materializationId, event: "tombstone_settled", detail: { what } },
    ]);
  });
}
