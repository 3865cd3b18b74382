import type { Problem } from "../errors.ts";
import { parseDuration } from "../model/duration.ts";
import { isId } from "../model/id.ts";
import type { ConfigurationGeneration, DestinationGeneration } from "./ledger-records.ts";

/** What is wrong with a configuration generation and the destination it names. Empty when it may be installed. */
export function configurationProblems(
  configuration: ConfigurationGeneration,
  destination: DestinationGeneration,
): readonly Problem[] {
  const problems: Problem[] = [];
  const demand = (holds: boolean, field: string, message: string): void => {
    if (!holds) problems.push({ code: "INVALID_CONFIGURATION", message: `${field} ${message}`, field });
  };
  const { feed_purpose, required_finality, reconciliation_mode, verification_profile, schedule } = configuration;
  demand(isStorable(configuration.account_id), "account_id", "must be 1 to 255 characters without U+0000");
  demand(
    isId(configuration.delivery_config_id) && configuration.delivery_config_id.length <= 64,
    "delivery_config_id",
    "must be an id of at most 64 characters",
  );
  demand(
    Number.isInteger(configuration.delivery_config_version) &&
      configuration.delivery_config_version >= 1 &&
      configuration.delivery_config_version <= 2_147_483_647,
    "delivery_config_version",
    "must be a whole number, at least 1",
  );
  demand(isId(configuration.report_definition_id), "report_definition_id", "must be an id");
  demand(configuration.destination_ref === destination.destination_ref, "destination_ref", "must name the destination");
  demand(isStorable(destination.destination_ref), "destination_ref", "must be 1 to 255 characters without U+0000");
  demand(
    parseDuration(schedule.period_duration) !== undefined,
    "schedule.period_duration",
    "must be a duration like P1D",
  );
  demand(parseDuration(schedule.delivery_sla) !== undefined, "schedule.delivery_sla", "must be a duration like PT4H");
  demand(
    Number.isInteger(destination.retention_days) &&
      destination.retention_days >= 1 &&
      destination.retention_days <= 36_500,
    "retention_days",
    "must be a whole number from 1 to 36500",
  );
  if (feed_purpose === "billing") {
    demand(required_finality === "official", "required_finality", "must be official for billing");
    demand(reconciliation_mode === "consumer_receipt", "reconciliation_mode", "must be consumer_receipt for billing");
    demand(verification_profile === "canonical_digest", "verification_profile", "must be canonical_digest for billing");
  }
  return problems;
}

/** Text that the database gives back as it was: no U+0000, no lone surrogate, at most 255 characters. */
export function isStorable(text: string): boolean {
  return text.length >= 1 && text.length <= 255 && !text.includes("\0") && !/\p{Surrogate}/u.test(text);
}
