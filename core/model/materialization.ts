import { type Problem, WaybillError } from "../errors.ts";
import type { FailureCode } from "../failure-table.ts";
import { parseInstant } from "./instant.ts";
import type { Materialization, MethodPattern, Resource, Revision, Verification, VerificationPath } from "./records.ts";
import { totalDifferences } from "./totals.ts";

/** What ends a materialization well. `delivered`: read at the buyer's own place; `available`: at a place the producer hosts. */
export interface ReadyEvidence {
  readonly status: "available" | "delivered";
  readonly ready_at: string;
  readonly resource: Resource;
  readonly verification: Verification;
}

/**
 * The one transition to `available` or `delivered`. WaybillError `content` with every problem when the materialization is not
 * pending, or the evidence is not what its method, its verification profile and the revision demand.
 */
export function readyMaterialization(
  pending: Materialization,
  evidence: ReadyEvidence,
  revision: Revision,
): Materialization {
  const problems = [...pendingProblems(pending), ...evidenceProblems(pending, evidence, revision)];
  if (problems.length > 0) throw new WaybillError("content", problems);
  return { ...pending, ...evidence };
}

/** The one transition to `failed`. WaybillError `content` when the materialization is not pending. */
export function failedMaterialization(
  pending: Materialization,
  failure: { readonly failed_at: string; readonly failure_code: FailureCode },
): Materialization {
  const problems = pendingProblems(pending);
  if (problems.length > 0) throw new WaybillError("content", problems);
  return { ...pending, status: "failed", ...failure };
}

function pendingProblems(materialization: Materialization): readonly Problem[] {
  if (materialization.status === "pending") return [];
  const message = `materialization is ${materialization.status} already; it changes exactly once, another try is a new one`;
  return [{ code: "ALREADY_TERMINAL", message, field: "status" }];
}

interface MethodRule {
  readonly kind: Resource["kind"];
  /** The only path that counts; undefined where the destination declares one. */
  readonly path?: VerificationPath;
  readonly physicalChecksums: boolean;
}

const methodRules: Readonly<Record<MethodPattern, MethodRule>> = {
  file_transfer: { kind: "manifest", physicalChecksums: true },
  dataset_share: { kind: "dataset", path: "representative_consumer", physicalChecksums: false },
  warehouse_materialization: { kind: "warehouse_relation", path: "destination", physicalChecksums: false },
};

/** What is wrong with evidence that shall make `pending` ready. Empty when it may. */
export function evidenceProblems(
  pending: Materialization,
  evidence: ReadyEvidence,
  revision: Revision,
): readonly Problem[] {
  const { resource, verification } = evidence;
  const rule = methodRules[pending.method];
  const problems: Problem[] = [];
  const demand = (holds: boolean, field: string, message: string): void => {
    if (!holds) problems.push({ code: "INVALID_EVIDENCE", message: `${field} ${message}`, field });
  };
  demand(
    revision.reporting_revision_id === pending.reporting_revision_id,
    "reporting_revision_id",
    "is another revision",
  );
  demand(resource.kind === rule.kind, "resource.kind", `must be ${rule.kind} for ${pending.method}`);
  demand(
    rule.path === undefined || verification.verification_path === rule.path,
    "verification.verification_path",
    `must be ${rule.path} for ${pending.method}`,
  );
  demand(
    !rule.physicalChecksums || (verification.physical_checksums?.length ?? 0) > 0,
    "verification.physical_checksums",
    `must not be empty for ${pending.method}`,
  );
  demandResource(resource, evidence.ready_at, demand);
  demandProfile(pending, evidence, demand);
  demandContent(verification, revision, demand);
  return problems;
}

type Demand = (holds: boolean, field: string, message: string) => void;

function demandResource(resource: Resource, readyAt: string, demand: Demand): void {
  const expires = parseInstant(resource.expires_at);
  const ready = parseInstant(readyAt);
  demand(ready !== undefined, "ready_at", "must be an instant");
  demand(
    expires !== undefined && (ready === undefined || expires > ready),
    "resource.expires_at",
    "must be an instant after ready_at",
  );
  if (resource.immutability === "native_version") {
    demand(resource.native_version_ref !== undefined, "resource.native_version_ref", "must name the immutable version");
  }
  if (resource.kind === "manifest") {
    demand(resource.manifest_version === "1.0", "resource.manifest_version", "must be 1.0");
    demand(resource.manifest_sha256 !== undefined, "resource.manifest_sha256", "must be given");
  }
}

function demandProfile(pending: Materialization, { resource, verification }: ReadyEvidence, demand: Demand): void {
  const profile = verification.verification_profile;
  if (pending.feed_purpose === "billing") {
    demand(profile === "canonical_digest", "verification.verification_profile", "must be canonical_digest for billing");
  }
  if (profile === "canonical_digest") {
    demand(
      verification.canonical_content_digest !== undefined,
      "verification.canonical_content_digest",
      "must be given",
    );
  }
  if (profile === "manifest_checksums") {
    demand(verification.physical_checksums !== undefined, "verification.physical_checksums", "must be given");
  }
  const commit = verification.native_commit_evidence;
  if (profile === "native_commit") demand(commit !== undefined, "verification.native_commit_evidence", "must be given");
  if (commit !== undefined) {
    const field = "verification.native_commit_evidence";
    const { native_version_ref, observed_through } = commit;
    demand(native_version_ref === resource.native_version_ref, field, "must name the version of the resource");
    demand(observed_through === verification.verification_path, field, "must be observed over the verification path");
  }
}

function demandContent(verification: Verification, revision: Revision, demand: Demand): void {
  demand(verification.row_count === revision.row_count, "verification.row_count", "differs from the revision");
  const totals = totalDifferences(revision.control_totals, verification.control_totals);
  demand(totals.length === 0, "verification.control_totals", "differ from the revision");
  const digest = verification.canonical_content_digest;
  if (digest !== undefined) {
    const expected = revision.canonical_content_digest;
    const equal =
      expected !== undefined &&
      digest.value.toLowerCase() === expected.value.toLowerCase() &&
      digest.canonicalization_sha256.toLowerCase() === expected.canonicalization_sha256.toLowerCase() &&
      digest.canonicalization_id === expected.canonicalization_id;
    demand(equal, "verification.canonical_content_digest", "differs from the revision");
  }
}
