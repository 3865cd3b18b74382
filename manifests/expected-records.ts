import { canonicalJson } from "../core/canonical-json.ts";
import { instantToUs } from "../core/model/instant.ts";
import type { ControlTotal, Materialization, Period } from "../core/model/records.ts";
import type { FindingList } from "./finding-list.ts";
import type { AnyManifest } from "./manifest-shape.ts";
import { shortText } from "./short-text.ts";
import type { DocumentPins, Expectation } from "./verification.ts";

/** A record that says what the rows should come to. */
export interface Claim {
  /** For messages: "the revision". */
  readonly source: string;
  readonly rowCount: number;
  readonly controlTotals: readonly ControlTotal[];
  /** Hex in any case. */
  readonly canonicalDigest: string | undefined;
}

/** What the given records claim about the rows. */
export function claimsOf({ revision, materialization }: Expectation): readonly Claim[] {
  const claims: Claim[] = [];
  if (revision !== undefined) {
    const { row_count: rowCount, control_totals: controlTotals, canonical_content_digest: digest } = revision;
    claims.push({ source: "the revision", rowCount, controlTotals, canonicalDigest: digest?.value });
  }
  const verification = materialization?.verification;
  if (verification !== undefined) {
    const { row_count: rowCount, control_totals: controlTotals, canonical_content_digest: digest } = verification;
    claims.push({ source: "the verification record", rowCount, controlTotals, canonicalDigest: digest?.value });
  }
  return claims;
}

/** Hashes that the documents must have, as far as the records say. */
export function pinsOf({ pins, revision, materialization }: Expectation): DocumentPins | undefined {
  if (pins !== undefined) return pins;
  if (revision !== undefined) return revisionPins(revision);
  const digest = materialization?.verification?.canonical_content_digest;
  return digest === undefined ? undefined : { canonicalization_sha256: digest.canonicalization_sha256 };
}

export function revisionPins(revision: {
  readonly report_definition_sha256: string;
  readonly schema_sha256: string;
  readonly canonical_content_digest?: { readonly canonicalization_sha256: string };
}): DocumentPins {
  const { report_definition_sha256, schema_sha256, canonical_content_digest: digest } = revision;
  const canonicalization = digest === undefined ? {} : { canonicalization_sha256: digest.canonicalization_sha256 };
  return { report_definition_sha256, schema_sha256, ...canonicalization };
}

/** Steps 1 and 2: the records agree about what this is, it is terminal, and it has not expired. Counts and totals come later. */
export function checkRecords(expect: Expectation, nowUs: bigint | undefined, findings: FindingList): void {
  const { materialization, obligation, revision } = expect;
  const compare = (field: string, left: unknown, right: unknown): void => {
    if (left === undefined || right === undefined) return;
    const [expected, actual] = [textOf(left), textOf(right)];
    if (expected === actual) return;
    const message = `the given records disagree about ${field}`;
    findings.add({ code: "MATERIALIZATION_SCOPE_MISMATCH", message, column: field, expected, actual });
  };
  compare("reporting_revision_id", revision?.reporting_revision_id, materialization?.reporting_revision_id);
  for (const field of [
    "reporting_obligation_id",
    "delivery_config_id",
    "delivery_config_version",
    "destination_ref",
    "feed_purpose",
  ] as const) {
    compare(field, obligation?.[field], materialization?.[field]);
  }
  for (const field of ["report_definition_id", "reporting_profile", "account_id", "media_buy_ids", "period"] as const) {
    compare(field, obligation?.[field], revision?.[field]);
  }
  if (materialization === undefined) return;
  compare("method", "file_transfer", materialization.method);
  checkReadiness(materialization, nowUs, findings);
}

function checkReadiness(materialization: Materialization, nowUs: bigint | undefined, findings: FindingList): void {
  const { status, resource } = materialization;
  if (status !== "available" && status !== "delivered") {
    const message = status === "pending" ? "the materialization is still pending" : "the materialization failed";
    const expected = "available or delivered";
    findings.add({ code: "MATERIALIZATION_NOT_READY", message, column: "status", expected, actual: status });
  }
  if (resource === undefined) return;
  if (resource.kind !== "manifest") {
    const message = "the resource of a file transfer is a manifest";
    const facts = { column: "resource.kind", expected: "manifest", actual: resource.kind };
    findings.add({ code: "MATERIALIZATION_SCOPE_MISMATCH", message, ...facts });
  }
  if (nowUs !== undefined && instantToUs(resource.expires_at) <= nowUs) {
    const message = "the resource has expired; its seller no longer promises that it can be read";
    findings.add({ code: "RESOURCE_EXPIRED", message, column: "resource.expires_at", actual: resource.expires_at });
  }
}

/** Step 6, first half: the manifest belongs to the records. Its counts and totals are compared with the rows, not here. */
export function checkManifestIdentity(manifest: AnyManifest, expect: Expectation, findings: FindingList): void {
  const { ids, materialization, obligation, revision } = expect;
  const compare = (field: string, expected: string | undefined, actual: string): void => {
    if (expected === undefined || expected === actual) return;
    const message = `the manifest is of another ${field.replace(/^reporting_|_id$/g, "")}`;
    findings.add({ code: "MANIFEST_IDENTITY_MISMATCH", message, column: field, expected, actual });
  };
  const { reporting_revision_id, reporting_obligation_id, reporting_materialization_id } = manifest;
  const wanted = {
    revision: ids?.reporting_revision_id ?? revision?.reporting_revision_id ?? materialization?.reporting_revision_id,
    obligation:
      ids?.reporting_obligation_id ?? materialization?.reporting_obligation_id ?? obligation?.reporting_obligation_id,
    materialization: ids?.reporting_materialization_id ?? materialization?.reporting_materialization_id,
  };
  compare("reporting_revision_id", wanted.revision, reporting_revision_id);
  compare("reporting_obligation_id", wanted.obligation, reporting_obligation_id);
  compare("reporting_materialization_id", wanted.materialization, reporting_materialization_id);
  // Text, not instants: the wire wants the revision's own strings.
  const period: Period | undefined = revision?.period ?? obligation?.period;
  for (const field of ["start", "end", "source_timezone"] as const) {
    compare(`period.${field}`, period?.[field], manifest.period[field]);
  }
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : shortText(canonicalJson(value));
}
