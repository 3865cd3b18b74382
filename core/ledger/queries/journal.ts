import type { JsonObject } from "../../json.ts";
import type { Sql } from "../../store/sql.ts";
import type { JournalEntry, Scope } from "../ledger-records.ts";
import { fromStored } from "../stored-json.ts";
import { type Page, type PageRequest, pageOf, windowOf, windowSql, windowValues } from "./page.ts";
import { accountOf } from "./scope.ts";

type JournalRow = {
  readonly account_id: string;
  readonly seq: bigint;
  readonly at: bigint;
  readonly kind: string;
  readonly subject_id: string;
  readonly event: string;
  readonly detail: string;
};

/** What happened to one subject (a record's id, or configurationSubject), in order. */
export async function journalOf(
  db: Sql,
  scope: Scope,
  subjectId: string,
  request: PageRequest = {},
): Promise<Page<JournalEntry>> {
  const list = ["journal", accountOf(scope), subjectId];
  const window = windowOf(list, request);
  const rows = await db.query<JournalRow>(
    `select j.account_id, j.seq, j.at, j.kind, j.subject_id, j.event, j.detail from journal j
     where ($1::text is null or j.account_id = $1) and j.subject_id = $2
     ${windowSql("j", window, 3)}`,
    [accountOf(scope), subjectId, ...windowValues(window)],
  );
  return pageOf(list, window, rows, ({ account_id, seq }) => ({ accountId: account_id, seq }), entryOf);
}

function entryOf(row: JournalRow): JournalEntry {
  return {
    seq: row.seq,
    atUs: row.at,
    accountId: row.account_id,
    kind: row.kind,
    subjectId: row.subject_id,
    event: row.event,
    detail: fromStored<JsonObject>(row.detail),
  };
}
