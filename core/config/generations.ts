import { canonicalJson } from "../canonical-json.ts";
import { sha256Hex } from "../digest/node-hasher.ts";
import type { ConfigurationGeneration, DestinationGeneration } from "../ledger/ledger-records.ts";
import type { DeliveryConfig, DestinationConfig } from "./config.ts";

/**
 * The immutable generation of a destination. Its `destination_ref` is the id and 12 hex digits over the content, so that exactly the same
 * destination keeps its ref and any change gets a new one.
 */
export function destinationGeneration(destination: DestinationConfig): DestinationGeneration {
  const ref = `${destination.destination_id}.${sha256Hex(canonicalJson(destination)).slice(0, 12)}`;
  return { ...destination, destination_ref: ref };
}

/** The immutable generation of a feed. `reportingProfile` is the definition's; the ref is its destination's. */
export function configurationGeneration(
  feed: DeliveryConfig,
  reportingProfile: string,
  destinationRef: string,
): ConfigurationGeneration {
  const { destination: _, ...rest } = feed;
  return { ...rest, reporting_profile: reportingProfile, destination_ref: destinationRef };
}
