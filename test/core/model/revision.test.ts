import { describe, expect, it } from "vitest";
import type { Revision } from "../../../core/model/records.ts";
import { revisionProblems } from "../../../core/model/revision.ts";
import { chainProblem, currentRevision, sliceIdentity } from "../../../core/model/revision-chain.ts";
import { sampleOfficial, sampleRevision } from "./sample-records.ts";

const a = sampleRevision();
const b = sampleRevision({ reporting_revision_id: "rev-b", supersedes_reporting_revision_id: "rev-a" });
const c = sampleRevision({ reporting_revision_id: "rev-c", supersedes_reporting_revision_id: "rev-b" });

describe("the slice of a revision", () => {
  it("is the same however its instants are spelled, and another for each of its parts", () => {
    const { period } = a;
    expect(sliceIdentity({ ...a, period: { ...period, start: "2026-03-08T01:00:00.000+01:00" } })).toBe(
      sliceIdentity(a),
    );
    const others: readonly Partial<Revision>[] = [
      { report_definition_id: "hourly" },
      { account_id: "acct-2" },
      { media_buy_ids: ["mb-1"] },
      { reporting_profile: "daily-v2" },
      { period: { ...period, end: "2026-03-10T00:00:00Z" } },
      { period: { ...period, source_timezone: "Europe/London" } },
    ];
    for (const change of others) expect(sliceIdentity({ ...a, ...change })).not.toBe(sliceIdentity(a));
  });
});

describe("a revision chain", () => {
  const refusal = (candidate: Revision, published: readonly Revision[]) => chainProblem(candidate, published)?.code;

  it("has one head, which each next revision names", () => {
    expect(refusal(a, [])).toBeUndefined();
    expect(refusal(b, [a])).toBeUndefined();
    expect(refusal(c, [b, a])).toBeUndefined();
    expect(currentRevision([b, c, a])).toBe(c);
    expect(currentRevision([])).toBeUndefined();
  });

  it("refuses a second start, a fork, an unknown or foreign predecessor and an id used twice", () => {
    expect(refusal(sampleRevision({ reporting_revision_id: "rev-x" }), [a])).toBe("SUPERSEDES_MISSING");
    expect(refusal({ ...c, supersedes_reporting_revision_id: "rev-a" }, [a, b])).toBe("NOT_CURRENT");
    expect(refusal(b, [])).toBe("SUPERSEDES_UNKNOWN");
    expect(refusal({ ...b, account_id: "acct-2" }, [a])).toBe("SLICE_DIFFERS");
    expect(refusal(a, [a])).toBe("REVISION_EXISTS");
  });

  it("ends with an official revision, which may supersede a snapshot", () => {
    const official = sampleOfficial({ reporting_revision_id: "rev-o", supersedes_reporting_revision_id: "rev-a" });
    expect(refusal(official, [a])).toBeUndefined();
    const late = sampleRevision({ reporting_revision_id: "rev-l", supersedes_reporting_revision_id: "rev-o" });
    expect(refusal(late, [a, official])).toBe("OFFICIAL_IS_FINAL");
    const second = sampleOfficial({ reporting_revision_id: "rev-p", supersedes_reporting_revision_id: "rev-o" });
    expect(refusal(second, [a, official])).toBe("OFFICIAL_IS_FINAL");
  });

  it("that forks or loops is an error, never a guess", () => {
    const fork = sampleRevision({ reporting_revision_id: "rev-f", supersedes_reporting_revision_id: "rev-a" });
    expect(() => currentRevision([a, b, fork])).toThrow(RangeError);
    const loop = sampleRevision({ reporting_revision_id: "rev-a", supersedes_reporting_revision_id: "rev-b" });
    expect(() => currentRevision([loop, b])).toThrow(RangeError);
  });
});

describe("a revision by itself", () => {
  const fields = (revision: Revision) => revisionProblems(revision).map(({ field }) => field);

  it("is accepted when it keeps the rules", () => {
    expect(fields(a)).toEqual([]);
    expect(fields(sampleOfficial())).toEqual([]);
    expect(fields(sampleRevision({ data_through: null, data_through_precision: "unknown" }))).toEqual([]);
  });

  it("is refused for each rule it breaks", () => {
    const cases: readonly (readonly [Partial<Revision>, string])[] = [
      [{ reporting_revision_id: "a b" }, "reporting_revision_id"],
      [{ media_buy_ids: ["mb-2", "mb-1"] }, "media_buy_ids"],
      [{ row_count: -1 }, "row_count"],
      [{ data_through: null }, "data_through"],
      [{ data_through_precision: "unknown" }, "data_through"],
      [{ observed_at: "yesterday" }, "observed_at"],
      [{ finality_policy_id: "close-4h" }, "finality_policy_id"],
      [{ control_totals: [{ name: "spend", value: "-0", value_type: "integer" }] }, "control_totals[0].value"],
      [{ period: { ...a.period, end: a.period.start } }, "period.end"],
    ];
    for (const [change, field] of cases) expect(fields(sampleRevision(change))).toContain(field);
    expect(fields(sampleRevision({ media_buy_ids: ["mb-1"] }))).toContain("coverage.media_buy_ids");
    const { finality_basis: _, ...unfounded } = sampleOfficial();
    expect(fields(unfounded)).toEqual(["finality_basis"]);
    expect(fields(sampleOfficial({ finalized_at: "2026-03-09T04:00:00.000001Z" }))).toEqual(["finalized_at"]);
  });
});
