import { DeliveryError } from "../core/errors.ts";
import type { Lease } from "../core/ledger/ledger-records.ts";
import { renew } from "../core/ledger/transitions.ts";
import type { Database } from "../core/store/sql.ts";

export interface LeaseKeeper {
  /** Aborted with DeliveryError LEASE_LOST once the lease is lost, or with the reason of the outer signal. */
  readonly signal: AbortSignal;
  /** Ends renewal and waits for one that is under way. */
  stop(): Promise<void>;
}

/**
 * Renews a lease every third of its length while work goes on. When the ledger says it is lost, or could not be asked for a whole lease
 * length, the signal ends the work: after that another worker may own it.
 */
export function keepLease(db: Database, lease: Lease, leaseMs: number, outer: AbortSignal): LeaseKeeper {
  const lost = new AbortController();
  let heldUntil = performance.now() + leaseMs;
  let renewing: Promise<void> | undefined;
  const renewOnce = async (): Promise<void> => {
    const asked = performance.now();
    try {
      await renew(db, lease, leaseMs);
      heldUntil = asked + leaseMs;
    } catch (error) {
      const isLost = error instanceof DeliveryError && error.code === "LEASE_LOST";
      if (isLost || performance.now() >= heldUntil) lost.abort(new DeliveryError("LEASE_LOST"));
    }
  };
  const timer = setInterval(() => {
    renewing ??= renewOnce().finally(() => {
      renewing = undefined;
    });
  }, leaseMs / 3);
  timer.unref();
  return {
    signal: AbortSignal.any([outer, lost.signal]),
    async stop() {
      clearInterval(timer);
      await renewing;
    },
  };
}
