import { canonicalJson } from "../../canonical-json.ts";
import { instantToUs } from "../../model/instant.ts";
import type { ObligationFacts } from "../../model/records.ts";
import type { Database, Sql } from "../../store/sql.ts";
import { lockAccount, recordFacts } from "../facts.ts";
import type { ConfigurationGeneration } from "../ledger-records.ts";
import { obligationProblems } from "../record-rules.ts";
import { refusal, refuseProblems } from "../refusal.ts";
import { sliceKey } from "../slice-key.ts";
import { fromStored } from "../stored-json.ts";

/** `created` false: the obligation was there already, and `facts` are the ones that hold, its id included. */
export interface CreatedObligation {
  readonly facts: ObligationFacts;
  readonly created: boolean;
}

/**
 * Creates what is owed for one period of one configuration generation; the same period again returns the first.
 * Refused: other frozen facts for that period (OBLIGATION_FROZEN, one problem per member), a period that has not ended by
 * the database clock (PERIOD_OPEN), an unknown or deactivated configuration (NOT_FOUND, CONFIGURATION_INACTIVE), facts that
 * break a rule (INVALID_OBLIGATION). Needs no revision.
 */
export async function createObligation(db: Database, facts: ObligationFacts): Promise<CreatedObligation> {
  return await db.transaction(async (tx) => {
    const configuration = await activeConfiguration(tx, facts);
    refuseProblems(obligationProblems(facts, configuration));
    await lockAccount(tx, facts.account_id);
    const found = await obligationOfPeriod(tx, facts);
    if (found !== undefined) {
      refuseOtherFacts(found, facts);
      return { facts: found, created: false };
    }
    await insertObligation(tx, facts);
    return { facts, created: true };
  });
}

async function activeConfiguration(tx: Sql, facts: ObligationFacts): Promise<ConfigurationGeneration> {
  const [row] = await tx.query<{ content: string; active: boolean }>(
    `select c.content, c.deactivated_at is null and d.deactivated_at is null as active
     from configuration c join destination d using (destination_ref)
     where c.account_id = $1 and c.delivery_config_id = $2 and c.delivery_config_version = $3
     for share`,
    [facts.account_id, facts.delivery_config_id, facts.delivery_config_version],
  );
  const name = `delivery configuration ${facts.delivery_config_id} version ${facts.delivery_config_version}`;
  if (row === undefined) throw refusal("NOT_FOUND", `${name} is not installed`, "delivery_config_id");
  if (!row.active) {
    throw refusal("CONFIGURATION_INACTIVE", `${name} or its destination was deactivated`, "delivery_config_id");
  }
  return fromStored(row.content);
}

async function obligationOfPeriod(tx: Sql, facts: ObligationFacts): Promise<ObligationFacts | undefined> {
  const [row] = await tx.query<{ facts: string }>(
    `select facts from obligation
     where account_id = $1 and delivery_config_id = $2 and delivery_config_version = $3
       and period_start = $4 and period_end = $5`,
    [
      facts.account_id,
      facts.delivery_config_id,
      facts.delivery_config_version,
      instantToUs(facts.period.start),
      instantToUs(facts.period.end),
    ],
  );
  return row === undefined ? undefined : fromStored(row.facts);
}

/** Ids differ when two planners race; everything else was frozen by the first. */
function refuseOtherFacts(found: ObligationFacts, facts: ObligationFacts): void {
  const members = new Set([...Object.keys(found), ...Object.keys(facts)] as (keyof ObligationFacts)[]);
  members.delete("reporting_obligation_id");
  const differing = [...members].filter(
    (member) => canonicalJson(found[member] ?? null) !== canonicalJson(facts[member] ?? null),
  );
  refuseProblems(
    differing.map((member) => ({
      code: "OBLIGATION_FROZEN",
      message: `obligation ${found.reporting_obligation_id} of this period was frozen with another ${member}`,
      field: member,
    })),
  );
}

async function insertObligation(tx: Sql, facts: ObligationFacts): Promise<void> {
  const periodEnd = instantToUs(facts.period.end);
  const { first, atUs } = await recordFacts(tx, facts.account_id, [
    {
      kind: "obligation",
      subjectId: facts.reporting_obligation_id,
      event: "created",
      detail: {
        delivery_config_id: facts.delivery_config_id,
        delivery_config_version: facts.delivery_config_version,
        period: { ...facts.period },
        expected_at: facts.expected_at,
      },
    },
  ]);
  if (atUs < periodEnd) {
    const message = `the period ends at ${facts.period.end}, which has not passed yet; what is owed is frozen at its end`;
    throw refusal("PERIOD_OPEN", message, "period.end");
  }
  const inserted = await tx.query(
    `insert into obligation (reporting_obligation_id, account_id, delivery_config_id, delivery_config_version, slice_key,
       period_start, period_end, expected_at, facts, created_at, seq)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
     on conflict (reporting_obligation_id) do nothing returning 1`,
    [
      facts.reporting_obligation_id,
      facts.account_id,
      facts.delivery_config_id,
      facts.delivery_config_version,
      sliceKey(facts),
      instantToUs(facts.period.start),
      periodEnd,
      instantToUs(facts.expected_at),
      canonicalJson(facts),
      atUs,
      first,
    ],
  );
  if (inserted.length === 0) {
    throw refusal("ID_TAKEN", "reporting_obligation_id is the id of another obligation", "reporting_obligation_id");
  }
}
