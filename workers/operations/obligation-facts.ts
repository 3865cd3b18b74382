import { WaybillError } from "../../core/errors.ts";
import type { ConfigurationGeneration } from "../../core/ledger/ledger-records.ts";
import { fullCoverage } from "../../core/model/coverage.ts";
import { idSet } from "../../core/model/id.ts";
import type { ObligationFacts, Revision } from "../../core/model/records.ts";
import { expectedAt } from "../../core/schedule/calendar.ts";
import { isPeriodOf } from "./report-period.ts";

/** Why a feed does not want a revision, or undefined when it does. */
export function mismatchOf(configuration: ConfigurationGeneration, revision: Revision): string | undefined {
  if (configuration.account_id !== revision.account_id) return "is for another account";
  if (configuration.report_definition_id !== revision.report_definition_id) return "is for another report definition";
  if (configuration.reporting_profile !== revision.reporting_profile) return "is for another reporting_profile";
  if (!isPeriodOf(revision.period, configuration.schedule)) return "has no such period in its schedule";
  const { media_buy_ids } = configuration;
  if (media_buy_ids === "all") return undefined;
  const wanted = idSet(media_buy_ids).join();
  return wanted === idSet(revision.media_buy_ids).join() ? undefined : "is for other media buys";
}

/** What a feed is owed for the period of a revision, as the planner will say it at period close. WaybillError `usage` when it is not owed. */
export function obligationFacts(
  configuration: ConfigurationGeneration,
  revision: Revision,
  obligationId: string,
): ObligationFacts {
  const mismatch = mismatchOf(configuration, revision);
  if (mismatch !== undefined) {
    const message = `feed ${configuration.delivery_config_id} ${mismatch} than revision ${revision.reporting_revision_id}`;
    throw new WaybillError("usage", [{ code: "FEED_DIFFERS", message }]);
  }
  const { period, media_buy_ids } = revision;
  return {
    reporting_obligation_id: obligationId,
    delivery_config_id: configuration.delivery_config_id,
    delivery_config_version: configuration.delivery_config_version,
    report_definition_id: configuration.report_definition_id,
    feed_purpose: configuration.feed_purpose,
    reporting_profile: configuration.reporting_profile,
    account_id: configuration.account_id,
    media_buy_ids,
    scope_resolved_at: period.end,
    coverage: fullCoverage(media_buy_ids, period.end),
    period,
    expected_at: expectedAt(period, configuration.schedule),
    schedule: configuration.schedule,
    destination_ref: configuration.destination_ref,
    required_finality: configuration.required_finality,
    reconciliation_mode: configuration.reconciliation_mode,
  };
}
