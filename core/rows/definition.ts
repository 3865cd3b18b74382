import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { schemaProblems } from "../config/schema-problems.ts";
import { parseStructuredText, type TextFormat } from "../config/structured-text.ts";
import { type Problem, WaybillError } from "../errors.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import { parseDuration } from "../model/duration.ts";
import { isTimeZone } from "../model/period.ts";
import type { FinalityPolicy } from "../schedule/finality.ts";
import { isSummable } from "./column-type.ts";
import { definitionSchema } from "./definition-schema.ts";
import type { ColumnType, ProfileMember } from "./profile.ts";

/** Our own file that a person writes; the official documents are generated from it. Members mean what docs/DEFINITION.md says. */
export interface Definition {
  readonly waybill_definition: 1;
  readonly report_definition_id: string;
  readonly reporting_profile: string;
  readonly schema_version: string;
  readonly grain: string;
  /** Where the pinned documents are published: `<base>/<report_definition_id>/<sha256>/<file>.json`. https, without a slash at the end. */
  readonly documents_base_uri: string;
  readonly source: {
    readonly provider: { readonly domain: string };
    readonly system: string;
    readonly api_version: string;
    /** Every source option that can change the numbers. Default: none. */
    readonly query_semantics?: JsonObject;
  };
  readonly calendar: {
    readonly timezone_basis: "utc" | "account_timezone" | "schedule_timezone" | "configured_timezone";
    readonly timezone?: string;
  };
  readonly primary_keys: readonly string[];
  readonly media_buy_member?: string;
  /** In column order. */
  readonly members: readonly DefinitionMember[];
  readonly control_totals: readonly DefinitionTotal[];
  readonly finality_policies: readonly FinalityPolicy[];
  readonly restatement: { readonly source_requery_duration: string };
}

export interface DefinitionMember {
  readonly name: string;
  readonly type: ColumnType["kind"];
  /** decimal-string only: all digits, 1..38. */
  readonly precision?: number;
  /** decimal-string only: fraction digits, 1..precision. */
  readonly scale?: number;
  /** timestamp only. Default 6. */
  readonly fraction?: 0 | 3 | 6;
  /** integer-string only. Default int64. */
  readonly column?: "int64" | "decimal38";
  /** Unit of a control total over this member that names none itself. */
  readonly unit?: string;
  /** What a row without a value looks like. Default forbidden. */
  readonly missing?: "forbidden" | "null" | "absent";
}

export interface DefinitionTotal {
  readonly name: string;
  /** Member that is summed. */
  readonly member: string;
  readonly unit?: string;
}

/** Reads a definition file. WaybillError `usage` with all problems at once, each with its path. */
export function parseDefinition(text: string, format: TextFormat): Definition {
  return checkDefinition(parseStructuredText(text, format));
}

let compiled: ValidateFunction<Definition & JsonValue> | undefined;

/** parseDefinition for a value that is parsed already. */
export function checkDefinition(value: JsonValue): Definition {
  compiled ??= new Ajv2020({ allErrors: true, strict: true, verbose: true }).compile(definitionSchema);
  const validate = compiled;
  if (!validate(value)) throw new WaybillError("usage", schemaProblems(validate.errors ?? []));
  const problems = crossProblems(value);
  if (problems.length > 0) throw new WaybillError("usage", problems);
  return value;
}

/** A member of the file as the profile has it. */
export function profileMember(member: DefinitionMember): ProfileMember {
  return { name: member.name, type: columnType(member), missing: member.missing ?? "forbidden" };
}

function columnType(member: DefinitionMember): ColumnType {
  switch (member.type) {
    case "integer-string":
      return { kind: member.type, column: member.column ?? "int64" };
    case "decimal-string":
      return { kind: member.type, precision: member.precision ?? 0, scale: member.scale ?? 0 };
    case "timestamp":
      return { kind: member.type, fraction: member.fraction ?? 6 };
    default:
      return { kind: member.type };
  }
}

type Report = (field: string, what: string) => void;

/** What a schema cannot say: references between parts, and combinations that have no meaning. */
function crossProblems(definition: Definition): readonly Problem[] {
  const problems: Problem[] = [];
  const report: Report = (field, what) => {
    problems.push({ code: "WRONG_SETTING", field, message: `${field}: ${what}` });
  };
  if (/^\.+$/.test(definition.report_definition_id)) {
    report("report_definition_id", "needs a letter or digit, because it becomes part of a URI");
  }
  checkMembers(definition.members, report);
  checkKeys(definition, report);
  checkTotals(definition, report);
  checkPolicies(definition, report);
  return problems;
}

/** Settings that only one type of member has. */
const typeSettings = {
  precision: "decimal-string",
  scale: "decimal-string",
  fraction: "timestamp",
  column: "integer-string",
} as const;

function checkMembers(members: readonly DefinitionMember[], report: Report): void {
  const seen = new Map<string, string>();
  members.forEach((member, index) => {
    const at = `members[${index}]`;
    const other = seen.get(member.name.toLowerCase());
    if (other !== undefined) {
      const what =
        other === member.name ? "is repeated" : `differs from ${other} by case only, which SQL cannot keep apart`;
      report(`${at}.name`, what);
    }
    seen.set(member.name.toLowerCase(), member.name);
    for (const setting of ["precision", "scale", "fraction", "column"] as const) {
      if (member[setting] !== undefined && member.type !== typeSettings[setting]) {
        report(`${at}.${setting}`, `belongs to the type ${typeSettings[setting]} only`);
      }
    }
    if (member.type !== "decimal-string") return;
    const { precision, scale } = member;
    if (precision === undefined) report(`${at}.precision`, "is required: all digits, such as 18");
    if (scale === undefined) report(`${at}.scale`, "is required: the fraction digits, such as 6");
    if (precision !== undefined && scale !== undefined && scale > precision) {
      report(`${at}.scale`, "must not be more than precision");
    }
  });
}

function checkKeys({ primary_keys, members, media_buy_member }: Definition, report: Report): void {
  const named = new Map(members.map((member) => [member.name, member]));
  primary_keys.forEach((key, index) => {
    const at = `primary_keys[${index}]`;
    const member = named.get(key);
    if (member === undefined) report(at, "is no member");
    else if (member.type === "json") report(at, "is nested; a key is a plain value");
    else if (member.missing !== undefined && member.missing !== "forbidden") {
      report(at, "may be missing; a key always has a value");
    }
  });
  if (media_buy_member === undefined) return;
  const member = named.get(media_buy_member);
  if (member === undefined) report("media_buy_member", "is no member");
  else if (member.type !== "string" || (member.missing !== undefined && member.missing !== "forbidden")) {
    report("media_buy_member", "must be a string member that is never missing");
  }
}

function checkTotals({ control_totals, members }: Definition, report: Report): void {
  const named = new Map(members.map((member) => [member.name, member]));
  const names = new Set<string>();
  const summed = new Set<string>();
  control_totals.forEach(({ name, member }, index) => {
    const at = `control_totals[${index}]`;
    const target = named.get(member);
    if (names.has(name)) report(`${at}.name`, "is repeated");
    if (summed.has(member)) report(`${at}.member`, "is summed by another total already");
    if (target === undefined) report(`${at}.member`, "is no member");
    else if (!isSummable(columnType(target))) {
      report(`${at}.member`, "is not exact: a total sums integer, integer-string or decimal-string members");
    }
    names.add(name);
    summed.add(member);
  });
}

function checkPolicies({ finality_policies, restatement, calendar }: Definition, report: Report): void {
  const ids = new Set<string>();
  const duration = (field: string, text: string): void => {
    if (parseDuration(text) === undefined) report(field, "must be an ISO 8601 duration such as PT4H or P7D");
  };
  finality_policies.forEach((policy, index) => {
    const at = `finality_policies[${index}]`;
    if (ids.has(policy.finality_policy_id)) report(`${at}.finality_policy_id`, "is repeated");
    ids.add(policy.finality_policy_id);
    if (policy.basis === "contractual_cutoff") {
      duration(`${at}.duration_after_period_end`, policy.duration_after_period_end);
    } else if (policy.basis === "stabilized") {
      duration(`${at}.minimum_age`, policy.minimum_age);
      duration(`${at}.unchanged_for`, policy.unchanged_for);
    }
  });
  duration("restatement.source_requery_duration", restatement.source_requery_duration);
  const configured = calendar.timezone_basis === "configured_timezone";
  if (configured && calendar.timezone === undefined) {
    report("calendar.timezone", "is required for timezone_basis configured_timezone");
  } else if (!configured && calendar.timezone !== undefined) {
    report("calendar.timezone", "belongs to timezone_basis configured_timezone only");
  } else if (calendar.timezone !== undefined && !isTimeZone(calendar.timezone)) {
    report("calendar.timezone", "must be an IANA zone such as America/New_York");
  }
}
