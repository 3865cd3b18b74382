import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { canonicalJson } from "../../core/canonical-json.ts";
import { createBindingDigest } from "../../core/digest/binding-digest.ts";
import { createCanonicalDigest } from "../../core/digest/canonical-digest.ts";
import { nodeHasher } from "../../core/digest/node-hasher.ts";
import { encodeParts } from "../../core/encoding/encode-parts.ts";
import type { EncodedPart, Encoding } from "../../core/encoding/encoding.ts";
import { fullCoverage } from "../../core/model/coverage.ts";
import type { Revision } from "../../core/model/records.ts";
import { createTotals } from "../../core/model/totals.ts";
import { checkDefinition } from "../../core/rows/definition.ts";
import { buildDocuments } from "../../core/rows/documents.ts";
import type { LogicalRow } from "../../core/rows/profile.ts";
import type { DeliveryContent } from "../../drivers/driver.ts";
import { writeRetainedFiles } from "./retained-files.ts";

const documents = buildDocuments(
  checkDefinition({
    waybill_definition: 1,
    report_definition_id: "conformance-delivery",
    reporting_profile: "conformance-delivery-v1",
    schema_version: "1.0",
    grain: "creative-day",
    documents_base_uri: "https://schemas.seller.example/reporting",
    source: { provider: { domain: "seller.example" }, system: "ad-server", api_version: "1" },
    calendar: { timezone_basis: "utc" },
    primary_keys: ["report_date", "creative_id"],
    media_buy_member: "media_buy_id",
    members: [
      { name: "report_date", type: "date" },
      { name: "media_buy_id", type: "string" },
      { name: "creative_id", type: "string" },
      { name: "note", type: "string", missing: "null" },
      { name: "impressions", type: "integer-string" },
      { name: "spend", type: "decimal-string", precision: 18, scale: 6, unit: "USD" },
    ],
    control_totals: [
      { name: "impressions", member: "impressions", unit: "impressions" },
      { name: "spend", member: "spend" },
    ],
    finality_policies: [
      { finality_policy_id: "close", basis: "contractual_cutoff", duration_after_period_end: "PT4H" },
    ],
    restatement: { source_requery_duration: "P7D" },
  }),
);

/** A revision with its content, as a worker would hand it to a driver. */
export interface SampleDelivery {
  readonly revision: Revision;
  readonly content: DeliveryContent;
  /** How often a driver asked for encoded parts. */
  encodings(): number;
  close(): Promise<void>;
}

/** `rowCount` rows with values that a careless path would round or fold. The same id and count give the same bytes. */
export async function createSampleDelivery(options: {
  readonly revisionId: string;
  readonly rowCount: number;
  /** Distinguishes the content of a restatement. Default 0. */
  readonly seed?: number;
}): Promise<SampleDelivery> {
  const directory = await mkdtemp(join(tmpdir(), "waybill-sample-"));
  const rows = sampleRows(options.rowCount, options.seed ?? 0);
  const revision = revisionOf(options.revisionId, rows);
  const encoded = new Map<string, Promise<readonly EncodedPart[]>>();
  let encodings = 0;
  const encode = async (encoding: Encoding): Promise<readonly EncodedPart[]> => {
    const { profile } = documents;
    const retainedFiles =
      encoding.format === "parquet"
        ? await writeRetainedFiles(rows, profile, await mkdtemp(join(directory, "retained-")))
        : [];
    return encodeParts({
      rows: batchOf(rows),
      retainedFiles,
      profile,
      encoding,
      directory: await mkdtemp(join(directory, "parts-")),
      signal: new AbortController().signal,
    });
  };
  return {
    revision,
    content: {
      revision,
      documents,
      encoded: (encoding) => {
        encodings++;
        const key = JSON.stringify(encoding);
        const parts = encoded.get(key) ?? encode(encoding);
        encoded.set(key, parts);
        return parts;
      },
    },
    encodings: () => encodings,
    close: () => rm(directory, { recursive: true, force: true }),
  };
}

function sampleRows(rowCount: number, seed: number): readonly LogicalRow[] {
  return Array.from({ length: rowCount }, (_, index) => ({
    report_date: "2026-03-08",
    media_buy_id: `buy-${index % 3}`,
    creative_id: `creative-${String(index).padStart(6, "0")}`,
    note: index % 4 === 0 ? null : index % 4 === 1 ? "" : `Caf\u00e9, "\u{1f600}" \u2028 ${seed}`,
    impressions: index === 0 ? "9007199254740993" : String(index + seed),
    spend: index === 1 ? "123456789012.345678" : `${index}.000001`,
  }));
}

function revisionOf(revisionId: string, rows: readonly LogicalRow[]): Revision {
  const totals = createTotals(documents.profile.controlTotals);
  for (const row of rows) totals.add(row);
  const controlTotals = totals.result();
  const binding = createBindingDigest(nodeHasher("sha256"), { revisionId, controlTotals });
  const digest = createCanonicalDigest(nodeHasher("sha256"));
  for (const row of rows) {
    binding.add(canonicalJson(row));
    digest.add(canonicalJson(row));
  }
  const mediaBuyIds = ["buy-0", "buy-1", "buy-2"];
  return {
    reporting_revision_id: revisionId,
    revision_content_sha256: binding.finish(),
    report_definition_id: documents.reportDefinitionId,
    report_definition_uri: documents.reportDefinition.uri,
    report_definition_sha256: documents.reportDefinition.sha256,
    reporting_profile: documents.reportingProfile,
    schema_version: "1.0",
    schema_uri: documents.rowSchema.uri,
    schema_sha256: documents.rowSchema.sha256,
    schema_dialect: "https://json-schema.org/draft/2020-12/schema",
    schema_ref_policy: "local_fragment_only",
    account_id: "acct-1",
    media_buy_ids: mediaBuyIds,
    coverage: fullCoverage(mediaBuyIds, "2026-03-09T00:00:00Z"),
    period: { start: "2026-03-08T00:00:00Z", end: "2026-03-09T00:00:00Z", source_timezone: "UTC" },
    finality: "snapshot",
    observed_at: "2026-03-09T01:00:00Z",
    data_through: "2026-03-09T00:00:00Z",
    data_through_precision: "exact",
    row_count: rows.length,
    control_totals: controlTotals,
    canonical_content_digest: {
      algorithm: "sha256",
      value: digest.finish(),
      canonicalization_id: "conformance-rows-v1",
      canonicalization_uri: documents.canonicalization.uri,
      canonicalization_sha256: documents.canonicalization.sha256,
    },
    created_at: "2026-03-09T01:00:01Z",
  };
}

async function* batchOf(rows: readonly LogicalRow[]): AsyncIterable<readonly LogicalRow[]> {
  if (rows.length > 0) yield rows;
}
