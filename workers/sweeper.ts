import { DeliveryError, toDeliveryError } from "../core/errors.ts";
import { type Tombstone, tombstonesToCheck } from "../core/ledger/queries.ts";
import {
  type Claimed,
  claim,
  type Expired,
  expireLeases,
  release,
  settleTombstone,
} from "../core/ledger/transitions.ts";
import type { Database } from "../core/store/sql.ts";
import type { Attempt, CommitEvidence, DriverPlan } from "../drivers/driver.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { DriverPool } from "./driver-pool.ts";
import type { WorkerLog } from "./log.ts";

export interface SweeperOptions {
  readonly db: Database;
  readonly drivers: DriverPool;
  readonly dispatcher: Pick<Dispatcher, "enqueueDue">;
  readonly workerId: string;
  readonly leaseMs: number;
  readonly log: WorkerLog;
}

export interface Swept {
  readonly expired: readonly Expired[];
  /** Withdrawals that were carried out and seen to be denied. */
  readonly withdrawn: readonly string[];
  /** Deliveries that were due and are now queued. */
  readonly enqueued: number;
}

/** How long after a withdrawal a late write of a worker that was cut off is still looked for. */
const recheckMs = 24 * 60 * 60 * 1000;

/**
 * One round of everything that must happen without anybody asking: leases of dead workers end, announced withdrawals are carried out
 * and proved, and what is due is queued again. Any number of sweepers may run at once.
 */
export async function sweep(options: SweeperOptions, signal: AbortSignal): Promise<Swept> {
  const expired = await expireLeases(options.db);
  const withdrawn: string[] = [];
  for (const tombstone of await tombstonesToCheck(options.db, { recheckMs, limit: 100 })) {
    signal.throwIfAborted();
    if (await withdrawOne(options, tombstone, signal)) withdrawn.push(tombstone.materializationId);
  }
  return { expired, withdrawn, enqueued: await options.dispatcher.enqueueDue() };
}

/** Takes the one lease of the materialization, so that no writer is at work, acts, and settles only what the reader can no longer see. */
async function withdrawOne(options: SweeperOptions, tombstone: Tombstone, signal: AbortSignal): Promise<boolean> {
  const { db, leaseMs, workerId, log } = options;
  const { materializationId, what } = tombstone;
  const claimed = await claim(db, { materializationId, workerId, leaseMs, purpose: "withdraw" });
  if (claimed === undefined) return false;
  try {
    await withdrawAndProve(options, claimed, what, signal);
    await settleTombstone(db, claimed.lease, what);
    await release(db, claimed.lease, { delayMs: 0, event: "withdrawn", detail: { what } });
    return tombstone.settledAtUs === undefined;
  } catch (error) {
    signal.throwIfAborted();
    const { code } = toDeliveryError(error);
    log.error("withdrawal failed", error, { materialization: materializationId });
    if (code !== "LEASE_LOST") {
      await release(db, claimed.lease, { delayMs: 0, event: "withdrawal_failed", detail: { what, code } });
    }
    return false;
  }
}

async function withdrawAndProve(
  { drivers }: SweeperOptions,
  { lease, work }: Claimed,
  what: Tombstone["what"],
  signal: AbortSignal,
): Promise<void> {
  const driver = await drivers.driverOf(work.destination);
  const plan = work.plan as DriverPlan;
  const attempt: Attempt = {
    key: `${lease.materializationId}.${lease.generation}`,
    signal,
    nowUs: () => BigInt(Date.now()) * 1000n,
  };
  await driver.withdraw(plan, what, attempt);
  if (work.commit === undefined) return;
  const profile = work.configuration.verification_profile;
  const seen = await driver.probe(plan, work.commit as CommitEvidence, profile, attempt);
  if (seen.outcome === "read") throw new DeliveryError("DESTINATION_UNREACHABLE");
}
