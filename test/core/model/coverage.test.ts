import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { aggregateCoverage, type BuySupport, coverageProblems, fullCoverage } from "../../../core/model/coverage.ts";

const at = "2026-09-01T00:00:00Z";

describe("coverage", () => {
  it("of buys that are all covered is full, and so is that of no buys", () => {
    expect(fullCoverage(["b", "a", "\u{1F600}", "\uFB33"], at)).toMatchObject({
      status: "full",
      evaluated_at: at,
      media_buy_ids: ["a", "b", "\uFB33", "\u{1F600}"],
      fully_covered_media_buy_ids: ["a", "b", "\uFB33", "\u{1F600}"],
      limitations: [],
    });
    expect(fullCoverage([], at).status).toBe("full");
  });

  it("classifies buys and packages and says why", () => {
    const coverage = aggregateCoverage(
      [
        { media_buy_id: "mixed", slices: ["full", "unsupported"] },
        { media_buy_id: "dark", slices: ["unknown", "unsupported"], reason: "provider_limitation" },
        {
          media_buy_id: "split",
          slices: ["full"],
          packages: [
            { package_id: "p1", support: "full" },
            { package_id: "p2", support: "unknown" },
          ],
        },
      ],
      at,
    );
    expect(coverage).toMatchObject({
      status: "partial",
      partially_covered_media_buy_ids: ["mixed", "split"],
      unknown_media_buy_ids: ["dark"],
      covered_package_ids: ["p1"],
      unknown_package_ids: ["p2"],
      limitations: [
        { reason: "provider_limitation", media_buy_id: "dark" },
        { reason: "offering_unsupported", media_buy_id: "mixed" },
        { reason: "capability_unknown", media_buy_id: "split", package_ids: ["p2"] },
      ],
    });
  });

  it("of nothing covered is none, or unknown if anything is unknown", () => {
    const status = (...slices: BuySupport["slices"][]): string =>
      aggregateCoverage(
        slices.map((entry, index) => ({ media_buy_id: `b${index}`, slices: entry })),
        at,
      ).status;
    expect(status(["unsupported"])).toBe("none");
    expect(status(["unsupported"], ["unknown"])).toBe("unknown");
    expect(status(["unsupported"], ["full", "unknown"])).toBe("partial");
  });

  it("aggregates into a partition that its own check accepts", () => {
    const support = fc.constantFrom("full" as const, "unsupported" as const, "unknown" as const);
    const buy = fc.record({
      id: fc.uuid(),
      slices: fc.array(support, { minLength: 1, maxLength: 3 }),
      packages: fc.array(support),
    });
    fc.assert(
      fc.property(fc.uniqueArray(buy, { selector: ({ id }) => id, maxLength: 8 }), (buys) => {
        const coverage = aggregateCoverage(
          buys.map(({ id, slices, packages }) => ({
            media_buy_id: id,
            slices,
            packages: packages.map((entry, index) => ({ package_id: `${id}-${index}`, support: entry })),
          })),
          at,
        );
        expect(coverageProblems(coverage)).toEqual([]);
      }),
    );
  });

  it("declared wrongly is refused: overlap, gap, foreign limitation, other status", () => {
    const full = fullCoverage(["a", "b"], at);
    const fields = (change: Partial<typeof full>) => coverageProblems({ ...full, ...change }).map(({ field }) => field);
    expect(fields({ unknown_media_buy_ids: ["a"] })).toEqual(["coverage.media_buy_ids", "coverage.status"]);
    expect(fields({ fully_covered_media_buy_ids: ["a"] })).toEqual(["coverage.media_buy_ids"]);
    expect(fields({ package_ids: ["p"] })).toEqual(["coverage.package_ids"]);
    expect(fields({ status: "partial" })).toEqual(["coverage.status"]);
    const limitations = [{ reason: "capability_unknown" as const, media_buy_id: "c", package_ids: ["p"] }];
    expect(fields({ limitations })).toEqual(["coverage.limitations[0]", "coverage.limitations[0]"]);
    expect(() =>
      aggregateCoverage(
        [
          { media_buy_id: "a", slices: [] },
          { media_buy_id: "a", slices: [] },
        ],
        at,
      ),
    ).toThrow();
  });
});
