import { instantToUs } from "../../model/instant.ts";
import type { Materialization, ObligationFacts, Period, Revision } from "../../model/records.ts";
import type { Slice } from "../../model/revision-chain.ts";
import type { Sql } from "../../store/sql.ts";
import type { MaterializationWork, RetainedDescriptor, Scope } from "../ledger-records.ts";
import {
  type MaterializationRow,
  materializationColumns,
  materializationOf,
  selectWork,
  type WorkRow,
  workOf,
} from "../materialization-row.ts";
import { sliceKey } from "../slice-key.ts";
import { fromStored } from "../stored-json.ts";
import { type Page, type PageRequest, pageOf, windowOf, windowSql, windowValues } from "./page.ts";
import { accountOf } from "./scope.ts";

/** A published revision and what is retained of it. */
export interface RevisionEntry {
  readonly revision: Revision;
  readonly retained: RetainedDescriptor;
  /** Whether no other revision supersedes it. */
  readonly current: boolean;
}

type RevisionRow = {
  readonly account_id: string;
  readonly seq: bigint;
  readonly record: string;
  readonly retained: string;
  readonly current: boolean;
};

const selectRevision = `select r.account_id, r.seq, r.record, r.retained,
    s.current_revision_id = r.reporting_revision_id as current
  from revision r join slice s using (account_id, slice_key)`;

const revisionEntryOf = (row: RevisionRow): RevisionEntry => ({
  revision: fromStored<Revision>(row.record),
  retained: fromStored<RetainedDescriptor>(row.retained),
  current: row.current,
});

/** Undefined when there is none in this scope; another account's revision is none. */
export async function findRevision(db: Sql, scope: Scope, revisionId: string): Promise<RevisionEntry | undefined> {
  const [row] = await db.query<RevisionRow>(
    `${selectRevision} where ($1::text is null or r.account_id = $1) and r.reporting_revision_id = $2`,
    [accountOf(scope), revisionId],
  );
  return row === undefined ? undefined : revisionEntryOf(row);
}

/** The revision of a slice that no other supersedes. A Revision and ObligationFacts are slices too. */
export async function currentRevision(db: Sql, scope: Scope, slice: Slice): Promise<RevisionEntry | undefined> {
  const [row] = await db.query<RevisionRow>(
    `${selectRevision} where ($1::text is null or r.account_id = $1) and s.account_id = $2 and s.slice_key = $3
       and s.current_revision_id = r.reporting_revision_id`,
    [accountOf(scope), slice.account_id, sliceKey(slice)],
  );
  return row === undefined ? undefined : revisionEntryOf(row);
}

/** Revisions in the order of their publication. `slice` keeps one chain. */
export async function listRevisions(
  db: Sql,
  scope: Scope,
  request: PageRequest & { readonly slice?: Slice } = {},
): Promise<Page<RevisionEntry>> {
  const key = request.slice === undefined ? null : sliceKey(request.slice);
  const list = ["revisions", accountOf(scope), key];
  const window = windowOf(list, request);
  const rows = await db.query<RevisionRow>(
    `${selectRevision} where ($1::text is null or r.account_id = $1) and ($2::text is null or r.slice_key = $2)
     ${windowSql("r", window, 3)}`,
    [accountOf(scope), key, ...windowValues(window)],
  );
  return pageOf(list, window, rows, positionOf, revisionEntryOf);
}

type ObligationRow = { readonly account_id: string; readonly seq: bigint; readonly facts: string };

const obligationOf = (row: ObligationRow): ObligationFacts => fromStored<ObligationFacts>(row.facts);

/** Undefined when there is none in this scope. */
export async function findObligation(
  db: Sql,
  scope: Scope,
  obligationId: string,
): Promise<ObligationFacts | undefined> {
  const [row] = await db.query<ObligationRow>(
    `select account_id, seq, facts from obligation
     where ($1::text is null or account_id = $1) and reporting_obligation_id = $2`,
    [accountOf(scope), obligationId],
  );
  return row === undefined ? undefined : obligationOf(row);
}

/** Which obligation: one period of one configuration generation. */
export interface ObligationKey {
  readonly accountId: string;
  readonly deliveryConfigId: string;
  readonly deliveryConfigVersion: number;
  readonly period: Pick<Period, "start" | "end">;
}

/** The obligation of a period, by its natural key. */
export async function obligationFor(db: Sql, scope: Scope, key: ObligationKey): Promise<ObligationFacts | undefined> {
  const [row] = await db.query<ObligationRow>(
    `select account_id, seq, facts from obligation
     where ($1::text is null or account_id = $1) and account_id = $2 and delivery_config_id = $3
       and delivery_config_version = $4 and period_start = $5 and period_end = $6`,
    [
      accountOf(scope),
      key.accountId,
      key.deliveryConfigId,
      key.deliveryConfigVersion,
      instantToUs(key.period.start),
      instantToUs(key.period.end),
    ],
  );
  return row === undefined ? undefined : obligationOf(row);
}

/** Obligations in the order of their creation. `slice` keeps those that want revisions of it. */
export async function listObligations(
  db: Sql,
  scope: Scope,
  request: PageRequest & { readonly deliveryConfigId?: string; readonly slice?: Slice } = {},
): Promise<Page<ObligationFacts>> {
  const key = request.slice === undefined ? null : sliceKey(request.slice);
  const config = request.deliveryConfigId ?? null;
  const list = ["obligations", accountOf(scope), config, key];
  const window = windowOf(list, request);
  const rows = await db.query<ObligationRow>(
    `select o.account_id, o.seq, o.facts from obligation o
     where ($1::text is null or o.account_id = $1) and ($2::text is null or o.delivery_config_id = $2)
       and ($3::text is null or o.slice_key = $3)
     ${windowSql("o", window, 4)}`,
    [accountOf(scope), config, key, ...windowValues(window)],
  );
  return pageOf(list, window, rows, positionOf, obligationOf);
}

/** A materialization with what a worker or `explain` needs. Undefined when there is none in this scope. */
export async function findMaterialization(
  db: Sql,
  scope: Scope,
  materializationId: string,
): Promise<MaterializationWork | undefined> {
  const [row] = await db.query<WorkRow>(
    `${selectWork} where ($1::text is null or m.account_id = $1) and m.reporting_materialization_id = $2`,
    [accountOf(scope), materializationId],
  );
  return row === undefined ? undefined : workOf(row);
}

export interface MaterializationFilter {
  readonly obligationId?: string;
  readonly revisionId?: string;
  readonly status?: Materialization["status"];
}

/** Wire records in the order of their opening. */
export async function listMaterializations(
  db: Sql,
  scope: Scope,
  request: PageRequest & MaterializationFilter = {},
): Promise<Page<Materialization>> {
  const filter = [request.obligationId ?? null, request.revisionId ?? null, request.status ?? null];
  const list = ["materializations", accountOf(scope), ...filter];
  const window = windowOf(list, request);
  const rows = await db.query<MaterializationRow>(
    `select ${materializationColumns} from materialization m join obligation o using (reporting_obligation_id)
     where ($1::text is null or m.account_id = $1) and ($2::text is null or m.reporting_obligation_id = $2)
       and ($3::text is null or m.reporting_revision_id = $3) and ($4::text is null or m.status = $4)
     ${windowSql("m", window, 5)}`,
    [accountOf(scope), ...filter, ...windowValues(window)],
  );
  return pageOf(list, window, rows, positionOf, materializationOf);
}

function positionOf(row: { readonly account_id: string; readonly seq: bigint }): { accountId: string; seq: bigint } {
  return { accountId: row.account_id, seq: row.seq };
}
