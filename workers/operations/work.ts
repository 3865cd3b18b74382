import type { Clock } from "../../core/clock.ts";
import { WaybillError } from "../../core/errors.ts";
import { transportNames } from "../../drivers/registry.ts";
import type { Waybill } from "../open-waybill.ts";

/** Reads `s3,local_fs`. WaybillError `usage` names what there is. */
export function transportsOf(text: string): readonly string[] {
  const transports = text.split(",").map((word) => word.trim());
  const unknown = transports.filter((word) => !transportNames.includes(word));
  if (unknown.length > 0) {
    const message = `--transports must be a list of ${transportNames.join(", ")}`;
    throw new WaybillError("usage", [{ code: "UNKNOWN_TRANSPORT", field: "--transports", message }]);
  }
  return transports;
}

export interface WorkOptions {
  /** How often leases of dead workers, withdrawals and lost hints are looked for. Ms. */
  readonly sweepEveryMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Told after each round what it found. */
  readonly onSweep?: (swept: { readonly expired: number; readonly enqueued: number }) => void;
  /** Told that a round failed, which the next one makes good. */
  readonly onTrouble?: (error: unknown) => void;
}

/** Takes work until the signal: the waybill's queue delivers, and rounds of the sweeper bring back what died or was lost. */
export async function work(waybill: Pick<Waybill, "sweep">, options: WorkOptions): Promise<void> {
  const { clock, signal } = options;
  while (!signal.aborted) {
    try {
      const { expired, enqueued } = await waybill.sweep();
      options.onSweep?.({ expired: expired.length, enqueued });
    } catch (error) {
      // A ledger that is away now may be back at the next round.
      options.onTrouble?.(error);
    }
    await clock.sleep(options.sweepEveryMs, signal).catch(() => undefined);
  }
}
