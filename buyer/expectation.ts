import { type Problem, WaybillError } from "../core/errors.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import { parseInstant } from "../core/model/instant.ts";
import type { Materialization, ObligationFacts, Revision } from "../core/model/records.ts";
import { JsonError, parseJsonBytes } from "../core/strict-json.ts";
import { areControlTotals } from "../manifests/manifest-shape.ts";
import type { Expectation } from "../manifests/verifier.ts";

/**
 * Reads what a delivery is expected to be: a materialization record, or a document that holds one as `materialization` (what `ship --json`
 * prints) or as the only entry of `materializations` (a reporting status by revision), with `revision` and `obligation` where present.
 * WaybillError `usage` INVALID_EXPECTATION with every problem.
 */
export function readExpectation(bytes: Uint8Array): Expectation {
  let document: JsonValue;
  try {
    document = parseJsonBytes(bytes);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw refused([problem("", error.message)]);
  }
  if (!isObject(document)) throw refused([problem("", "it must be a JSON object")]);
  const problems: Problem[] = [];
  const isRecord = Object.hasOwn(document, "reporting_materialization_id");
  const materialization = isRecord ? document : materializationOf(document, problems);
  const revision = isRecord ? undefined : document["revision"];
  const obligation = isRecord ? undefined : document["obligation"];
  if (materialization === undefined && revision === undefined && problems.length === 0) {
    problems.push(problem("", "it has neither a materialization nor a revision"));
  }
  if (materialization !== undefined) checkMaterialization(materialization, problems);
  if (revision !== undefined) checkRevision(revision, problems);
  if (obligation !== undefined)
    checkTexts(obligation, "obligation", ["reporting_obligation_id", "account_id"], problems);
  if (problems.length > 0) throw refused(problems);
  return {
    ...(materialization === undefined ? {} : { materialization: materialization as unknown as Materialization }),
    ...(revision === undefined ? {} : { revision: revision as unknown as Revision }),
    ...(obligation === undefined ? {} : { obligation: obligation as unknown as ObligationFacts }),
  };
}

function materializationOf(document: JsonObject, problems: Problem[]): JsonValue | undefined {
  const { materialization, materializations } = document as { readonly [name: string]: JsonValue | undefined };
  if (materialization !== undefined) return materialization;
  if (!Array.isArray(materializations)) return undefined;
  if (materializations.length !== 1) {
    problems.push(problem("materializations", "must hold exactly one; save the one you mean as a file of its own"));
    return undefined;
  }
  return materializations[0];
}

function checkMaterialization(record: JsonValue, problems: Problem[]): void {
  const at = "materialization";
  const texts = [
    "reporting_materialization_id",
    "reporting_revision_id",
    "reporting_obligation_id",
    "method",
    "status",
  ];
  if (!checkTexts(record, at, texts, problems)) return;
  const { resource, verification } = record as { readonly [name: string]: JsonValue | undefined };
  if (resource !== undefined && checkTexts(resource, `${at}.resource`, ["kind", "expires_at"], problems)) {
    const { expires_at, manifest_sha256: sha256 } = resource as { readonly [name: string]: JsonValue | undefined };
    if (typeof expires_at === "string" && parseInstant(expires_at) === undefined) {
      problems.push(problem(`${at}.resource.expires_at`, "must be an RFC 3339 date-time"));
    }
    if (sha256 !== undefined && !isSha256(sha256)) {
      problems.push(problem(`${at}.resource.manifest_sha256`, "must be 64 hex digits"));
    }
  }
  if (verification === undefined) return;
  checkContent(verification, `${at}.verification`, problems);
  const checksums = isObject(verification) ? (verification["physical_checksums"] ?? []) : [];
  const areChecksums =
    Array.isArray(checksums) &&
    checksums.every((one: JsonValue) => hasTexts(one, ["object_ref", "algorithm", "value"]));
  if (!areChecksums) problems.push(problem(`${at}.verification.physical_checksums`, "must be a list of checksums"));
}

function checkRevision(record: JsonValue, problems: Problem[]): void {
  const texts = ["reporting_revision_id", "report_definition_sha256", "schema_sha256", "account_id"];
  if (!checkTexts(record, "revision", texts, problems)) return;
  checkContent(record, "revision", problems);
  const period = isObject(record) ? record["period"] : undefined;
  checkTexts(period, "revision.period", ["start", "end", "source_timezone"], problems);
}

/** What revisions and verifications both say about the rows. */
function checkContent(record: JsonValue, at: string, problems: Problem[]): void {
  if (!isObject(record)) {
    problems.push(problem(at, "must be an object"));
    return;
  }
  const {
    row_count: count,
    control_totals: totals,
    canonical_content_digest: digest,
  } = record as {
    readonly [name: string]: JsonValue | undefined;
  };
  if (!Number.isSafeInteger(count)) problems.push(problem(`${at}.row_count`, "must be a whole number"));
  if (!areControlTotals(totals)) problems.push(problem(`${at}.control_totals`, "must be a list of control totals"));
  const isDigest = hasTexts(digest, ["value", "canonicalization_sha256"]);
  if (digest !== undefined && !isDigest) problems.push(problem(`${at}.canonical_content_digest`, "must be a digest"));
}

function checkTexts(value: JsonValue | undefined, at: string, names: readonly string[], problems: Problem[]): boolean {
  if (hasTexts(value, names)) return true;
  const missing = isObject(value) ? names.filter((name) => typeof value[name] !== "string") : [];
  problems.push(problem(at, missing.length === 0 ? "must be an object" : `needs ${missing.join(", ")} as text`));
  return false;
}

function hasTexts(value: JsonValue | undefined, names: readonly string[]): boolean {
  return isObject(value) && names.every((name) => typeof value[name] === "string");
}

function isSha256(value: JsonValue): boolean {
  return typeof value === "string" && /^[A-Fa-f0-9]{64}$/.test(value);
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function problem(field: string, what: string): Problem {
  const message = field === "" ? `the expectation cannot be used: ${what}` : `the expectation's ${field} ${what}`;
  return { code: "INVALID_EXPECTATION", message, field: field === "" ? "expect" : `expect.${field}` };
}

function refused(problems: readonly Problem[]): WaybillError {
  return new WaybillError("usage", problems);
}
