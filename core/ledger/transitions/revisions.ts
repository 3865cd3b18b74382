import { canonicalJson } from "../../canonical-json.ts";
import type { JsonObject } from "../../json.ts";
import type { Revision } from "../../model/records.ts";
import { chainProblem } from "../../model/revision-chain.ts";
import type { Database, Sql } from "../../store/sql.ts";
import { type Fact, recordFacts } from "../facts.ts";
import type { RetainedDescriptor } from "../ledger-records.ts";
import { publicationProblems } from "../record-rules.ts";
import { refusal, refuseProblems } from "../refusal.ts";
import { sliceKey } from "../slice-key.ts";
import { fromStored } from "../stored-json.ts";

/**
 * Publishes a retained revision: it becomes the current one of its slice, and one `reporting.ledger_changed` commits with it.
 * The same revision again is `created: false`. Refused: other content under the id (REVISION_IMMUTABLE), a place in the
 * chain that is not its end (SUPERSEDES_MISSING, NOT_CURRENT, OFFICIAL_IS_FINAL, SUPERSEDES_UNKNOWN), a broken rule
 * (INVALID_REVISION). Of two that supersede the same revision exactly one is published.
 */
export async function publishRevision(
  db: Database,
  { revision, retained }: { readonly revision: Revision; readonly retained: RetainedDescriptor },
): Promise<{ readonly created: boolean }> {
  refuseProblems(publicationProblems(revision, retained));
  const key = sliceKey(revision);
  return await db.transaction(async (tx) => {
    const head = await lockSlice(tx, revision.account_id, key);
    const found = await storedRevision(tx, revision.reporting_revision_id);
    if (found !== undefined) {
      if (found === canonicalJson(revision)) return { created: false };
      const message = `revision ${revision.reporting_revision_id} is already published with other content`;
      throw refusal("REVISION_IMMUTABLE", message, "reporting_revision_id");
    }
    const problem = chainProblem(revision, head === undefined ? [] : [head]);
    if (problem !== undefined) refuseProblems([problem]);
    await insertRevision(tx, revision, retained, key);
    return { created: true };
  });
}

/** The end of the chain, locked so that it stays the end until this transaction does. */
async function lockSlice(tx: Sql, accountId: string, key: string): Promise<Revision | undefined> {
  await tx.query("insert into slice (account_id, slice_key) values ($1, $2) on conflict do nothing", [accountId, key]);
  const [row] = await tx.query<{ current_revision_id: string | null }>(
    "select current_revision_id from slice where account_id = $1 and slice_key = $2 for update",
    [accountId, key],
  );
  const current = row?.current_revision_id ?? null;
  const record = current === null ? undefined : await storedRevision(tx, current);
  return record === undefined ? undefined : fromStored<Revision>(record);
}

async function storedRevision(tx: Sql, id: string): Promise<string | undefined> {
  const [row] = await tx.query<{ record: string }>("select record from revision where reporting_revision_id = $1", [
    id,
  ]);
  return row?.record;
}

async function insertRevision(tx: Sql, revision: Revision, retained: RetainedDescriptor, key: string): Promise<void> {
  const { first, atUs } = await recordFacts(tx, revision.account_id, [published(revision, retained)]);
  await tx.query(
    `insert into revision (reporting_revision_id, account_id, slice_key, supersedes_reporting_revision_id, finality, record,
       retained, committed_at, seq)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      revision.reporting_revision_id,
      revision.account_id,
      key,
      revision.supersedes_reporting_revision_id ?? null,
      revision.finality,
      canonicalJson(revision),
      canonicalJson(retained),
      atUs,
      first,
    ],
  );
  await tx.query("update slice set current_revision_id = $3 where account_id = $1 and slice_key = $2", [
    revision.account_id,
    key,
    revision.reporting_revision_id,
  ]);
}

function published(revision: Revision, retained: RetainedDescriptor): Fact {
  const id = revision.reporting_revision_id;
  const superseded = revision.supersedes_reporting_revision_id;
  const supersedes: JsonObject = superseded === undefined ? {} : { supersedes_reporting_revision_id: superseded };
  return {
    kind: "revision",
    subjectId: id,
    event: "published",
    detail: {
      finality: revision.finality,
      row_count: revision.row_count,
      rows_acquired: retained.rowsAcquired,
      ...supersedes,
    },
    outbox: {
      type: "reporting.ledger_changed",
      causeId: id,
      payload: {
        account_id: revision.account_id,
        change_kind: "revision_published",
        reporting_revision_id: id,
        finality: revision.finality,
        ...supersedes,
      },
    },
    change: {
      action: superseded === undefined ? "created" : "updated",
      resourceId: id,
      parentIds: {
        report_definition_id: revision.report_definition_id,
        ...(superseded === undefined ? {} : { supersedes_reporting_revision_id: superseded }),
      },
    },
  };
}
