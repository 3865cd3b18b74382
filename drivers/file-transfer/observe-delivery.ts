import { DeliveryError } from "../../core/errors.ts";
import type { VerificationProfile } from "../../core/model/records.ts";
import { nodePlatform } from "../../manifests/node-platform.ts";
import type { Place } from "../../manifests/place.ts";
import { type VerificationReport, verifyDelivery } from "../../manifests/verifier.ts";
import type { Attempt, Observation } from "../driver.ts";
import type { ManifestEvidence } from "./delivery-evidence.ts";
import type { FileTransferPlan } from "./delivery-plan.ts";
import { objectKey } from "./layout.ts";
import type { ObjectStore } from "./object-store.ts";

export interface ObserveInput {
  /** Opened for this observation alone. */
  readonly reader: ObjectStore;
  readonly plan: FileTransferPlan;
  readonly commit: ManifestEvidence;
  readonly profile: VerificationProfile;
  readonly spoolDirectory: string;
  readonly attempt: Attempt;
}

/**
 * One read of a delivery with the buyer's own verifier: the manifest, then every object once. Everything observed was computed from the
 * bytes that the reader got; the documents that decode them come from the folder too and are held against the plan's pins.
 */
export async function observeDelivery(input: ObserveInput): Promise<Observation> {
  const { attempt, commit, plan, profile } = input;
  attempt.signal.throwIfAborted();
  const report = await verifyDelivery({
    place: placeOf(input),
    folder: plan.folder,
    platform: nodePlatform({ spoolDirectory: input.spoolDirectory }),
    expect: { manifestSha256: commit.manifest_sha256, ids: idsOf(plan), pins: pinsOf(plan) },
    profile,
    signal: attempt.signal,
  });
  return notYet(report) ?? seen(report);
}

function placeOf({ attempt, plan, reader }: ObserveInput): Place {
  return {
    location: `${reader.location}/${plan.folder}`,
    open: (name, options) => reader.open(objectKey(plan.folder, name), { signal: attempt.signal, ...options }),
  };
}

/** What more time, or a repaired grant, may still make readable. Trouble of the provider is thrown: the whole read is repeated. */
function notYet(report: VerificationReport): Observation | undefined {
  if (report.failures.includes("DESTINATION_FORBIDDEN")) return { outcome: "not_yet", code: "READER_FORBIDDEN" };
  const absent = report.findings.some(({ code }) => code === "RESOURCE_NOT_READY");
  // A mount of the buyer's that is gone shows nothing, which is what a reader sees who comes too early.
  const passing = report.failures.find((code) => code !== "DESTINATION_MISSING");
  if (passing !== undefined) throw new DeliveryError(passing);
  return absent || report.failures.length > 0 ? { outcome: "not_yet", code: "NOT_YET_VISIBLE" } : undefined;
}

function seen(report: VerificationReport): Observation {
  return {
    outcome: "read",
    // Null only beside a finding, which by itself means no match.
    rowCount: report.row_count ?? 0,
    controlTotals: report.control_totals ?? [],
    ...(report.canonical_digest === null ? {} : { canonicalDigest: report.canonical_digest }),
    ...(report.manifest_sha256 === null ? {} : { manifestSha256: report.manifest_sha256 }),
    physicalChecksums: report.physical_checksums,
    findings: report.findings,
  };
}

function idsOf(plan: FileTransferPlan) {
  const { reporting_revision_id, reporting_obligation_id, reporting_materialization_id } = plan.manifest;
  return { reporting_revision_id, reporting_obligation_id, reporting_materialization_id };
}

function pinsOf(plan: FileTransferPlan) {
  const { report_definition_sha256, schema_sha256, canonicalization_sha256 } = plan.documents;
  return {
    report_definition_sha256,
    schema_sha256,
    ...(canonicalization_sha256 === null ? {} : { canonicalization_sha256 }),
  };
}
