import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { canonicalJson } from "../../core/canonical-json.ts";
import { createBindingDigest } from "../../core/digest/binding-digest.ts";
import { canonicalContent } from "../../core/digest/canonical-content.ts";
import { nodeHasher, sha256Hex } from "../../core/digest/node-hasher.ts";
import { encodeParts } from "../../core/encoding/encode-parts.ts";
import type { Encoding } from "../../core/encoding/encoding.ts";
import type { DeliveryError } from "../../core/errors.ts";
import { fullCoverage } from "../../core/model/coverage.ts";
import type { FileEntry, Manifest, Materialization, ObligationFacts, Revision } from "../../core/model/records.ts";
import { createTotals } from "../../core/model/totals.ts";
import { checkDefinition } from "../../core/rows/definition.ts";
import { buildDocuments } from "../../core/rows/documents.ts";
import type { LogicalRow } from "../../core/rows/profile.ts";
import type { DefinitionDocuments } from "../../core/rows/retained.ts";
import { compareBytes, sortKey } from "../../core/rows/sort-key.ts";
import { buildManifest } from "../../manifests/manifest.ts";
import { nodePlatform } from "../../manifests/node-platform.ts";
import type { Place } from "../../manifests/place.ts";
import { sideFiles } from "../../manifests/side-files.ts";
import { type VerificationReport, type VerifyInput, verifyDelivery } from "../../manifests/verifier.ts";
import { writeRetainedFiles } from "../conformance/retained-files.ts";

/** Definition of the rows that most tests deliver. */
export const documents: DefinitionDocuments = buildDocuments(
  checkDefinition({
    waybill_definition: 1,
    report_definition_id: "verified-delivery",
    reporting_profile: "verified-delivery-v1",
    schema_version: "1.0",
    grain: "package-day",
    documents_base_uri: "https://schemas.seller.example/reporting",
    source: { provider: { domain: "seller.example" }, system: "ad-server", api_version: "1" },
    calendar: { timezone_basis: "utc" },
    primary_keys: ["media_buy_id", "package_id"],
    media_buy_member: "media_buy_id",
    members: [
      { name: "media_buy_id", type: "string" },
      { name: "package_id", type: "string" },
      { name: "note", type: "string", missing: "null" },
      { name: "impressions", type: "integer-string" },
      { name: "spend", type: "decimal-string", precision: 18, scale: 2, unit: "USD" },
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

export function rowOf(index: number, changed: LogicalRow = {}): LogicalRow {
  return {
    media_buy_id: `buy-${index % 3}`,
    package_id: `pkg-${String(index).padStart(6, "0")}`,
    note: index % 4 === 0 ? null : index % 4 === 1 ? "" : `Caf\u00e9 "${index}", \u{1f600} \u2028\u2029\u0085 end`,
    impressions: index === 0 ? "9007199254740993" : String(index),
    spend: `${index}.05`,
    ...changed,
  };
}

export function rowsOf(count: number): readonly LogicalRow[] {
  return inOrder(
    Array.from({ length: count }, (_, index) => rowOf(index)),
    documents,
  );
}

export function inOrder(rows: readonly LogicalRow[], { profile }: DefinitionDocuments): readonly LogicalRow[] {
  const key = (row: LogicalRow): Uint8Array => sortKey(row, profile.primaryKeys);
  return [...rows].sort((left, right) => compareBytes(key(left), key(right)));
}

/** A delivery as a map of its files, with the ledger's records. */
export interface Delivered {
  readonly files: Map<string, Uint8Array>;
  readonly manifest: Manifest;
  readonly revision: Revision;
  readonly obligation: ObligationFacts;
  readonly materialization: Materialization;
  readonly documents: DefinitionDocuments;
}

export interface DeliverOptions {
  readonly rows: readonly LogicalRow[];
  readonly documents?: DefinitionDocuments;
  readonly encoding?: Partial<Encoding>;
  readonly revisionId?: string;
}

const lines: Encoding = { format: "jsonl", compression: "none", rowsPerPart: 1_000_000 };

/** Encodes rows, which must be in key order, as a worker would and builds everything that lies in the folder. */
export async function deliver(options: DeliverOptions): Promise<Delivered> {
  const { rows, documents: own = documents } = options;
  const encoding = { ...lines, ...options.encoding };
  const directory = await mkdtemp(join(tmpdir(), "waybill-delivered-"));
  try {
    const files = new Map<string, Uint8Array>();
    const retainedFiles = encoding.format === "parquet" ? await writeRetainedFiles(rows, own.profile, directory) : [];
    const parts = await encodeParts({
      rows: one(rows),
      retainedFiles,
      profile: own.profile,
      encoding,
      directory,
      signal: new AbortController().signal,
    });
    for (const part of parts) files.set(part.name, await readFile(part.path));
    const entries = parts.map((part) => ({
      object_ref: part.name,
      size_bytes: part.sizeBytes,
      sha256: part.sha256,
      row_count: part.rowCount,
    }));
    return assemble(files, entries, revisionOf(rows, own, options.revisionId ?? "rev_1"), own, encoding);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Like deliver, for objects that no encoder of ours would write. Hashes and sizes are right. */
export function deliverRaw(
  objects: { readonly [name: string]: { readonly bytes: Uint8Array | string; readonly rows: number } },
  options: DeliverOptions,
): Delivered {
  const { documents: own = documents } = options;
  const files = new Map<string, Uint8Array>();
  const entries: FileEntry[] = [];
  for (const [name, object] of Object.entries(objects)) {
    const bytes = typeof object.bytes === "string" ? new TextEncoder().encode(object.bytes) : object.bytes;
    files.set(name, bytes);
    entries.push({ object_ref: name, size_bytes: bytes.length, sha256: sha256Hex(bytes), row_count: object.rows });
  }
  const revision = revisionOf(options.rows, own, options.revisionId ?? "rev_1");
  return assemble(files, entries, revision, own, { ...lines, ...options.encoding });
}

function assemble(
  files: Map<string, Uint8Array>,
  entries: readonly FileEntry[],
  revision: Revision,
  own: DefinitionDocuments,
  { compression, format }: Encoding,
): Delivered {
  const { manifest, bytes } = buildManifest(
    {
      reporting_revision_id: revision.reporting_revision_id,
      reporting_obligation_id: "obl_1",
      reporting_materialization_id: "mat_1",
      period: revision.period,
      format,
      compression,
      row_count: entries.reduce((total, entry) => total + entry.row_count, 0),
      control_totals: revision.control_totals,
      created_at: "2026-03-09T05:00:02Z",
    },
    entries,
  );
  const sums = entries.map((entry) => ({ name: entry.object_ref, sha256: entry.sha256 }));
  for (const side of sideFiles(revision, own, sums, bytes)) files.set(side.name, side.bytes);
  files.set("manifest.json", bytes);
  const records = recordsOf(revision, bytes, entries);
  return { files, manifest, revision, documents: own, ...records };
}

function revisionOf(rows: readonly LogicalRow[], own: DefinitionDocuments, revisionId: string): Revision {
  const totals = createTotals(own.profile.controlTotals);
  for (const row of rows) totals.add(row);
  const controlTotals = totals.result();
  const binding = createBindingDigest(nodeHasher("sha256"), { revisionId, controlTotals });
  for (const row of rows) binding.add(canonicalJson(row));
  const mediaBuyIds = ["buy-0", "buy-1", "buy-2"];
  return {
    reporting_revision_id: revisionId,
    revision_content_sha256: binding.finish(),
    report_definition_id: own.reportDefinitionId,
    report_definition_uri: own.reportDefinition.uri,
    report_definition_sha256: own.reportDefinition.sha256,
    reporting_profile: own.reportingProfile,
    schema_version: "1.0",
    schema_uri: own.rowSchema.uri,
    schema_sha256: own.rowSchema.sha256,
    schema_dialect: "https://json-schema.org/draft/2020-12/schema",
    schema_ref_policy: "local_fragment_only",
    account_id: "acct-1",
    media_buy_ids: mediaBuyIds,
    coverage: fullCoverage(mediaBuyIds, "2026-03-09T00:00:00Z"),
    period: { start: "2026-03-08T00:00:00Z", end: "2026-03-09T00:00:00Z", source_timezone: "UTC" },
    finality: "official",
    finality_basis: "contractual_cutoff",
    finality_policy_id: policyOf(own),
    finalized_at: "2026-03-09T04:00:00Z",
    observed_at: "2026-03-09T04:00:00Z",
    data_through: "2026-03-09T00:00:00Z",
    data_through_precision: "exact",
    row_count: rows.length,
    control_totals: controlTotals,
    canonical_content_digest: {
      algorithm: "sha256",
      value: sha256Hex(canonicalContent(rows, own.profile.primaryKeys)),
      canonicalization_id: "verified-rows-v1",
      canonicalization_uri: own.canonicalization.uri,
      canonicalization_sha256: own.canonicalization.sha256,
    },
    created_at: "2026-03-09T04:00:01Z",
  };
}

function policyOf({ reportDefinition }: DefinitionDocuments): string {
  const { finality_policies: policies } = JSON.parse(new TextDecoder().decode(reportDefinition.bytes)) as {
    readonly finality_policies: readonly { readonly finality_policy_id: string }[];
  };
  return policies[0]?.finality_policy_id ?? "none";
}

function recordsOf(
  revision: Revision,
  manifest: Uint8Array,
  entries: readonly FileEntry[],
): { readonly obligation: ObligationFacts; readonly materialization: Materialization } {
  const delivery = {
    delivery_config_id: "files",
    delivery_config_version: 1,
    destination_ref: "folder.1",
    feed_purpose: "billing",
  } as const;
  const { coverage, media_buy_ids, period, report_definition_id, reporting_profile } = revision;
  return {
    obligation: {
      reporting_obligation_id: "obl_1",
      ...delivery,
      report_definition_id,
      reporting_profile,
      account_id: revision.account_id,
      media_buy_ids,
      scope_resolved_at: period.end,
      coverage,
      period,
      expected_at: "2026-03-09T04:00:00Z",
      schedule: { period_duration: "P1D", alignment: "utc", delivery_sla: "PT4H" },
      required_finality: "official",
      reconciliation_mode: "consumer_receipt",
    },
    materialization: {
      reporting_materialization_id: "mat_1",
      reporting_revision_id: revision.reporting_revision_id,
      reporting_obligation_id: "obl_1",
      ...delivery,
      method: "file_transfer",
      transport: "local_fs",
      attempt: 1,
      status: "available",
      ready_at: "2026-03-09T05:00:03Z",
      resource: {
        resource_ref: "manifest.m1",
        kind: "manifest",
        location: "file:///reports/r_1/m_1/manifest.json",
        manifest_version: "1.0",
        manifest_sha256: sha256Hex(manifest),
        immutability: "immutable_location",
        expires_at: "2027-03-09T05:00:00Z",
      },
      verification: {
        verified_at: "2026-03-09T05:00:03Z",
        verification_path: "producer",
        verification_profile: "canonical_digest",
        row_count: revision.row_count,
        control_totals: revision.control_totals,
        ...(revision.canonical_content_digest === undefined
          ? {}
          : { canonical_content_digest: revision.canonical_content_digest }),
        physical_checksums: entries.map(({ object_ref, sha256 }) => ({
          object_ref,
          algorithm: "sha256",
          value: sha256,
        })),
      },
      created_at: "2026-03-09T05:00:00Z",
    },
  };
}

/** A place over a map, which counts what is opened and read to its end. */
export interface MemoryPlace extends Place {
  readonly opened: string[];
  readonly finished: string[];
}

export function memoryPlace(
  files: ReadonlyMap<string, Uint8Array>,
  options: {
    readonly chunkBytes?: number;
    readonly failing?: (name: string, opening: number) => DeliveryError | undefined;
  } = {},
): MemoryPlace {
  const opened: string[] = [];
  const finished: string[] = [];
  return {
    opened,
    finished,
    location: "/reports/r_1/m_1",
    open: async (name) => {
      opened.push(name);
      const failure = options.failing?.(name, opened.filter((other) => other === name).length);
      if (failure !== undefined) throw failure;
      const bytes = files.get(name);
      return bytes === undefined ? undefined : chunked(bytes, options.chunkBytes ?? 64, () => finished.push(name));
    },
  };
}

async function* chunked(bytes: Uint8Array, size: number, onEnd: () => void): AsyncIterable<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
  onEnd();
}

/** Verifies a map of files on the Node platform, with a spool folder of its own. */
export async function verifyFiles(
  files: ReadonlyMap<string, Uint8Array>,
  options: Partial<VerifyInput> = {},
): Promise<VerificationReport> {
  const { platform } = options;
  if (platform !== undefined) return await verifyDelivery({ place: memoryPlace(files), ...options, platform });
  const spoolDirectory = await mkdtemp(join(tmpdir(), "waybill-verify-"));
  try {
    return await verifyDelivery({ place: memoryPlace(files), platform: nodePlatform({ spoolDirectory }), ...options });
  } finally {
    await rm(spoolDirectory, { recursive: true, force: true });
  }
}

/** The same files with some of them changed; `undefined` removes one. */
export function withFiles(
  { files }: Pick<Delivered, "files">,
  changes: { readonly [name: string]: Uint8Array | string | undefined },
): Map<string, Uint8Array> {
  const changed = new Map(files);
  for (const [name, content] of Object.entries(changes)) {
    if (content === undefined) changed.delete(name);
    else changed.set(name, typeof content === "string" ? new TextEncoder().encode(content) : content);
  }
  return changed;
}

/** Writes a delivery below `directory` as a destination would hold it and returns its folder. */
export async function writeFolder(
  files: ReadonlyMap<string, Uint8Array>,
  directory: string,
  name = "r_1/m_1",
): Promise<string> {
  const folder = join(directory, name);
  await mkdir(folder, { recursive: true });
  for (const [file, bytes] of files) await writeFile(join(folder, file), bytes);
  return folder;
}

async function* one(rows: readonly LogicalRow[]): AsyncIterable<readonly LogicalRow[]> {
  if (rows.length > 0) yield rows;
}
