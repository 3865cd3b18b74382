import type { FailureCode } from "../../failure-table.ts";
import type { Obligation, ObligationFacts, Revision } from "../../model/records.ts";
import { projectObligation } from "../../status/obligation-health.ts";
import type { Sql } from "../../store/sql.ts";
import type { Scope } from "../ledger-records.ts";
import { fromStored } from "../stored-json.ts";
import { accountOf } from "./scope.ts";

type StateRow = {
  readonly facts: string;
  readonly now: bigint;
  readonly current_revision: string | null;
  readonly revision_count: bigint;
  readonly materialization_count: bigint;
  readonly successful_count: bigint;
  readonly readable_until: bigint | null;
  readonly ever_ready: boolean;
  readonly last_failure: string | null;
};

/**
 * The wire obligation at this moment of the database clock. `recoveryWindowSeconds`: how long a late report counts as delayed
 * before it is action_required; default 7200. Undefined when there is none in this scope.
 */
export async function obligationProjection(
  db: Sql,
  scope: Scope,
  obligationId: string,
  options: { readonly recoveryWindowSeconds?: number } = {},
): Promise<Obligation | undefined> {
  const row = await selectState(db, scope, obligationId);
  if (row === undefined) return undefined;
  const current = row.current_revision === null ? undefined : fromStored<Revision>(row.current_revision);
  const state = {
    facts: fromStored<ObligationFacts>(row.facts),
    asOfUs: row.now,
    revisionCount: Number(row.revision_count),
    current,
    materializationCount: Number(row.materialization_count),
    successfulMaterializationCount: Number(row.successful_count),
    readableUntilUs: row.readable_until ?? undefined,
    everReady: row.ever_ready,
    lastFailure: (row.last_failure as FailureCode | null) ?? undefined,
  };
  return projectObligation(state, BigInt(options.recoveryWindowSeconds ?? 7200) * 1_000_000n);
}

async function selectState(db: Sql, scope: Scope, obligationId: string): Promise<StateRow | undefined> {
  const [row] = await db.query<StateRow>(
    `with clock as materialized (select ledger_now() as now),
     mine as (
       select o.*, s.current_revision_id from obligation o
       left join slice s on s.account_id = o.account_id and s.slice_key = o.slice_key
       where ($1::text is null or o.account_id = $1) and o.reporting_obligation_id = $2),
     attempt as (
       select m.*, m.status in ('available', 'delivered') as ready,
         m.reporting_revision_id = mine.current_revision_id as of_current,
         exists (select 1 from tombstone t where t.reporting_materialization_id = m.reporting_materialization_id) as withdrawn
       from materialization m join mine using (reporting_obligation_id))
     select mine.facts, clock.now,
       (select r.record from revision r where r.reporting_revision_id = mine.current_revision_id) as current_revision,
       (select count(*) from revision r where r.account_id = mine.account_id and r.slice_key = mine.slice_key)
         as revision_count,
       (select count(*) from attempt) as materialization_count,
       (select count(*) from attempt where ready) as successful_count,
       (select min(expires_at) from attempt where ready and of_current and not withdrawn and expires_at > clock.now)
         as readable_until,
       exists (select 1 from attempt where ready and of_current) as ever_ready,
       (select failure_code from attempt where of_current order by attempt.attempt desc limit 1) as last_failure
     from mine, clock`,
    [accountOf(scope), obligationId],
  );
  return row;
}
