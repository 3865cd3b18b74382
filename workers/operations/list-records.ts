import type { Scope } from "../../core/ledger/ledger-records.ts";
import type { Page, PageRequest } from "../../core/ledger/queries.ts";
import {
  listMaterializations,
  listObligations,
  listRevisions,
  obligationProjection,
} from "../../core/ledger/queries.ts";
import type { Materialization, Obligation, Revision } from "../../core/model/records.ts";
import type { Sql } from "../../core/store/sql.ts";

/** Obligations of a page, each projected at this moment. */
export async function obligationsPage(db: Sql, scope: Scope, request: PageRequest): Promise<Page<Obligation>> {
  const page = await listObligations(db, scope, request);
  const items: Obligation[] = [];
  for (const facts of page.items) {
    const obligation = await obligationProjection(db, scope, facts.reporting_obligation_id);
    if (obligation !== undefined) items.push(obligation);
  }
  return { items, after: page.after };
}

/** A revision and whether another one supersedes it. */
export interface ListedRevision {
  readonly revision: Revision;
  readonly current: boolean;
}

export async function revisionsPage(db: Sql, scope: Scope, request: PageRequest): Promise<Page<ListedRevision>> {
  const page = await listRevisions(db, scope, request);
  return { items: page.items.map(({ revision, current }) => ({ revision, current })), after: page.after };
}

export async function materializationsPage(
  db: Sql,
  scope: Scope,
  request: PageRequest & { readonly status?: Materialization["status"] },
): Promise<Page<Materialization>> {
  return await listMaterializations(db, scope, request);
}
