import type { ConfigurationGeneration, Lease, ReadyOutcome } from "../../../core/ledger/ledger-records.ts";
import {
  claim,
  createObligation,
  finishReady,
  installConfiguration,
  openMaterialization,
  publishRevision,
  recordCommit,
  recordPhase,
} from "../../../core/ledger/transitions.ts";
import { instantToUs } from "../../../core/model/instant.ts";
import type { Materialization, ObligationFacts, Revision } from "../../../core/model/records.ts";
import type { Database } from "../../../core/store/sql.ts";
import { type LedgerClock, stopLedgerClock } from "./clock.ts";
import {
  aConfiguration,
  aDestination,
  aRevision,
  commitEvidence,
  fileTransferPlan,
  obligationFacts,
  readyOutcome,
  retainedParts,
} from "./records.ts";

/** A ledger whose clock stands at 2026-08-27T02:00Z, two hours after the period that the record builders speak of. */
export interface LedgerWorld {
  readonly db: Database;
  readonly clock: LedgerClock;
}

export async function ledgerWorld(open: () => Promise<Database>): Promise<LedgerWorld> {
  const db = await open();
  const clock = await stopLedgerClock(db, instantToUs("2026-08-27T02:00:00Z"));
  return { db, clock };
}

/** Installs, creates and publishes what an attempt needs. */
export async function owed(
  db: Database,
  changes: {
    readonly configuration?: Partial<ConfigurationGeneration>;
    readonly facts?: Partial<ObligationFacts>;
    readonly revision?: Partial<Revision>;
    readonly hosting?: "producer" | "buyer";
  } = {},
): Promise<{ readonly facts: ObligationFacts; readonly revision: Revision }> {
  const destination = aDestination(changes.hosting === undefined ? {} : { hosting: changes.hosting });
  await installConfiguration(db, { configuration: aConfiguration(changes.configuration), destination });
  const { facts } = await createObligation(db, obligationFacts(changes.facts));
  const revision = aRevision(changes.revision);
  await publishRevision(db, { revision, retained: retainedParts(revision.row_count) });
  return { facts, revision };
}

export async function opened(
  db: Database,
  selection: "current" | "exact" = "current",
  ids: { readonly obligationId?: string; readonly revisionId?: string } = {},
): Promise<Materialization> {
  const { obligationId = "obl-1", revisionId = "rev-a" } = ids;
  return await openMaterialization(db, { obligationId, revisionId, selection, plan: fileTransferPlan });
}

/** Claims for worker `workerId` with a lease of one second; throws when there is nothing to claim. */
export async function claimed(
  db: Database,
  materialization: Pick<Materialization, "reporting_materialization_id">,
  workerId = "worker-a",
): Promise<Lease> {
  const materializationId = materialization.reporting_materialization_id;
  const taken = await claim(db, { materializationId, workerId, leaseMs: 1000 });
  if (taken === undefined) throw new Error(`nothing to claim for ${materializationId}`);
  return taken.lease;
}

export async function committed(db: Database, lease: Lease): Promise<void> {
  await recordPhase(db, lease, "writing");
  await recordCommit(db, lease, commitEvidence);
}

/** Runs an attempt to its good end. */
export async function delivered(
  db: Database,
  materialization: Materialization,
  revision: Revision,
  changes: Partial<ReadyOutcome> = {},
): Promise<Materialization> {
  const lease = await claimed(db, materialization);
  await committed(db, lease);
  const result = await finishReady(db, lease, readyOutcome(revision, changes));
  if (result.outcome !== "done") throw new Error(`refused: ${result.code}`);
  return result.record;
}
