import { type Clock, systemClock } from "../core/clock.ts";
import { DeliveryError, toDeliveryError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
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
import { keepLease } from "./lease-keeper.ts";
import type { WorkerLog } from "./log.ts";
import type { Spool } from "./spool.ts";

export interface SweeperOptions {
  readonly db: Database;
  readonly drivers: DriverPool;
  readonly dispatcher: Pick<Dispatcher, "enqueueDue">;
  readonly spool: Pick<Spool, "trim">;
  readonly workerId: string;
  readonly leaseMs: number;
  readonly log: WorkerLog;
  /** What drivers see as `nowUs`. Default: the system's. */
  readonly clock?: Pick<Clock, "nowUs">;
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
const maxWithdrawalMs = 60 * 60 * 1000;

/**
 * One round of everything that must happen without anybody asking: leases of dead workers end, announced withdrawals are carried out
 * and proved, the spool is brought back to its quota, and what is due is queued again. Any number of sweepers may run at once.
 */
export async function sweep(options: SweeperOptions, signal: AbortSignal): Promise<Swept> {
  const expired = await expireLeases(options.db);
  const withdrawn: string[] = [];
  for (const tombstone of await tombstonesToCheck(options.db, { recheckMs, limit: 100 })) {
    signal.throwIfAborted();
    if (await withdrawOne(options, tombstone, signal)) withdrawn.push(tombstone.materializationId);
  }
  await options.spool.trim();
  return { expired, withdrawn, enqueued: await options.dispatcher.enqueueDue() };
}

/** Takes the one lease of the materialization, so that no writer is at work, acts, and settles only what the reader can no longer see. */
async function withdrawOne(options: SweeperOptions, tombstone: Tombstone, outer: AbortSignal): Promise<boolean> {
  const { db, leaseMs, workerId, log } = options;
  const { materializationId, what } = tombstone;
  const claimed = await claim(db, { materializationId, workerId, leaseMs, purpose: "withdraw" });
  if (claimed === undefined) return false;
  const { lease } = claimed;
  const keeper = keepLease({ db, lease, leaseMs, maxRunMs: maxWithdrawalMs, outer });
  const end = (event: string, detail: JsonObject) =>
    release(db, lease, { delayMs: 0, event, detail: { ...detail, what }, uncounted: true });
  try {
    await withdrawAndProve(options, claimed, what, keeper.signal);
    await settleTombstone(db, lease, what);
    await end("withdrawn", {});
    return tombstone.settledAtUs === undefined;
  } catch (error) {
    if (outer.aborted) {
      await end("interrupted", {});
      throw outer.reason;
    }
    const { code } = toDeliveryError(keeper.signal.aborted ? keeper.signal.reason : error);
    log.error("withdrawal failed", error, { materialization: materializationId });
    if (code !== "LEASE_LOST") await end("withdrawal_failed", { code });
    return false;
  } finally {
    await keeper.stop();
  }
}

async function withdrawAndProve(
  { drivers, clock = systemClock }: SweeperOptions,
  { lease, work }: Claimed,
  what: Tombstone["what"],
  signal: AbortSignal,
): Promise<void> {
  const driver = await drivers.driverOf(work.destination);
  const plan = work.plan as DriverPlan;
  const attempt: Attempt = {
    key: `${lease.materializationId}.${lease.generation}`,
    signal,
    nowUs: () => clock.nowUs(),
  };
  await driver.withdraw(plan, what, attempt);
  if (work.commit === undefined) return;
  const profile = work.configuration.verification_profile;
  const seen = await driver.probe(plan, work.commit as CommitEvidence, profile, attempt);
  if (seen.outcome === "read") throw new DeliveryError("DESTINATION_UNREACHABLE");
}
