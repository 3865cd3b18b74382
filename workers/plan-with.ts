import type { PlanWork } from "../core/ledger/transitions.ts";
import type { Driver } from "../drivers/driver.ts";

/** Lets a driver fix every name of an attempt inside tx 0. */
export function planWith(driver: Driver): PlanWork {
  return ({ materializationId, attempt, createdAt, revision, obligation, destination }) => ({
    plan: driver.prepare({
      revision,
      obligationId: obligation.reporting_obligation_id,
      materializationId,
      attempt,
      destination: destination.settings,
      createdAt,
    }),
    method: driver.traits.method,
    transport: driver.traits.transport,
  });
}
