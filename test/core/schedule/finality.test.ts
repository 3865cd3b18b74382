import { describe, expect, it } from "vitest";
import { type FinalityPolicy, finalityProblem } from "../../../core/schedule/finality.ts";
import { sampleOfficial, sampleRevision } from "../model/sample-records.ts";

const policies: readonly FinalityPolicy[] = [
  { finality_policy_id: "close-4h", basis: "contractual_cutoff", duration_after_period_end: "PT4H" },
  { finality_policy_id: "source", basis: "source_final", source_signal: "day closed" },
  { finality_policy_id: "stable", basis: "stabilized", minimum_age: "P2D", unchanged_for: "P1D" },
];

describe("an official close", () => {
  it("is allowed from the first instant of its policy, not before", () => {
    expect(finalityProblem(sampleOfficial(), policies)).toBeUndefined();
    expect(finalityProblem(sampleOfficial({ finalized_at: "2026-03-09T03:59:59.999999Z" }), policies)).toMatchObject({
      code: "FINALIZED_TOO_EARLY",
      limit: "2026-03-09T04:00:00Z",
    });
    const stable = { finality_policy_id: "stable", finality_basis: "stabilized" } as const;
    expect(finalityProblem(sampleOfficial(stable), policies)?.limit).toBe("2026-03-11T00:00:00Z");
    const source = { finality_policy_id: "source", finality_basis: "source_final" } as const;
    expect(
      finalityProblem(sampleOfficial({ ...source, finalized_at: "2026-03-09T00:00:00Z" }), policies),
    ).toBeUndefined();
  });

  it("names a policy of its definition with that policy's basis", () => {
    for (const change of [{ finality_policy_id: "other" }, { finality_basis: "stabilized" }] as const) {
      expect(finalityProblem(sampleOfficial(change), policies)?.code).toBe("FINALITY_POLICY_UNKNOWN");
    }
  });

  it("is no matter of snapshots", () => {
    expect(finalityProblem(sampleRevision(), policies)).toBeUndefined();
  });
});
