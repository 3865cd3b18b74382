import { sha256Hex } from "../../../core/digest/node-hasher.ts";
import type {
  ConfigurationGeneration,
  DestinationGeneration,
  ReadyOutcome,
  RetainedDescriptor,
} from "../../../core/ledger/ledger-records.ts";
import type { PlanWork } from "../../../core/ledger/transitions.ts";
import { fullCoverage } from "../../../core/model/coverage.ts";
import type { ObligationFacts, Period, Revision } from "../../../core/model/records.ts";
import type { DefinitionDocuments, PinnedDocument } from "../../../core/rows/retained.ts";

/** Records that satisfy every rule, for suites that need some; each takes what shall differ. */

export const august26: Period = {
  start: "2026-08-26T00:00:00Z",
  end: "2026-08-27T00:00:00Z",
  source_timezone: "UTC",
};

export function aDestination(changes: Partial<DestinationGeneration> = {}): DestinationGeneration {
  return {
    destination_ref: "buyer-folder.0123456789ab",
    destination_id: "buyer-folder",
    transport: "local_fs",
    hosting: "producer",
    verification_path: "producer",
    retention_days: 90,
    settings: { location: "file:///srv/reports", format: "jsonl", compression: "gzip" },
    ...changes,
  };
}

export function aConfiguration(changes: Partial<ConfigurationGeneration> = {}): ConfigurationGeneration {
  return {
    account_id: "acct-1",
    delivery_config_id: "daily",
    delivery_config_version: 1,
    report_definition_id: "daily-ad-delivery",
    reporting_profile: "daily-ad-delivery-v1",
    feed_purpose: "analytics",
    required_finality: "snapshot",
    reconciliation_mode: "delivery_only",
    verification_profile: "canonical_digest",
    schedule: { period_duration: "P1D", alignment: "utc", delivery_sla: "PT4H" },
    destination_ref: "buyer-folder.0123456789ab",
    media_buy_ids: "all",
    ...changes,
  };
}

export function obligationFacts(changes: Partial<ObligationFacts> = {}): ObligationFacts {
  const configuration = aConfiguration();
  const period = changes.period ?? august26;
  const media_buy_ids = changes.media_buy_ids ?? ["buy-1", "buy-2"];
  return {
    reporting_obligation_id: "obl-1",
    delivery_config_id: configuration.delivery_config_id,
    delivery_config_version: configuration.delivery_config_version,
    report_definition_id: configuration.report_definition_id,
    feed_purpose: configuration.feed_purpose,
    reporting_profile: configuration.reporting_profile,
    account_id: configuration.account_id,
    media_buy_ids,
    scope_resolved_at: period.end,
    coverage: fullCoverage(media_buy_ids, period.end),
    period,
    expected_at: "2026-08-27T04:00:00Z",
    schedule: configuration.schedule,
    destination_ref: configuration.destination_ref,
    required_finality: configuration.required_finality,
    reconciliation_mode: configuration.reconciliation_mode,
    ...changes,
  };
}

export function aRevision(changes: Partial<Revision> = {}): Revision {
  const period = changes.period ?? august26;
  const media_buy_ids = changes.media_buy_ids ?? ["buy-1", "buy-2"];
  return {
    reporting_revision_id: "rev-a",
    revision_content_sha256: "1".repeat(64),
    report_definition_id: "daily-ad-delivery",
    report_definition_uri: "https://schemas.seller.example/reporting/report-definition.json",
    report_definition_sha256: "2".repeat(64),
    reporting_profile: "daily-ad-delivery-v1",
    schema_version: "1.0",
    schema_uri: "https://schemas.seller.example/reporting/row-schema.json",
    schema_sha256: "3".repeat(64),
    schema_dialect: "https://json-schema.org/draft/2020-12/schema",
    schema_ref_policy: "local_fragment_only",
    account_id: "acct-1",
    media_buy_ids,
    coverage: fullCoverage(media_buy_ids, period.end),
    period,
    finality: "snapshot",
    observed_at: "2026-08-27T01:00:00Z",
    data_through: "2026-08-27T00:00:00Z",
    data_through_precision: "exact",
    row_count: 2,
    control_totals: [
      { name: "impressions", value: "9007199254740993", value_type: "integer", unit: "impressions" },
      { name: "spend", value: "8.00", value_type: "decimal", unit: "USD" },
    ],
    canonical_content_digest: {
      algorithm: "sha256",
      value: "4".repeat(64),
      canonicalization_id: "daily-ad-delivery-v1",
      canonicalization_uri: "https://schemas.seller.example/reporting/canonicalization.json",
      canonicalization_sha256: "5".repeat(64),
    },
    created_at: "2026-08-27T01:00:01Z",
    ...changes,
  };
}

/** The members that only an official revision has. */
export const officialEvidence = {
  finality: "official",
  finality_basis: "contractual_cutoff",
  finality_policy_id: "close-4h",
  finalized_at: "2026-08-27T04:00:00Z",
  created_at: "2026-08-27T04:00:01Z",
} as const;

export function retainedParts(rowCount = 2): RetainedDescriptor {
  return {
    parts: [{ name: "rows-00000.parquet", sizeBytes: 1000, sha256: "6".repeat(64), rowCount }],
    rowsAcquired: rowCount,
  };
}

export const fileTransferPlan: PlanWork = ({ materializationId, attempt, createdAt, revision }) => ({
  plan: {
    transport: "local_fs",
    encoder_fingerprint: "encoder-1",
    folder: `r_${revision.reporting_revision_id}/m_${materializationId}`,
    attempt,
    created_at: createdAt,
  },
  method: "file_transfer",
  transport: "local_fs",
});

/** What a matching read of `revision` proved. */
export function readyOutcome(revision: Revision, changes: Partial<ReadyOutcome> = {}): ReadyOutcome {
  const { row_count, control_totals, canonical_content_digest } = revision;
  return {
    status: "available",
    resource: {
      resource_ref: "res-1",
      kind: "manifest",
      location: "file:///srv/reports/manifest.json",
      manifest_version: "1.0",
      manifest_sha256: "7".repeat(64),
      immutability: "immutable_location",
    },
    verification: {
      verification_path: "producer",
      verification_profile: "canonical_digest",
      row_count,
      control_totals,
      ...(canonical_content_digest === undefined ? {} : { canonical_content_digest }),
      physical_checksums: [{ object_ref: "part-00000.jsonl.gz", algorithm: "sha256", value: "8".repeat(64) }],
    },
    ...changes,
  };
}

export const commitEvidence = {
  location: "file:///srv/reports/manifest.json",
  manifest_sha256: "7".repeat(64),
} as const;

/** Documents that the ledger can pin; their content means nothing. */
export function definitionOf(content: string): DefinitionDocuments {
  const pinned = (name: string): PinnedDocument => {
    const bytes = new TextEncoder().encode(`${name} ${content}`);
    return { bytes, sha256: sha256Hex(bytes), uri: `https://schemas.seller.example/${name}.json` };
  };
  return {
    reportDefinitionId: "daily-ad-delivery",
    reportingProfile: "daily-ad-delivery-v1",
    reportDefinition: pinned("report-definition"),
    rowSchema: pinned("row-schema"),
    canonicalization: pinned("canonicalization"),
    profile: {
      members: [{ name: "media_buy_id", type: { kind: "string" }, missing: "forbidden" }],
      primaryKeys: ["media_buy_id"],
      controlTotals: [],
      mediaBuyMember: "media_buy_id",
    },
  };
}
