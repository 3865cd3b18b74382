import { failureTable } from "../../core/failure-table.ts";
import type { JsonObject, JsonValue } from "../../core/json.ts";
import type { JournalEntry } from "../../core/ledger/ledger-records.ts";

/** One journal entry as a person would tell it. Events that this table does not know are told by their name and detail. */
export function sentenceOf({ kind, event, detail }: Pick<JournalEntry, "kind" | "event" | "detail">): string {
  const tell = sentences[`${kind} ${event}`];
  return tell === undefined ? plainSentence(kind, event, detail) : tell(detail);
}

const sentences: { readonly [kindAndEvent: string]: (detail: JsonObject) => string } = {
  "configuration installed": (d) => `feed installed for destination ${text(d["destination_ref"])}`,
  "configuration deactivated": (d) => `feed deactivated: ${text(d["reason"])}`,
  "destination deactivated": (d) => `destination deactivated: ${text(d["reason"])}`,
  "obligation created": (d) => `a report became owed for ${periodText(d["period"])}, due at ${text(d["expected_at"])}`,
  "revision published": (d) => {
    const superseded = d["supersedes_reporting_revision_id"];
    const instead = superseded === undefined ? "" : `, superseding ${text(superseded)}`;
    return `published as ${text(d["finality"])} of ${count(d["row_count"])} rows, ${count(d["rows_acquired"])} taken from the source${instead}`;
  },
  "materialization opened": (d) => {
    const how = d["selection"] === "exact" ? "exactly this revision" : "the current revision";
    return `attempt ${count(d["attempt"])} opened to deliver ${how} by ${text(d["transport"])}; no rows taken from the source`;
  },
  "materialization claimed": (d) => `a worker took it up (run ${count(d["generation"])}, ${text(d["purpose"])})`,
  "materialization destination_proved": (d) =>
    `the destination was put to the test before its first delivery and passed: ${checksText(d["checks"])}`,
  "materialization destination_refused": (d) =>
    `the destination was put to the test and refused (${text(d["failure_code"])}), nothing was delivered: ${checksText(d["checks"])}`,
  "materialization writing": () => "writing to the destination",
  "materialization committed": (d) =>
    `committed${at(objectOf(d["evidence"])["location"])}; not ready until it was read back`,
  "materialization probed": (d) => {
    const code = d["code"] ?? d["failure_code"];
    const result = code === undefined || code === null ? text(d["outcome"]) : `${text(d["outcome"])} (${text(code)})`;
    return `read back over the verification path, read ${count(d["probe"])}: ${result.replaceAll("_", " ")}`;
  },
  "materialization available": (d) =>
    `available: read back as ${path(d)} and equal to the revision${at(d["location"])}`,
  "materialization delivered": (d) =>
    `delivered: read back as ${path(d)} and equal to the revision${at(d["location"])}`,
  "materialization failed": (d) => {
    const code = text(d["failure_code"]);
    const meaning = code in failureTable ? failureTable[code as keyof typeof failureTable].meaning : "";
    return `failed with ${code}${meaning === "" ? "" : `: ${meaning}`}`;
  },
  "materialization lease_expired": () => "the worker stopped answering; another one goes on",
  "materialization tombstone_placed": (d) => `withdrawal of ${text(d["what"])} announced: ${text(d["reason"])}`,
  "materialization tombstone_settled": (d) => `withdrawal of ${text(d["what"])} done`,
};

function plainSentence(kind: string, event: string, detail: JsonObject): string {
  const code = detail["code"] ?? detail["failure_code"];
  const delay = detail["delay_ms"];
  const because = code === undefined || code === null ? "" : ` after ${text(code)}`;
  const when = typeof delay === "number" && delay > 0 ? `, going on in ${(delay / 1000).toFixed(1)} s` : "";
  return `${kind} ${event.replaceAll("_", " ")}${because}${when}`;
}

/** Checks by name; what to do stands behind each that did not pass. */
function checksText(value: JsonValue | undefined): string {
  const checks = Array.isArray(value) ? value : [];
  return checks
    .map(objectOf)
    .map(({ name, outcome, fix }) => {
      const said = outcome === "pass" ? "" : ` ${text(outcome)}`;
      return `${text(name).replaceAll("_", " ")}${said}${typeof fix === "string" ? ` (${fix})` : ""}`;
    })
    .join(", ");
}

function path(detail: JsonObject): string {
  return text(detail["verification_path"]).replaceAll("_", " ");
}

function at(location: JsonValue | undefined): string {
  return typeof location === "string" ? ` at ${location}` : "";
}

function periodText(value: JsonValue | undefined): string {
  const period = objectOf(value);
  return `${text(period["start"])} to ${text(period["end"])} (${text(period["source_timezone"])})`;
}

function text(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}

function count(value: JsonValue | undefined): string {
  return typeof value === "number" ? value.toLocaleString("en-US") : text(value);
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}
