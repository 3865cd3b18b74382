import { fullCoverage } from "../../../core/model/coverage.ts";
import type { ReadyEvidence } from "../../../core/model/materialization.ts";
import type { Materialization, Revision, Verification } from "../../../core/model/records.ts";

const hex = (digit: string): string => digit.repeat(64);

/** A well-formed snapshot of two buys. */
export function sampleRevision(change: Partial<Revision> = {}): Revision {
  return {
    reporting_revision_id: "rev-a",
    revision_content_sha256: hex("1"),
    report_definition_id: "daily",
    report_definition_uri: "https://schemas.seller.example/d.json",
    report_definition_sha256: hex("2"),
    reporting_profile: "daily-v1",
    schema_version: "1.0",
    schema_uri: "https://schemas.seller.example/s.json",
    schema_sha256: hex("3"),
    schema_dialect: "https://json-schema.org/draft/2020-12/schema",
    schema_ref_policy: "local_fragment_only",
    account_id: "acct-1",
    media_buy_ids: ["mb-1", "mb-2"],
    coverage: fullCoverage(["mb-1", "mb-2"], "2026-03-09T00:00:00Z"),
    period: { start: "2026-03-08T00:00:00Z", end: "2026-03-09T00:00:00Z", source_timezone: "UTC" },
    finality: "snapshot",
    observed_at: "2026-03-09T01:00:00Z",
    data_through: "2026-03-09T00:00:00Z",
    data_through_precision: "exact",
    row_count: 2,
    control_totals: [{ name: "spend", value: "8.00", value_type: "decimal", unit: "USD" }],
    canonical_content_digest: {
      algorithm: "sha256",
      value: hex("a"),
      canonicalization_id: "daily-v1",
      canonicalization_uri: "https://schemas.seller.example/c.json",
      canonicalization_sha256: hex("4"),
    },
    created_at: "2026-03-09T01:00:01Z",
    ...change,
  };
}

/** The same revision as an official close. */
export function sampleOfficial(change: Partial<Revision> = {}): Revision {
  return sampleRevision({
    finality: "official",
    finality_basis: "contractual_cutoff",
    finality_policy_id: "close-4h",
    finalized_at: "2026-03-09T04:00:00Z",
    created_at: "2026-03-09T04:00:00Z",
    ...change,
  });
}

/** A pending file transfer of sampleRevision. */
export function samplePending(change: Partial<Materialization> = {}): Materialization {
  return {
    reporting_materialization_id: "mat-1",
    reporting_revision_id: "rev-a",
    reporting_obligation_id: "obl-1",
    delivery_config_id: "daily",
    delivery_config_version: 1,
    destination_ref: "folder.1",
    feed_purpose: "analytics",
    method: "file_transfer",
    attempt: 1,
    status: "pending",
    created_at: "2026-03-09T01:00:02Z",
    ...change,
  };
}

/** What a matching read of that transfer saw. */
export function sampleVerification(change: Partial<Verification> = {}): Verification {
  const { row_count, control_totals, canonical_content_digest } = sampleRevision();
  return {
    verified_at: "2026-03-09T01:00:03Z",
    verification_path: "producer",
    verification_profile: "canonical_digest",
    row_count,
    control_totals,
    ...(canonical_content_digest === undefined ? {} : { canonical_content_digest }),
    physical_checksums: [{ object_ref: "part-00000.jsonl", algorithm: "sha256", value: hex("5") }],
    ...change,
  };
}

/** Evidence that makes samplePending ready. */
export function sampleEvidence(change: Partial<ReadyEvidence> = {}): ReadyEvidence {
  return {
    status: "available",
    ready_at: "2026-03-09T01:00:04Z",
    resource: {
      resource_ref: "res-1",
      kind: "manifest",
      location: "r_x/m_y/manifest.json",
      manifest_version: "1.0",
      manifest_sha256: hex("6"),
      immutability: "immutable_location",
      expires_at: "2026-06-09T00:00:00Z",
    },
    verification: sampleVerification(),
    ...change,
  };
}
