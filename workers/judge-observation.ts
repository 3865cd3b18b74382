import type { DestinationGeneration } from "../core/ledger/ledger-records.ts";
import type { ControlTotal, Revision, Verification, VerificationProfile } from "../core/model/records.ts";
import { totalDifferences } from "../core/model/totals.ts";
import type { Observation } from "../drivers/driver.ts";
import type { Finding, FindingCode } from "../manifests/finding.ts";

type Read = Extract<Observation, { outcome: "read" }>;

/** Either evidence that the buyer's copy is the revision, or everything that shows it is not. */
export type Judgement =
  | { readonly match: true; readonly verification: Omit<Verification, "verified_at"> }
  | { readonly match: false; readonly findings: readonly Finding[] };

export interface JudgedAgainst {
  readonly revision: Revision;
  readonly profile: VerificationProfile;
  readonly path: DestinationGeneration["verification_path"];
}

/**
 * Compares what one read saw with the revision: rows, every control total as exact text, the digest where the profile asks for it. What
 * the profile needs and the read did not bring is a mismatch, never taken for granted. Pure.
 */
export function judgeObservation(seen: Read, against: JudgedAgainst): Judgement {
  const findings = [...seen.findings, ...differences(seen, against)];
  if (findings.length > 0) return { match: false, findings };
  const { revision, profile, path } = against;
  const digest = revision.canonical_content_digest;
  const observedThrough = path === "producer" ? undefined : path;
  return {
    match: true,
    verification: {
      verification_path: path,
      verification_profile: profile,
      row_count: seen.rowCount,
      control_totals: inOrderOf(revision.control_totals, seen.controlTotals),
      ...(seen.canonicalDigest !== undefined && digest !== undefined
        ? { canonical_content_digest: { ...digest, value: seen.canonicalDigest } }
        : {}),
      ...(seen.physicalChecksums === undefined ? {} : { physical_checksums: seen.physicalChecksums }),
      ...(seen.nativeVersionRef !== undefined && observedThrough !== undefined
        ? {
            native_commit_evidence: {
              native_version_ref: seen.nativeVersionRef,
              observed_through: observedThrough,
            },
          }
        : {}),
    },
  };
}

function differences(seen: Read, { revision, profile }: JudgedAgainst): readonly Finding[] {
  const found: Finding[] = [];
  if (seen.rowCount !== revision.row_count) {
    found.push(finding("ROW_COUNT_MISMATCH", null, String(revision.row_count), String(seen.rowCount)));
  }
  for (const total of totalDifferences(revision.control_totals, seen.controlTotals)) {
    found.push(finding("CONTROL_TOTAL_MISMATCH", total.name, total.expected ?? null, total.actual ?? null));
  }
  if (profile === "canonical_digest") {
    const expected = revision.canonical_content_digest?.value.toLowerCase() ?? null;
    const actual = seen.canonicalDigest ?? null;
    if (expected === null || actual !== expected) {
      found.push(finding("CANONICAL_DIGEST_MISMATCH", null, expected, actual));
    }
  }
  if (profile === "manifest_checksums" && seen.physicalChecksums === undefined) {
    found.push(finding("OBJECT_DIGEST_MISMATCH", null, null, null));
  }
  if (profile === "native_commit" && seen.nativeVersionRef === undefined) {
    found.push(finding("MATERIALIZATION_SCOPE_MISMATCH", null, null, null));
  }
  return found;
}

function finding(code: FindingCode, column: string | null, expected: string | null, actual: string | null): Finding {
  const message = "what was read back differs from the revision";
  return { code, message, object_ref: null, row: null, key: null, column, expected, actual };
}

function inOrderOf(order: readonly ControlTotal[], totals: readonly ControlTotal[]): readonly ControlTotal[] {
  return order.flatMap(({ name }) => totals.filter((total) => total.name === name));
}
