import { WaybillError } from "../../core/errors.ts";
import { findRevision } from "../../core/ledger/queries.ts";
import type { Revision } from "../../core/model/records.ts";
import type { CheckedConfig } from "./check-config.ts";
import { chooseFeed } from "./choose-feed.ts";
import { type Delivered, type DeliverPorts, type DeliverRequest, deliverRevision } from "./deliver-revision.ts";

export interface DeliverExactRequest extends Pick<DeliverRequest, "patienceMs" | "onProgress" | "signal"> {
  readonly revisionId: string;
  /** See chooseFeed. */
  readonly destination: string | undefined;
  readonly config: CheckedConfig | undefined;
}

/**
 * Delivers exactly one retained revision, whatever is current: a new materialization of the same content, for which no row is taken from
 * the source again. It never changes what is current.
 */
export async function deliver(
  ports: DeliverPorts,
  request: DeliverExactRequest,
): Promise<Delivered & { readonly revision: Revision }> {
  const entry = await findRevision(ports.db, { operator: true }, request.revisionId);
  if (entry === undefined) {
    const message = `there is no revision ${request.revisionId}; "waybill ls revisions" lists them`;
    throw new WaybillError("usage", [{ code: "NOT_FOUND", field: "revision", message }]);
  }
  const { revision } = entry;
  const feed = await chooseFeed(ports.db, revision, request.config, request.destination);
  const delivered = await deliverRevision(ports, { ...request, revision, feed, selection: "exact" });
  return { ...delivered, revision };
}
