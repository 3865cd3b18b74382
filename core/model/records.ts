import type { JsonObject } from "../json.ts";

/** The wire records of AdCP 3.2 reliable reporting, member for member. Instants are RFC 3339 text and kept verbatim. */

export type Finality = "snapshot" | "official";
export type FeedPurpose = "pacing" | "analytics" | "billing";
export type MethodPattern = "file_transfer" | "dataset_share" | "warehouse_materialization";
export type VerificationPath = "producer" | "representative_consumer" | "destination";
export type VerificationProfile = "native_commit" | "manifest_checksums" | "canonical_digest";
export type ReconciliationMode = "delivery_only" | "consumer_receipt";
export type FileFormat = "jsonl" | "csv" | "parquet";
export type FileCompression = "none" | "gzip" | "zstd" | "snappy";

/** Half-open [start, end). Source: reporting-obligation, reporting-revision. */
export interface Period {
  readonly start: string;
  readonly end: string;
  readonly source_timezone: string;
}

/** Exact text; integers and decimals never pass through a float. Source: reporting-control-total. */
export interface ControlTotal {
  readonly name: string;
  readonly value: string;
  readonly value_type: "integer" | "decimal";
  readonly unit?: string;
}

export interface CoverageLimitation {
  readonly reason:
    | "offering_unsupported"
    | "account_entitlement_unavailable"
    | "credential_scope_insufficient"
    | "provider_limitation"
    | "capability_unknown";
  readonly media_buy_id: string;
  readonly package_ids?: readonly string[];
}

/** Source: reporting-coverage. An explicit empty denominator is full. */
export interface Coverage {
  readonly status: "full" | "partial" | "none" | "unknown";
  readonly evaluated_at: string;
  readonly media_buy_ids: readonly string[];
  readonly fully_covered_media_buy_ids: readonly string[];
  readonly partially_covered_media_buy_ids: readonly string[];
  readonly unsupported_media_buy_ids: readonly string[];
  readonly unknown_media_buy_ids: readonly string[];
  readonly package_ids: readonly string[];
  readonly covered_package_ids: readonly string[];
  readonly unsupported_package_ids: readonly string[];
  readonly unknown_package_ids: readonly string[];
  readonly limitations: readonly CoverageLimitation[];
}

/** Source: reporting-schedule. Durations are ISO 8601 without weeks or fractions. */
export interface Schedule {
  readonly period_duration: string;
  readonly alignment: "utc" | "account_timezone" | "source_timezone" | "billing_cycle";
  readonly period_anchor?: string;
  readonly period_timezone?: string;
  readonly delivery_sla: string;
}

/** Source: reporting-canonical-content-digest. */
export interface CanonicalContentDigest {
  readonly algorithm: "sha256";
  readonly value: string;
  readonly canonicalization_id: string;
  readonly canonicalization_uri: string;
  readonly canonicalization_sha256: string;
}

/** Immutable logical content, destination-free. Source: reporting-revision. */
export interface Revision {
  readonly reporting_revision_id: string;
  readonly revision_content_sha256: string;
  readonly report_definition_id: string;
  readonly report_definition_uri: string;
  readonly report_definition_sha256: string;
  readonly reporting_profile: string;
  readonly schema_version: string;
  readonly schema_uri: string;
  readonly schema_sha256: string;
  readonly schema_dialect: "https://json-schema.org/draft/2020-12/schema";
  readonly schema_ref_policy: "local_fragment_only";
  readonly account_id: string;
  readonly media_buy_ids: readonly string[];
  readonly coverage: Coverage;
  readonly period: Period;
  readonly finality: Finality;
  readonly finality_basis?: "source_final" | "contractual_cutoff" | "stabilized";
  readonly finality_policy_id?: string;
  readonly finalized_at?: string;
  readonly observed_at: string;
  readonly data_through: string | null;
  readonly data_through_precision: "exact" | "lower_bound" | "unknown";
  readonly supersedes_reporting_revision_id?: string;
  readonly row_count: number;
  readonly control_totals: readonly ControlTotal[];
  readonly canonical_content_digest?: CanonicalContentDigest;
  readonly created_at: string;
}

/** The frozen half of an obligation: what should exist and by when. Projections are derived per read. Source: reporting-obligation. */
export interface ObligationFacts {
  readonly reporting_obligation_id: string;
  readonly delivery_config_id: string;
  readonly delivery_config_version: number;
  readonly report_definition_id: string;
  readonly feed_purpose: FeedPurpose;
  readonly reporting_profile: string;
  readonly account_id: string;
  readonly media_buy_ids: readonly string[];
  readonly scope_resolved_at: string;
  readonly coverage: Coverage;
  readonly period: Period;
  readonly expected_at: string;
  readonly schedule: Schedule;
  /** Present iff the offering has a method. */
  readonly destination_ref?: string;
  readonly required_finality: Finality;
  readonly reconciliation_mode: ReconciliationMode;
}

/** Source: reporting-obligation. */
export interface Obligation extends ObligationFacts {
  readonly reconciliation_status: "not_required" | "pending" | "accepted" | "rejected";
  readonly health: "healthy" | "waiting" | "delayed" | "action_required" | "complete";
  readonly production_status: "not_due" | "pending" | "published" | "failed";
  readonly revision_count: number;
  readonly adjustment_count: number;
  readonly materialization_count?: number;
  readonly successful_materialization_count?: number;
  readonly receipt_count?: number;
  readonly accepted_receipt_count?: number;
  readonly adjustment_receipt_count?: number;
  readonly accepted_adjustment_receipt_count?: number;
  readonly pending_adjustment_count?: number;
  readonly issues: readonly JsonObject[];
  readonly resource_retained_until?: string;
}

/** Non-secret native identity of what the buyer reads. Source: reporting-resource. */
export interface Resource {
  readonly resource_ref: string;
  readonly kind: "manifest" | "dataset" | "warehouse_relation";
  readonly location: string;
  readonly native_version_ref?: string;
  readonly manifest_version?: "1.0";
  readonly manifest_sha256?: string;
  readonly immutability: "immutable_location" | "native_version";
  readonly expires_at: string;
  readonly reader_compatibility?: readonly string[];
}

export interface PhysicalChecksum {
  readonly object_ref: string;
  readonly algorithm: "sha256" | "sha512";
  readonly value: string;
}

/** Source: reporting-verification. Never built from what the writer returned. */
export interface Verification {
  readonly verified_at: string;
  readonly verification_path: VerificationPath;
  readonly verification_profile: VerificationProfile;
  readonly row_count: number;
  readonly control_totals: readonly ControlTotal[];
  readonly canonical_content_digest?: CanonicalContentDigest;
  readonly physical_checksums?: readonly PhysicalChecksum[];
  readonly native_commit_evidence?: {
    readonly native_version_ref: string;
    readonly observed_through: "representative_consumer" | "destination";
  };
}

export type MaterializationStatus = "pending" | "available" | "delivered" | "failed";

/** One attempt to expose one revision for one obligation. Source: reporting-materialization. */
export interface Materialization {
  readonly reporting_materialization_id: string;
  readonly reporting_revision_id: string;
  readonly reporting_obligation_id: string;
  readonly delivery_config_id: string;
  readonly delivery_config_version: number;
  readonly destination_ref: string;
  readonly feed_purpose: FeedPurpose;
  readonly method: MethodPattern;
  readonly transport?: string;
  readonly attempt: number;
  readonly status: MaterializationStatus;
  readonly ready_at?: string;
  readonly failed_at?: string;
  readonly failure_code?: string;
  readonly resource?: Resource;
  readonly verification?: Verification;
  readonly created_at: string;
}

/** Source: reporting-receipt. `received_at` is assigned by the server. */
export interface Receipt {
  readonly reporting_receipt_id: string;
  readonly reporting_obligation_id: string;
  readonly reporting_revision_id: string;
  readonly reporting_materialization_id: string;
  readonly supersedes_reporting_receipt_id?: string;
  readonly status: "accepted" | "rejected";
  readonly verification_profile: VerificationProfile;
  readonly observed_row_count: number;
  readonly observed_control_totals: readonly ControlTotal[];
  readonly observed_canonical_content_digest?: CanonicalContentDigest;
  readonly observed_manifest_sha256?: string;
  readonly observed_native_version_ref?: string;
  readonly consumer_commit_ref?: string;
  readonly rejection_codes?: readonly string[];
  readonly observed_at: string;
  readonly received_at?: string;
}

/** Signed control-total deltas after an official close. Source: reporting-adjustment. */
export interface Adjustment {
  readonly reporting_adjustment_id: string;
  readonly adjusts_reporting_revision_id: string;
  readonly reason_code:
    | "invalid_traffic"
    | "late_attribution"
    | "source_correction"
    | "mapping_correction"
    | "commercial_adjustment"
    | "other";
  readonly reason_detail?: string;
  readonly accounting_period: { readonly start: string; readonly end: string };
  readonly control_total_deltas: readonly ControlTotal[];
  readonly canonical_adjustment_sha256?: string;
  readonly correction_observed_at: string;
  readonly created_at: string;
}

export interface FileEntry {
  readonly object_ref: string;
  readonly native_version_ref?: string;
  readonly size_bytes: number;
  readonly sha256: string;
  readonly row_count: number;
  readonly partition?: { readonly [name: string]: string };
}

/** Source: reporting-file-manifest. Exactly these members. */
export interface Manifest {
  readonly manifest_version: "1.0";
  readonly complete: true;
  readonly reporting_revision_id: string;
  readonly reporting_obligation_id: string;
  readonly reporting_materialization_id: string;
  readonly period: Period;
  readonly format: FileFormat;
  readonly compression: FileCompression;
  readonly files: readonly FileEntry[];
  readonly total_size_bytes: number;
  readonly row_count: number;
  readonly control_totals: readonly ControlTotal[];
  readonly created_at: string;
}
