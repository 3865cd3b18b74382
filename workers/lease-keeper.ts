import { DeliveryError } from "../core/errors.ts";
import type { Lease } from "../core/ledger/ledger-records.ts";
import { renew } from "../core/ledger/transitions.ts";
import type { Database } from "../core/store/sql.ts";

export interface LeaseKeeper {
  /**
   * Aborted with the reason of the outer signal; with DeliveryError LEASE_LOST once the lease is lost; with DESTINATION_UNREACHABLE
   * when the run takes too long.
   */
  readonly signal: AbortSignal;
  /** Ends renewal and waits for one that is under way. */
  stop(): Promise<void>;
}

export interface KeepLease {
  readonly db: Database;
  readonly lease: Lease;
  /** Ms. */
  readonly leaseMs: number;
  /** Ms. */
  readonly maxRunMs: number;
  readonly outer: AbortSignal;
}

/**
 * Renews a lease every third of its length while work goes on. When the ledger says it is lost, or could not be asked for a whole lease
 * length, the signal ends the work: after that another worker may own it.
 */
export function keepLease({ db, lease, leaseMs, maxRunMs, outer }: KeepLease): LeaseKeeper {
  const own = new AbortController();
  const startedAt = performance.now();
  let heldUntil = startedAt + leaseMs;
  let renewing: Promise<void> | undefined;
  const renewOnce = async (): Promise<void> => {
    const asked = performance.now();
    try {
      await renew(db, lease, leaseMs);
      heldUntil = asked + leaseMs;
    } catch (error) {
      if (error instanceof DeliveryError && error.code === "LEASE_LOST") own.abort(error);
    }
  };
  const timer = setInterval(() => {
    const now = performance.now();
    // Also while a renewal hangs: the database counts on without us.
    if (now >= heldUntil) own.abort(new DeliveryError("LEASE_LOST"));
    else if (now - startedAt >= maxRunMs) own.abort(new DeliveryError("DESTINATION_UNREACHABLE"));
    renewing ??= renewOnce().finally(() => {
      renewing = undefined;
    });
  }, leaseMs / 3);
  timer.unref();
  return {
    signal: AbortSignal.any([outer, own.signal]),
    async stop() {
      clearInterval(timer);
      await renewing;
    },
  };
}
