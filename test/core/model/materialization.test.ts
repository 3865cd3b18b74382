import { describe, expect, it } from "vitest";
import { WaybillError } from "../../../core/errors.ts";
import { evidenceProblems, failedMaterialization, readyMaterialization } from "../../../core/model/materialization.ts";
import type { Materialization, Resource, Revision, Verification } from "../../../core/model/records.ts";
import { sampleEvidence, samplePending, sampleRevision, sampleVerification } from "./sample-records.ts";

const failure = { failed_at: "2026-03-09T02:00:00Z", failure_code: "VISIBILITY_TIMEOUT" } as const;

describe("a materialization", () => {
  it("becomes available or delivered with its evidence, or failed with its code", () => {
    const evidence = sampleEvidence();
    expect(readyMaterialization(samplePending(), evidence, sampleRevision())).toEqual({
      ...samplePending(),
      ...evidence,
    });
    const delivered = readyMaterialization(samplePending(), sampleEvidence({ status: "delivered" }), sampleRevision());
    expect(delivered.status).toBe("delivered");
    expect(failedMaterialization(samplePending(), failure)).toEqual({
      ...samplePending(),
      status: "failed",
      ...failure,
    });
  });

  it("changes exactly once, whatever it became", () => {
    const ready = readyMaterialization(samplePending(), sampleEvidence(), sampleRevision());
    const delivered = readyMaterialization(samplePending(), sampleEvidence({ status: "delivered" }), sampleRevision());
    const failed = failedMaterialization(samplePending(), failure);
    for (const terminal of [ready, delivered, failed]) {
      expect(() => readyMaterialization(terminal, sampleEvidence({ status: "delivered" }), sampleRevision())).toThrow(
        WaybillError,
      );
      expect(() => failedMaterialization(terminal, failure)).toThrow(/exactly once/);
    }
  });
});

describe("evidence", () => {
  interface Change {
    readonly pending?: Partial<Materialization>;
    readonly resource?: Partial<Resource>;
    readonly verification?: Partial<Verification>;
    readonly revision?: Partial<Revision>;
  }
  const fields = ({ pending, resource, verification, revision }: Change) => {
    const base = sampleEvidence();
    const evidence = sampleEvidence({
      resource: { ...base.resource, ...resource },
      verification: sampleVerification(verification),
    });
    return evidenceProblems(samplePending(pending), evidence, sampleRevision(revision)).map(({ field }) => field);
  };

  it("must show what the revision says: rows, totals, digest", () => {
    expect(fields({ verification: { row_count: 3 } })).toEqual(["verification.row_count"]);
    const totals = [{ name: "spend", value: "8.0", value_type: "decimal", unit: "USD" }] as const;
    expect(fields({ verification: { control_totals: totals } })).toEqual(["verification.control_totals"]);
    const digest = sampleRevision().canonical_content_digest;
    if (digest === undefined) throw new Error("the sample has a digest");
    const upper = { ...digest, value: digest.value.toUpperCase() };
    expect(fields({ verification: { canonical_content_digest: upper } })).toEqual([]);
    const other = { ...digest, value: "b".repeat(64) };
    expect(fields({ verification: { canonical_content_digest: other } })).toEqual([
      "verification.canonical_content_digest",
    ]);
    expect(fields({ revision: { reporting_revision_id: "rev-b" } })).toEqual(["reporting_revision_id"]);
  });

  it("of a file transfer is a manifest with checksums", () => {
    expect(fields({})).toEqual([]);
    expect(fields({ verification: { physical_checksums: [] } })).toEqual(["verification.physical_checksums"]);
    expect(fields({ resource: { kind: "dataset" } })).toEqual(["resource.kind"]);
    const { manifest_sha256: _, ...bare } = sampleEvidence().resource;
    const problems = evidenceProblems(samplePending(), sampleEvidence({ resource: bare }), sampleRevision());
    expect(problems.map(({ field }) => field)).toEqual(["resource.manifest_sha256"]);
  });

  it("of a share or warehouse was read over the one path that counts", () => {
    const share: Change = { pending: { method: "dataset_share" }, resource: { kind: "dataset" } };
    expect(fields(share)).toEqual(["verification.verification_path"]);
    expect(fields({ ...share, verification: { verification_path: "representative_consumer" } })).toEqual([]);
    const warehouse: Change = {
      pending: { method: "warehouse_materialization" },
      resource: { kind: "warehouse_relation" },
    };
    expect(fields(warehouse)).toEqual(["verification.verification_path"]);
    expect(fields({ ...warehouse, verification: { verification_path: "destination" } })).toEqual([]);
  });

  it("carries what its verification profile promises; billing takes canonical_digest only", () => {
    expect(fields({ pending: { feed_purpose: "billing" } })).toEqual([]);
    expect(
      fields({ pending: { feed_purpose: "billing" }, verification: { verification_profile: "manifest_checksums" } }),
    ).toEqual(["verification.verification_profile"]);
    expect(fields({ verification: { verification_profile: "native_commit" } })).toEqual([
      "verification.native_commit_evidence",
    ]);
    const { canonical_content_digest: _, ...undigested } = sampleVerification();
    const evidence = sampleEvidence({ verification: undigested });
    expect(evidenceProblems(samplePending(), evidence, sampleRevision()).map(({ field }) => field)).toEqual([
      "verification.canonical_content_digest",
    ]);
    const commit = { native_version_ref: "v2", observed_through: "destination" } as const;
    expect(
      fields({
        pending: { method: "warehouse_materialization" },
        resource: { kind: "warehouse_relation", immutability: "native_version", native_version_ref: "v1" },
        verification: { verification_path: "destination", native_commit_evidence: commit },
      }),
    ).toEqual(["verification.native_commit_evidence"]);
  });

  it("names an immutable version and a time of expiry after it became ready", () => {
    expect(fields({ resource: { immutability: "native_version" } })).toEqual(["resource.native_version_ref"]);
    expect(fields({ resource: { expires_at: "2026-03-09T01:00:04Z" } })).toEqual(["resource.expires_at"]);
    expect(fields({ resource: { expires_at: "never" } })).toEqual(["resource.expires_at"]);
  });
});
