import { canonicalJson } from "../../canonical-json.ts";
import type { JsonObject } from "../../json.ts";
import type { Database, Sql } from "../../store/sql.ts";
import { recordFacts } from "../facts.ts";
import type { Lease } from "../ledger-records.ts";
import { refusal } from "../refusal.ts";
import { type LeasedWork, lockUnderLease } from "./locks.ts";

/** Notes that the destination is being written to. Repeating it on a redelivery is fine; after the commit it is refused (ILLEGAL_TRANSITION). */
export async function recordPhase(
  db: Database,
  lease: Lease,
  phase: "writing",
  detail: JsonObject = {},
): Promise<void> {
  await db.transaction(async (tx) => {
    const work = await lockUnderLease(tx, lease);
    refusePhase(work, ["planned", "writing"], phase);
    await tx.query("update delivery_work set phase = $2 where reporting_materialization_id = $1", [
      lease.materializationId,
      phase,
    ]);
    await journal(tx, work, lease, phase, detail);
  });
}

/**
 * tx 1: keeps the evidence of the atomic step; the wire status stays `pending`. The same evidence again changes nothing, other
 * evidence is refused (ILLEGAL_TRANSITION): one materialization commits once. Returns when it was first recorded.
 */
export async function recordCommit(
  db: Database,
  lease: Lease,
  commit: JsonObject,
): Promise<{ readonly committedAtUs: bigint }> {
  const evidence = canonicalJson(commit);
  return await db.transaction(async (tx) => {
    const work = await lockUnderLease(tx, lease);
    if (work.committed_at !== null && work.commit_evidence === evidence) return { committedAtUs: work.committed_at };
    refusePhase(work, ["planned", "writing"], "committed");
    const [row] = await tx.query<{ committed_at: bigint }>(
      `update delivery_work set phase = 'committed', commit_evidence = $2, committed_at = ledger_now()
       where reporting_materialization_id = $1
       returning committed_at`,
      [lease.materializationId, evidence],
    );
    if (row === undefined) throw new Error("a locked work row is gone");
    await journal(tx, work, lease, "committed", { evidence: commit });
    return { committedAtUs: row.committed_at };
  });
}

/** Journals one read over the verification path and counts it. `detail` is what `explain` shows: outcome, code, counts; no provider text. */
export async function recordProbe(
  db: Database,
  lease: Lease,
  detail: JsonObject,
): Promise<{ readonly probes: number }> {
  return await db.transaction(async (tx) => {
    const work = await lockUnderLease(tx, lease);
    refusePhase(work, ["committed"], "probed");
    const probes = work.probes + 1;
    await tx.query("update delivery_work set probes = $2 where reporting_materialization_id = $1", [
      lease.materializationId,
      probes,
    ]);
    await journal(tx, work, lease, "probed", { ...detail, probe: probes });
    return { probes };
  });
}

function refusePhase(work: LeasedWork, from: readonly LeasedWork["phase"][], to: string): void {
  if (from.includes(work.phase)) return;
  throw refusal("ILLEGAL_TRANSITION", `a materialization in phase ${work.phase} cannot be ${to}`, "phase");
}

async function journal(tx: Sql, work: LeasedWork, lease: Lease, event: string, detail: JsonObject): Promise<void> {
  const fact = { kind: "materialization", subjectId: lease.materializationId, event, detail } as const;
  await recordFacts(tx, work.account_id, [fact]);
}
