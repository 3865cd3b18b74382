import type { Waybill } from "../open-waybill.ts";
import type { ProgressListener } from "./progress.ts";

/** What one round of the sweeper did. */
export interface SweepDocument {
  /** Leases of workers that died. */
  readonly leases_expired: number;
  /** Materializations whose announced withdrawal was carried out and proved. */
  readonly withdrawn: readonly string[];
  /** Deliveries that were due and were run, or at least begun, here. */
  readonly deliveries_run: number;
}

/** One round of the sweeper; what it found due runs in this process until it is done or patience ends. */
export async function sweep(
  waybill: Pick<Waybill, "sweep" | "idle" | "clock">,
  options: {
    /** Retries and reads that are due only later are waited for no longer than this. Ms. */
    readonly patienceMs: number;
    readonly onProgress?: ProgressListener | undefined;
    readonly signal: AbortSignal;
  },
): Promise<SweepDocument> {
  const { expired, withdrawn, enqueued } = await waybill.sweep();
  options.onProgress?.({ stage: `running ${enqueued} deliveries` });
  const done = new AbortController();
  const patience = waybill.clock.sleep(options.patienceMs, AbortSignal.any([options.signal, done.signal]));
  try {
    await Promise.race([waybill.idle(), patience]);
  } finally {
    done.abort();
  }
  return { leases_expired: expired.length, withdrawn, deliveries_run: enqueued };
}
