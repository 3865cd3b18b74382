import { DeliveryError } from "../../errors.ts";
import type { Slice } from "../../model/revision-chain.ts";
import type { Sql } from "../../store/sql.ts";
import type { Lease, Phase } from "../ledger-records.ts";
import { sliceKey } from "../slice-key.ts";

/*
 * Every transition takes the row locks it needs in this order, so that two of them never wait for each other:
 * obligation, delivery_work, configuration and destination, slice, account_seq.
 */

/** Locks one obligation: attempts are numbered and ended under it. Undefined when there is none. */
export async function lockObligation(tx: Sql, obligationId: string): Promise<{ readonly facts: string } | undefined> {
  const [row] = await tx.query<{ facts: string }>(
    "select facts from obligation where reporting_obligation_id = $1 for update",
    [obligationId],
  );
  return row;
}

/** Locks the obligation that a materialization belongs to. */
export async function lockObligationOf(tx: Sql, materializationId: string): Promise<void> {
  await tx.query(
    `select 1 from obligation where reporting_obligation_id =
       (select reporting_obligation_id from materialization where reporting_materialization_id = $1)
     for update`,
    [materializationId],
  );
}

/** The work row of a held lease. */
export type LeasedWork = {
  readonly account_id: string;
  readonly phase: Phase;
  readonly commit_evidence: string | null;
  readonly committed_at: bigint | null;
  readonly probes: number;
};

/** Locks the work row if the lease still holds by the database clock; else DeliveryError LEASE_LOST. Until the commit no one else can claim it. */
export async function lockUnderLease(tx: Sql, lease: Lease): Promise<LeasedWork> {
  const [row] = await tx.query<LeasedWork>(
    `select account_id, phase, commit_evidence, committed_at, probes from delivery_work
     where reporting_materialization_id = $1 and lease_token = $2 and lease_until > ledger_now()
     for update`,
    [lease.materializationId, lease.token],
  );
  if (row === undefined) throw new DeliveryError("LEASE_LOST");
  return row;
}

/** Whether configuration and destination of an obligation are active; the answer holds until the transaction ends. */
export async function lockAuthority(tx: Sql, obligationId: string): Promise<boolean> {
  const [row] = await tx.query<{ active: boolean }>(
    `select c.deactivated_at is null and d.deactivated_at is null as active
     from obligation o
     join configuration c using (account_id, delivery_config_id, delivery_config_version)
     join destination d on d.destination_ref = c.destination_ref
     where o.reporting_obligation_id = $1
     for share of c, d`,
    [obligationId],
  );
  return row?.active === true;
}

/** The current revision of a slice; it stays current until the transaction ends. */
export async function lockCurrentRevision(tx: Sql, slice: Slice): Promise<string | undefined> {
  const [row] = await tx.query<{ current_revision_id: string | null }>(
    "select current_revision_id from slice where account_id = $1 and slice_key = $2 for share",
    [slice.account_id, sliceKey(slice)],
  );
  return row?.current_revision_id ?? undefined;
}
