import type { Database, Sql } from "../../store/sql.ts";
import { recordFacts } from "../facts.ts";
import { endFailed } from "./fail.ts";
import { lockObligationOf } from "./locks.ts";

export interface ExpireOptions {
  /** A delivery that has been tried this often ends as TRIES_EXHAUSTED instead of being due again. Default: no bound. */
  readonly maxTries?: number;
  /** At most this many per call. Default 100. */
  readonly limit?: number;
}

export interface Expired {
  readonly materializationId: string;
  readonly transport: string;
  /** due: may be claimed again. failed: its tries were used up. */
  readonly outcome: "due" | "failed";
}

/** Takes leases back that ended by the database clock, so that what a dead worker held is due again. Returns what it changed. */
export async function expireLeases(db: Database, options: ExpireOptions = {}): Promise<readonly Expired[]> {
  const found = await db.query<{ reporting_materialization_id: string }>(
    `select reporting_materialization_id from delivery_work
     where lease_until <= ledger_now() order by lease_until limit $1`,
    [options.limit ?? 100],
  );
  const expired: Expired[] = [];
  for (const { reporting_materialization_id } of found) {
    const one = await db.transaction((tx) => expireOne(tx, reporting_materialization_id, options.maxTries));
    if (one !== undefined) expired.push(one);
  }
  return expired;
}

/**
 * For the one process that has a ledger to itself: every lease in it belongs to a process that is gone, so none of them need be waited
 * out. Returns what is due again.
 */
export async function expireAllLeases(db: Database): Promise<readonly Expired[]> {
  await db.query("update delivery_work set lease_until = ledger_now() where lease_until > ledger_now()");
  return await expireLeases(db, { limit: 10_000 });
}

type ExpiredRow = {
  readonly account_id: string;
  readonly transport: string;
  readonly phase: string;
  readonly tries: number;
  readonly lease_worker: string | null;
};

async function expireOne(
  tx: Sql,
  materializationId: string,
  maxTries: number | undefined,
): Promise<Expired | undefined> {
  await lockObligationOf(tx, materializationId);
  // Another sweeper or a claim may have been faster.
  const [row] = await tx.query<ExpiredRow>(
    `select account_id, transport, phase, tries, lease_worker from delivery_work
     where reporting_materialization_id = $1 and lease_until <= ledger_now()
     for update skip locked`,
    [materializationId],
  );
  if (row === undefined) return undefined;
  const { account_id, transport, phase, tries } = row;
  if (phase !== "done" && maxTries !== undefined && tries >= maxTries) {
    await endFailed(tx, materializationId, { code: "TRIES_EXHAUSTED", detail: { tries } });
    return { materializationId, transport, outcome: "failed" };
  }
  await tx.query(
    `update delivery_work set lease_token = null, lease_until = null, lease_worker = null, next_run_at = ledger_now()
     where reporting_materialization_id = $1`,
    [materializationId],
  );
  const detail = row.lease_worker === null ? { tries } : { worker: row.lease_worker, tries };
  await recordFacts(tx, account_id, [
    { kind: "materialization", subjectId: materializationId, event: "lease_expired", detail },
  ]);
  return phase === "done" ? undefined : { materializationId, transport, outcome: "due" };
}
