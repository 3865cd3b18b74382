import { WaybillError } from "../../core/errors.ts";
import { currentRevision, findConfiguration, findObligation, listMaterializations } from "../../core/ledger/queries.ts";
import type { Revision } from "../../core/model/records.ts";
import { type Delivered, type DeliverPorts, type DeliverRequest, deliverRevision } from "./deliver-revision.ts";

export interface Redriven extends Delivered {
  readonly revision: Revision;
  /** False when the current revision was delivered already and nothing was done. */
  readonly driven: boolean;
}

/**
 * Goes on with an obligation: a pending attempt of its current revision is run now, after a failed one the next is opened. WaybillError
 * `usage` when there is no such obligation, nothing was retained for it, or its feed is no longer active.
 */
export async function redrive(
  ports: DeliverPorts,
  obligationId: string,
  options: Pick<DeliverRequest, "patienceMs" | "onProgress" | "signal">,
): Promise<Redriven> {
  const { db } = ports;
  const obligation = await findObligation(db, { operator: true }, obligationId);
  if (obligation === undefined) {
    throw notFound(`there is no obligation ${obligationId}; "waybill ls obligations" lists them`, "obligation");
  }
  const scope = { accountId: obligation.account_id };
  const current = await currentRevision(db, scope, obligation);
  if (current === undefined) {
    throw notFound(`nothing was retained for this obligation yet; "waybill retain" its rows first`, "obligation");
  }
  const { revision } = current;
  const { items } = await listMaterializations(db, scope, {
    obligationId,
    revisionId: revision.reporting_revision_id,
    order: "newest",
    limit: 1,
  });
  const [last] = items;
  if (last?.status === "available" || last?.status === "delivered") {
    return { obligation, materialization: last, revision, driven: false };
  }
  const entry = await findConfiguration(db, scope, {
    accountId: obligation.account_id,
    deliveryConfigId: obligation.delivery_config_id,
    deliveryConfigVersion: obligation.delivery_config_version,
  });
  if (entry?.active !== true) {
    const message = `feed ${obligation.delivery_config_id} version ${obligation.delivery_config_version} was deactivated, so nothing more is delivered for it`;
    throw new WaybillError("usage", [{ code: "CONFIGURATION_INACTIVE", field: "obligation", message }]);
  }
  const feed = { configuration: entry.configuration, destination: entry.destination };
  const delivered = await deliverRevision(ports, { ...options, revision, feed, selection: "current" });
  return { ...delivered, revision, driven: true };
}

function notFound(message: string, field: string): WaybillError {
  return new WaybillError("usage", [{ code: "NOT_FOUND", field, message }]);
}
