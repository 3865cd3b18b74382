import { canonicalJson } from "../canonical-json.ts";
import type { JsonObject } from "../json.ts";
import { newId } from "../model/id.ts";
import { usToInstant } from "../model/instant.ts";
import type { Sql } from "../store/sql.ts";

export type SubjectKind = "configuration" | "destination" | "obligation" | "revision" | "materialization";

/** One thing that happened, as the journal tells it, and what it makes others notice. All three commit together. */
export interface Fact {
  readonly kind: SubjectKind;
  readonly subjectId: string;
  /** Past tense, snake case: `published`, `lease_expired`. */
  readonly event: string;
  readonly detail?: JsonObject;
  readonly outbox?: OutboxEvent;
  readonly change?: AccountChange;
}

/** A logical notification. Members that differ per subscriber are added when it fans out. */
export interface OutboxEvent {
  readonly type: "reporting.delivery_ready" | "reporting.ledger_changed";
  /** Id of the record that caused it; one event per (type, cause). */
  readonly causeId: string;
  readonly payload: JsonObject;
}

/** A change feed record without `change_id`, `recorded_at` and account. */
export interface AccountChange {
  readonly action: "created" | "updated" | "status_changed";
  readonly resourceId: string;
  readonly parentIds: { readonly [name: string]: string };
}

/** Where facts stand in their account's order. Fact i has place `first + i`. */
export interface Places {
  readonly first: bigint;
  /** Database time, never earlier than that of a smaller place. */
  readonly atUs: bigint;
}

/**
 * Gives facts their places and writes them. Locks the account's counter until the transaction ends, so that places become
 * visible in order: call it after every other row lock was taken, once per transaction.
 */
export async function recordFacts(tx: Sql, accountId: string, facts: readonly Fact[]): Promise<Places> {
  const places = await takePlaces(tx, accountId, BigInt(facts.length));
  for (const [index, fact] of facts.entries()) {
    const seq = places.first + BigInt(index);
    await insertJournal(tx, accountId, seq, places.atUs, fact);
    if (fact.outbox !== undefined) await insertOutbox(tx, accountId, seq, places.atUs, fact.outbox);
    if (fact.change !== undefined) await insertChange(tx, accountId, seq, places.atUs, fact.change);
  }
  return places;
}

/**
 * Takes the account's counter early, for checks that no concurrent transition of this account may invalidate.
 * Like recordFacts: only after every other row lock.
 */
export async function lockAccount(tx: Sql, accountId: string): Promise<void> {
  await tx.query(
    `insert into account_seq (account_id, last, last_at) values ($1, 0, ledger_now())
     on conflict (account_id) do update set last = account_seq.last`,
    [accountId],
  );
}

async function takePlaces(tx: Sql, accountId: string, count: bigint): Promise<Places> {
  // The time is read after the lock was granted and kept from running backwards with the machine's clock.
  const rows = await tx.query<{ last: bigint; last_at: bigint }>(
    `insert into account_seq (account_id, last, last_at) values ($1, $2, ledger_now())
     on conflict (account_id) do update
       set last = account_seq.last + excluded.last, last_at = greatest(account_seq.last_at, ledger_now())
     returning last, last_at`,
    [accountId, count],
  );
  const [row] = rows;
  if (row === undefined) throw new Error("the account counter returned no row");
  return { first: row.last - count + 1n, atUs: row.last_at };
}

async function insertJournal(tx: Sql, accountId: string, seq: bigint, atUs: bigint, fact: Fact): Promise<void> {
  await tx.query(
    "insert into journal (account_id, seq, at, kind, subject_id, event, detail) values ($1, $2, $3, $4, $5, $6, $7)",
    [accountId, seq, atUs, fact.kind, fact.subjectId, fact.event, canonicalJson(fact.detail ?? {})],
  );
}

async function insertOutbox(tx: Sql, accountId: string, seq: bigint, atUs: bigint, event: OutboxEvent): Promise<void> {
  await tx.query(
    "insert into outbox (account_id, seq, event_type, cause_id, payload, created_at) values ($1, $2, $3, $4, $5, $6)",
    [accountId, seq, event.type, event.causeId, canonicalJson(event.payload), atUs],
  );
}

async function insertChange(
  tx: Sql,
  accountId: string,
  seq: bigint,
  atUs: bigint,
  change: AccountChange,
): Promise<void> {
  const changeId = newId("chg");
  const resourceType = "delivery_report";
  const record = {
    change_id: changeId,
    recorded_at: usToInstant(atUs),
    resource: {
      type: resourceType,
      account_id: accountId,
      resource_id: change.resourceId,
      parent_ids: change.parentIds,
    },
    action: change.action,
    origin: { kind: "seller_system" },
    repair: { task: "get_media_buy_delivery" },
  };
  await tx.query(
    `insert into account_change (account_id, seq, change_id, resource_type, record, recorded_at)
     values ($1, $2, $3, $4, $5, $6)`,
    [accountId, seq, changeId, resourceType, canonicalJson(record), atUs],
  );
}
