import { DeliveryError } from "../core/errors.ts";
import { checkAuthority } from "../core/ledger/authority.ts";
import type { FailureOutcome } from "../core/ledger/ledger-records.ts";
import { latestProof } from "../core/ledger/queries.ts";
import { recordProof } from "../core/ledger/transitions.ts";
import type { DeliveryRun } from "./commit-once.ts";

/**
 * Before the first delivery to a destination generation: puts its promises to the test once and keeps what was found. Undefined: it
 * passed, now or earlier. A destination that fails ends the attempt, and is tested anew by the next one. A reader that sees nothing yet
 * may be slow: NOT_YET_VISIBLE is thrown and retried.
 */
export async function refuseUnproved(run: DeliveryRun): Promise<FailureOutcome | undefined> {
  const { db, lease, work, driver, attempt } = run;
  if (driver.prove === undefined || work.commit !== undefined) return undefined;
  if ((await latestProof(db, work.destination.destination_ref))?.proof.outcome === "pass") return undefined;
  await checkAuthority(db, lease.materializationId);
  const proof = await driver.prove(attempt);
  attempt.signal.throwIfAborted();
  await recordProof(db, lease, proof);
  const { failure_code: code, checks } = proof;
  if (code === null) return undefined;
  if (code === "NOT_YET_VISIBLE") throw new DeliveryError(code);
  return { code, detail: { checks: checks.filter(({ outcome }) => outcome === "fail") } };
}
