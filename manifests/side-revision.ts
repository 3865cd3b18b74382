import { canonicalJson } from "../core/canonical-json.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import type { Revision } from "../core/model/records.ts";
import { JsonError, parseJsonBytes } from "../core/strict-json.ts";
import { areControlTotals } from "./manifest-shape.ts";

/** What a delivery's `revision.json` says about its rows and documents. */
export type SideRevision = Pick<
  Revision,
  | "reporting_revision_id"
  | "report_definition_sha256"
  | "schema_sha256"
  | "period"
  | "row_count"
  | "control_totals"
  | "canonical_content_digest"
>;

/** Reads a `revision.json`; a sentence when it is none. Members that no check needs are not looked at. */
export function readSideRevision(
  bytes: Uint8Array,
): { readonly revision: SideRevision; readonly document: JsonObject } | string {
  let document: JsonValue;
  try {
    document = parseJsonBytes(bytes);
  } catch (error) {
    if (error instanceof JsonError) return error.message;
    throw error;
  }
  if (!isObject(document)) return "it is not an object";
  const texts = ["reporting_revision_id", "report_definition_sha256", "schema_sha256"];
  const {
    period,
    row_count: count,
    control_totals: totals,
    canonical_content_digest: digest,
  } = document as {
    readonly [member: string]: JsonValue | undefined;
  };
  const isRevision =
    texts.every((name) => typeof document[name] === "string") &&
    hasTexts(period, ["start", "end", "source_timezone"]) &&
    Number.isSafeInteger(count) &&
    areControlTotals(totals) &&
    (digest === undefined || hasTexts(digest, ["value", "canonicalization_sha256"]));
  return isRevision ? { revision: document as unknown as SideRevision, document } : "it is not a revision record";
}

/** Names of the members in which two records differ. */
export function differingMembers(left: object, right: object): readonly string[] {
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  const textOf = (record: object, name: string): string | undefined => {
    const value: unknown = Object.hasOwn(record, name)
      ? (record as { readonly [name: string]: unknown })[name]
      : undefined;
    return value === undefined ? undefined : canonicalJson(value);
  };
  return [...names].filter((name) => textOf(left, name) !== textOf(right, name));
}

function hasTexts(value: JsonValue | undefined, names: readonly string[]): boolean {
  return isObject(value) && names.every((name) => typeof value[name] === "string");
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
