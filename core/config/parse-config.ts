import { Ajv2020 } from "ajv/dist/2020.js";
import { type Problem, WaybillError } from "../errors.ts";
import type { JsonValue } from "../json.ts";
import { parseInstant } from "../model/instant.ts";
import { isTimeZone } from "../model/period.ts";
import type { DeliveryConfig, WaybillConfig } from "./config.ts";
import { configSchema } from "./config-schema.ts";
import { schemaProblems } from "./schema-problems.ts";
import { parseStructuredText, type TextFormat } from "./structured-text.ts";

/**
 * Reads `waybill.config.yaml`. WaybillError `usage` with all problems at once, each with its path; values never appear. What only a
 * driver, a definition file or the machine can judge is not looked at.
 */
export function parseConfig(text: string, format: TextFormat): WaybillConfig {
  const value = parseStructuredText(text, format);
  const validate = validator();
  if (!validate(value)) throw new WaybillError("usage", schemaProblems(validate.errors ?? []));
  const problems = crossProblems(value);
  if (problems.length > 0) throw new WaybillError("usage", problems);
  return value;
}

function validator() {
  const ajv = new Ajv2020({ allErrors: true, strict: true, verbose: true, allowUnionTypes: true });
  ajv.addFormat("date-time", (text: string) => parseInstant(text) !== undefined);
  return ajv.compile<WaybillConfig & JsonValue>(configSchema);
}

/** What a schema cannot say: references between parts, and rules of the contract about combinations. */
function crossProblems(config: WaybillConfig): readonly Problem[] {
  const problems: Problem[] = [];
  const add = (code: string, field: string, what: string): void => {
    problems.push({ code, field, message: `${field}: ${what}` });
  };

  const destinations = new Set<string>();
  config.destinations.forEach(({ destination_id }, index) => {
    const field = `destinations[${index}].destination_id`;
    if (destinations.has(destination_id)) add("REPEATED_ID", field, "another destination has the same id");
    destinations.add(destination_id);
  });

  const generations = new Set<string>();
  config.configurations.forEach((feed, index) => {
    const at = `configurations[${index}]`;
    const generation = JSON.stringify([feed.account_id, feed.delivery_config_id, feed.delivery_config_version]);
    if (generations.has(generation)) {
      add("REPEATED_ID", `${at}.delivery_config_id`, "another entry has the same account, id and version");
    }
    generations.add(generation);
    if (!destinations.has(feed.destination)) {
      add("UNKNOWN_DESTINATION", `${at}.destination`, "no destination has this destination_id");
    }
    for (const { code, field, what } of [...billingRules(feed), ...scheduleRules(feed)]) {
      add(code, `${at}.${field}`, what);
    }
  });
  return problems;
}

interface Rule {
  readonly code: string;
  readonly field: string;
  readonly what: string;
}

function billingRules(feed: DeliveryConfig): readonly Rule[] {
  const code = "BILLING_RULE";
  const rules: Rule[] = [];
  if (feed.feed_purpose === "billing") {
    if (feed.required_finality !== "official") {
      rules.push({ code, field: "required_finality", what: "a billing feed needs official" });
    }
    if (feed.reconciliation_mode !== "consumer_receipt") {
      rules.push({ code, field: "reconciliation_mode", what: "a billing feed needs consumer_receipt" });
    }
    if (feed.verification_profile !== "canonical_digest") {
      rules.push({ code, field: "verification_profile", what: "a billing feed needs canonical_digest" });
    }
  }
  return rules;
}

function scheduleRules({ schedule }: DeliveryConfig): readonly Rule[] {
  const { alignment, period_anchor, period_timezone } = schedule;
  const code = "SCHEDULE_RULE";
  const rules: Rule[] = [];
  const zoned = alignment === "source_timezone" || alignment === "billing_cycle";
  if (zoned && period_timezone === undefined) {
    rules.push({ code, field: "schedule.period_timezone", what: `is required for alignment ${alignment}` });
  }
  if (!zoned && period_timezone !== undefined) {
    rules.push({ code, field: "schedule.period_timezone", what: `has no meaning for alignment ${alignment}` });
  }
  if (alignment === "billing_cycle" && period_anchor === undefined) {
    rules.push({ code, field: "schedule.period_anchor", what: "is required for alignment billing_cycle" });
  }
  if (alignment !== "billing_cycle" && period_anchor !== undefined) {
    rules.push({ code, field: "schedule.period_anchor", what: "is for alignment billing_cycle only" });
  }
  if (period_timezone !== undefined && !isTimeZone(period_timezone)) {
    rules.push({ code, field: "schedule.period_timezone", what: "must be an IANA zone such as America/New_York" });
  }
  return rules;
}
