import { canonicalJson } from "../../canonical-json.ts";
import type { DestinationProof } from "../../model/destination-proof.ts";
import type { Database } from "../../store/sql.ts";
import { recordFacts } from "../facts.ts";
import type { Lease } from "../ledger-records.ts";
import { lockUnderLease } from "./locks.ts";

/**
 * Keeps what a test of the destination found, passed or not, and tells it in the story of the materialization that asked for it.
 * DeliveryError LEASE_LOST.
 */
export async function recordProof(db: Database, lease: Lease, proof: DestinationProof): Promise<void> {
  await db.transaction(async (tx) => {
    const work = await lockUnderLease(tx, lease);
    const [row] = await tx.query<{ destination_ref: string }>(
      `insert into destination_proof (destination_ref, proved_at, outcome, failure_code, checks)
       select c.destination_ref, ledger_now(), $2, $3, $4
       from materialization m
       join obligation o using (reporting_obligation_id)
       join configuration c on c.account_id = o.account_id
         and c.delivery_config_id = o.delivery_config_id and c.delivery_config_version = o.delivery_config_version
       where m.reporting_materialization_id = $1
       returning destination_ref`,
      [lease.materializationId, proof.outcome, proof.failure_code, canonicalJson(proof.checks)],
    );
    if (row === undefined) throw new Error("a leased materialization has no destination");
    const event = proof.outcome === "pass" ? "destination_proved" : "destination_refused";
    const detail = { ...proof, destination_ref: row.destination_ref };
    await recordFacts(tx, work.account_id, [
      { kind: "materialization", subjectId: lease.materializationId, event, detail },
    ]);
  });
}
