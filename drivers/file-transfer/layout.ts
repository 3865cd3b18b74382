import { nodeHasher } from "../../core/digest/node-hasher.ts";
import { DeliveryError } from "../../core/errors.ts";
import { pathSegment } from "../../core/model/id.ts";
import type { Period } from "../../core/model/records.ts";
import { isObjectName } from "../../manifests/object-ref.ts";

/** Longest key that every provider takes, bytes; ours are ASCII. */
const maxKeyLength = 1024;
const maxTemplateSegments = 8;
const keySegment = /^[A-Za-z0-9_][A-Za-z0-9_.=-]{0,199}$/;
const tokens = ["definition", "account", "day"] as const;
type Token = (typeof tokens)[number];
const tokenPattern = /^\{[^{}]*\}$/;
const knownTokens = tokens.map((word) => `{${word}}`).join(", ");
const segmentRule = "must start with a letter, digit, _ or token and hold only letters, digits, _ . = - and tokens";

/** What a path template can show to people who browse. */
export interface PathFacts {
  readonly reportDefinitionId: string;
  readonly accountId: string;
  readonly period: Period;
}

/** A checked path template: literal text and tokens per segment. Empty: nothing stands in front of `r_…`. */
export type PathTemplate = readonly (readonly (string | { readonly token: Token })[])[];

/** True when a key stays below the destination whatever reads it: relative, plain ASCII, no `.`/`..`/empty or hidden segment. */
export function isSafeKey(key: string): boolean {
  return key.length <= maxKeyLength && key.split("/").every((segment) => keySegment.test(segment));
}

/**
 * Key of a bare object name in a delivery's folder. DESTINATION_UNSAFE when either could lead elsewhere: plans come back from storage,
 * so this is checked at every use and not only when they are made.
 */
export function objectKey(folder: string, name: string): string {
  const key = `${folder}/${name}`;
  if (!isObjectName(name) || !isSafeKey(key)) throw new DeliveryError("DESTINATION_UNSAFE");
  return key;
}

/** `[template/]r_…/m_…`: the one folder of a materialization, never shared with another. */
export function deliveryFolder(
  template: PathTemplate,
  facts: PathFacts,
  revisionId: string,
  materializationId: string,
): string {
  const browsable = template.map((segment) =>
    segment.map((part) => (typeof part === "string" ? part : tokenText(part.token, facts))).join(""),
  );
  const own = [
    pathSegment("r", revisionId, nodeHasher("sha256")),
    pathSegment("m", materializationId, nodeHasher("sha256")),
  ];
  const folder = [...browsable, ...own].join("/");
  if (!isSafeKey(folder)) throw new DeliveryError("CONFIGURATION_INVALID");
  return folder;
}

/** Reads `reports/{definition}/day={day}`. Problems are sentences about the template without its text. */
export function parsePathTemplate(text: string): {
  readonly template: PathTemplate;
  readonly problems: readonly string[];
} {
  const problems: string[] = [];
  const segments = text.split("/");
  if (segments.length > maxTemplateSegments) problems.push(`has more than ${maxTemplateSegments} segments`);
  const template = segments.map((segment, index) => {
    const parts = segment.split(/(\{[^{}]*\})/).filter((part) => part !== "");
    const sample = parts.map((part) => (tokenPattern.test(part) ? "x" : part)).join("");
    if (!keySegment.test(sample)) problems.push(`segment ${index + 1} ${segmentRule}`);
    return parts.map((part) => {
      if (!tokenPattern.test(part)) return part;
      const token = tokens.find((word) => `{${word}}` === part);
      if (token === undefined) problems.push(`segment ${index + 1} has an unknown token; known are ${knownTokens}`);
      return { token: token ?? "day" };
    });
  });
  return { template, problems };
}

/**
 * An id or label as one ASCII path segment for people. Not unique and not reversible: identity is in `r_…/m_…`. Lower case, so that
 * file systems which fold case and those which do not agree about folders.
 */
export function browsableSegment(label: string): string {
  return label
    .toLowerCase()
    .replace(/[^a-z0-9_.-]/g, "-")
    .replace(/^[^a-z0-9_]+/, "_")
    .slice(0, 64)
    .replace(/\.+$/, "_");
}

/** Whether two destinations share a place: equal locations, or one inside the other. Trailing slashes do not count. */
export function locationsOverlap(one: string, other: string): boolean {
  const first = `${one.replace(/\/+$/, "")}/`;
  const second = `${other.replace(/\/+$/, "")}/`;
  return first.startsWith(second) || second.startsWith(first);
}

function tokenText(token: Token, facts: PathFacts): string {
  switch (token) {
    case "definition":
      return browsableSegment(facts.reportDefinitionId);
    case "account":
      return browsableSegment(facts.accountId);
    case "day":
      return periodDay(facts.period);
  }
}

/** The civil day on which a period starts in its own zone. */
function periodDay(period: Period): string {
  const parts = new Intl.DateTimeFormat("en-u-ca-iso8601", {
    timeZone: period.source_timezone,
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
  }).formatToParts(new Date(period.start));
  const part = (type: string): string => parts.find((entry) => entry.type === type)?.value ?? "";
  return `${part("year").padStart(4, "0")}-${part("month")}-${part("day")}`;
}
