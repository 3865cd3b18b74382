import type { JsonObject } from "../json.ts";
import { usToInstant } from "../model/instant.ts";
import type {
  Materialization,
  MaterializationStatus,
  MethodPattern,
  ObligationFacts,
  Revision,
} from "../model/records.ts";
import type { ConfigurationGeneration, DestinationGeneration, MaterializationWork, Phase } from "./ledger-records.ts";
import { fromStored } from "./stored-json.ts";

/** What `materializationColumns` selects from materialization `m` and obligation `o`. */
export type MaterializationRow = {
  readonly reporting_materialization_id: string;
  readonly account_id: string;
  readonly reporting_obligation_id: string;
  readonly reporting_revision_id: string;
  readonly attempt: number;
  readonly selection: string;
  readonly method: string;
  readonly transport: string;
  readonly created_at: bigint;
  readonly seq: bigint;
  readonly status: string;
  readonly ended_at: bigint | null;
  readonly failure_code: string | null;
  readonly resource: string | null;
  readonly verification: string | null;
  readonly obligation: string;
};

export const materializationColumns = `m.reporting_materialization_id, m.account_id, m.reporting_obligation_id,
  m.reporting_revision_id, m.attempt, m.selection, m.method, m.transport, m.created_at, m.seq, m.status, m.ended_at,
  m.failure_code, m.resource, m.verification, o.facts as obligation`;

/** The wire record of a row. */
export function materializationOf(row: MaterializationRow): Materialization {
  const facts = fromStored<ObligationFacts>(row.obligation);
  const record: Materialization = {
    reporting_materialization_id: row.reporting_materialization_id,
    reporting_revision_id: row.reporting_revision_id,
    reporting_obligation_id: row.reporting_obligation_id,
    delivery_config_id: facts.delivery_config_id,
    delivery_config_version: facts.delivery_config_version,
    destination_ref: facts.destination_ref ?? "",
    feed_purpose: facts.feed_purpose,
    method: row.method as MethodPattern,
    transport: row.transport,
    attempt: row.attempt,
    status: row.status as MaterializationStatus,
    created_at: usToInstant(row.created_at),
  };
  if (row.ended_at === null) return record;
  const endedAt = usToInstant(row.ended_at);
  if (row.failure_code !== null) return { ...record, failed_at: endedAt, failure_code: row.failure_code };
  return {
    ...record,
    ready_at: endedAt,
    ...(row.resource === null ? {} : { resource: fromStored(row.resource) }),
    ...(row.verification === null ? {} : { verification: fromStored(row.verification) }),
  };
}

/** A materialization row joined with its work, revision `r`, configuration `c` and destination `d`. */
export type WorkRow = MaterializationRow & {
  readonly phase: string;
  readonly plan: string;
  readonly commit_evidence: string | null;
  readonly committed_at: bigint | null;
  readonly tries: number;
  readonly probes: number;
  readonly next_run_at: bigint;
  readonly revision: string;
  readonly configuration: string;
  readonly destination: string;
};

/** Selects WorkRows; the caller appends the WHERE. */
export const selectWork = `select ${materializationColumns}, m.plan, w.phase, w.commit_evidence, w.committed_at, w.tries,
    w.probes, w.next_run_at, r.record as revision, c.content as configuration, d.content as destination
  from materialization m
  join delivery_work w using (reporting_materialization_id)
  join obligation o using (reporting_obligation_id)
  join revision r using (reporting_revision_id)
  join configuration c on c.account_id = o.account_id
    and c.delivery_config_id = o.delivery_config_id and c.delivery_config_version = o.delivery_config_version
  join destination d on d.destination_ref = c.destination_ref`;

/** Everything a worker needs of one materialization. */
export function workOf(row: WorkRow): MaterializationWork {
  return {
    record: materializationOf(row),
    accountId: row.account_id,
    phase: row.phase as Phase,
    selection: row.selection as MaterializationWork["selection"],
    plan: fromStored<JsonObject>(row.plan),
    commit: row.commit_evidence === null ? undefined : fromStored<JsonObject>(row.commit_evidence),
    committedAtUs: row.committed_at ?? undefined,
    tries: row.tries,
    probes: row.probes,
    nextRunAtUs: row.next_run_at,
    revision: fromStored<Revision>(row.revision),
    obligation: fromStored<ObligationFacts>(row.obligation),
    configuration: fromStored<ConfigurationGeneration>(row.configuration),
    destination: fromStored<DestinationGeneration>(row.destination),
  };
}
