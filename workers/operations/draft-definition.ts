import { isSummable } from "../../core/rows/column-type.ts";
import type { ColumnType } from "../../core/rows/profile.ts";
import type { InferredMember } from "./infer-members.ts";

export interface Draft {
  readonly definitionId: string;
  readonly primaryKeys: readonly string[];
  readonly members: readonly InferredMember[];
  /** The first comment: where the types come from. */
  readonly origin: string;
}

/** Text of a definition file for a person to finish: complete and valid as it stands, with a comment where only a person knows better. */
export function draftDefinition(draft: Draft): string {
  const { definitionId, primaryKeys, members, origin } = draft;
  const mediaBuyMember = members.find((member) => member.name === "media_buy_id");
  const summed = members.filter((member) => isSummable(member.type) && !primaryKeys.includes(member.name));
  const lines = [
    `# ${origin}`,
    '# Read the lines with "CHECK", then retain or ship with it.',
    "# Once rows were retained with it the definition is pinned: a later change needs a new reporting_profile.",
    "waybill_definition: 1",
    `report_definition_id: ${scalar(definitionId)}`,
    `reporting_profile: ${scalar(`${definitionId}-v1`)}`,
    'schema_version: "1.0"',
    "",
    "# CHECK: one row is one what?",
    `grain: ${scalar(grainOf(primaryKeys))}`,
    "# CHECK: where you publish the pinned documents for buyers.",
    "documents_base_uri: https://schemas.seller.example/reporting",
    "# CHECK: the system the rows come from.",
    'source: {provider: {domain: seller.example}, system: ad-server, api_version: "1"}',
    "# The clock that days follow: utc, account_timezone, schedule_timezone, or configured_timezone with timezone: Area/City.",
    "calendar: {timezone_basis: utc}",
    "",
    "# Together these name a row; no two rows may share them.",
    `primary_keys: [${primaryKeys.map(scalar).join(", ")}]`,
    mediaBuyMember === undefined
      ? "# media_buy_member: the member that holds the media buy id, if there is one"
      : "media_buy_member: media_buy_id",
    "",
    "# In column order. missing: forbidden (default), null (the member is there, its value may be null) or absent (left out).",
    "members:",
    ...members.flatMap(memberLines),
    "",
    summed.length === 0
      ? "# CHECK: no member can be summed exactly, and at least one control total is needed."
      : "# Sums that sender and receiver compare. Add unit: to amounts, for example unit: USD.",
    summed.length === 0 ? "control_totals: []" : "control_totals:",
    ...summed.map(({ name }) => `  - {name: ${scalar(totalName(name))}, member: ${scalar(name)}${unitOf(name)}}`),
    "",
    "# CHECK: when may a period be closed for good (ship --finality official)? Also source_final and stabilized.",
    "finality_policies:",
    "  - {finality_policy_id: close-4h, basis: contractual_cutoff, duration_after_period_end: PT4H}",
    "# CHECK: for how long after its end a period is queried again for corrections.",
    "restatement: {source_requery_duration: P7D}",
  ];
  return `${lines.join("\n")}\n`;
}

function memberLines(member: InferredMember): readonly string[] {
  const missing = member.missing === "forbidden" ? "" : `, missing: "${member.missing}"`;
  const line = `  - {name: ${scalar(member.name)}, ${typeText(member.type)}${missing}}`;
  return [...member.notes.map((note) => `  # CHECK ${scalar(member.name)}: ${note}.`), line];
}

function typeText(type: ColumnType): string {
  switch (type.kind) {
    case "decimal-string":
      return `type: decimal-string, precision: ${type.precision}, scale: ${type.scale}`;
    case "integer-string":
      return type.column === "int64" ? "type: integer-string" : "type: integer-string, column: decimal38";
    case "timestamp":
      return `type: timestamp, fraction: ${type.fraction}`;
    default:
      return `type: ${type.kind}`;
  }
}

function grainOf(primaryKeys: readonly string[]): string {
  const words = primaryKeys.map((key) => key.replace(/_(?:id|date)$/, "").replace(/^report$/, "day"));
  return words.join("-").replace(/[^A-Za-z0-9_.:-]/g, "-") || "row";
}

/** Names of control totals start with a letter; most member names do already. */
function totalName(member: string): string {
  return /^[A-Za-z]/.test(member) ? member : `total${member}`.slice(0, 128);
}

function unitOf(name: string): string {
  return /^(?:impressions|clicks|views|conversions|completions)$/.test(name) ? `, unit: ${name}` : "";
}

/** A YAML scalar that is text in every reader: plain where that is beyond doubt, else quoted. */
function scalar(text: string): string {
  const isPlain = /^[A-Za-z][A-Za-z0-9_.-]*$/.test(text) && !/^(?:true|false|null|yes|no|on|off|y|n)$/i.test(text);
  return isPlain ? text : JSON.stringify(text);
}
