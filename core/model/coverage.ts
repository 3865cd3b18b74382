import type { Problem } from "../errors.ts";
import { compareCodePoints, idSet } from "./id.ts";
import type { Coverage, CoverageLimitation } from "./records.ts";

/** How one slice of a buy (a stretch of its period or a package) can be reported. */
export type Support = "full" | "unsupported" | "unknown";

/** What is known of one media buy at the evaluation boundary. */
export interface BuySupport {
  readonly media_buy_id: string;
  /** Support along the period, at least one entry. All full = covered; a mixture that has some full = partially covered. */
  readonly slices: readonly Support[];
  readonly packages?: readonly { readonly package_id: string; readonly support: Support }[];
  /** Why it is not fully covered. Default: offering_unsupported; capability_unknown when only unknown support keeps it from full. */
  readonly reason?: CoverageLimitation["reason"];
}

/** Coverage of a scope in which every buy is fully covered; no buys is an explicit empty denominator and full as well. */
export function fullCoverage(mediaBuyIds: readonly string[], evaluatedAt: string): Coverage {
  return aggregateCoverage(
    mediaBuyIds.map((media_buy_id) => ({ media_buy_id, slices: ["full"] })),
    evaluatedAt,
  );
}

/** Coverage of a scope from what is known of each buy. Every id set is sorted by code point; a buy given twice is a RangeError. */
export function aggregateCoverage(buys: readonly BuySupport[], evaluatedAt: string): Coverage {
  const classes = buys.map((buy) => ({ buy, support: buyClass(buy) }));
  if (new Set(buys.map((buy) => buy.media_buy_id)).size !== buys.length)
    throw new RangeError("a media buy is given twice");
  const buysOf = (wanted: BuyClass): readonly string[] =>
    idSet(classes.filter(({ support }) => support === wanted).map(({ buy }) => buy.media_buy_id));
  const packages = buys.flatMap((buy) => buy.packages ?? []);
  const packagesOf = (wanted: Support): readonly string[] =>
    idSet(packages.filter(({ support }) => support === wanted).map(({ package_id }) => package_id));
  const parts = {
    fully_covered_media_buy_ids: buysOf("full"),
    partially_covered_media_buy_ids: buysOf("partial"),
    unsupported_media_buy_ids: buysOf("unsupported"),
    unknown_media_buy_ids: buysOf("unknown"),
    covered_package_ids: packagesOf("full"),
    unsupported_package_ids: packagesOf("unsupported"),
    unknown_package_ids: packagesOf("unknown"),
  };
  return {
    status: coverageStatus(parts),
    evaluated_at: evaluatedAt,
    media_buy_ids: idSet(buys.map((buy) => buy.media_buy_id)),
    package_ids: idSet(packages.map(({ package_id }) => package_id)),
    ...parts,
    limitations: classes
      .filter(({ support }) => support !== "full")
      .map(({ buy }) => limitation(buy))
      .sort((left, right) => compareCodePoints(left.media_buy_id, right.media_buy_id)),
  };
}

type BuyClass = "full" | "partial" | "unsupported" | "unknown";

function supportsOf(buy: BuySupport): readonly Support[] {
  return [...buy.slices, ...(buy.packages ?? []).map(({ support }) => support)];
}

function buyClass(buy: BuySupport): BuyClass {
  const all = supportsOf(buy);
  if (all.every((support) => support === "full")) return "full";
  if (all.includes("full")) return "partial";
  return all.includes("unknown") ? "unknown" : "unsupported";
}

function limitation(buy: BuySupport): CoverageLimitation {
  const known = supportsOf(buy).includes("unsupported") ? "offering_unsupported" : "capability_unknown";
  const reason = buy.reason ?? known;
  const uncovered = idSet(
    (buy.packages ?? []).filter((entry) => entry.support !== "full").map((entry) => entry.package_id),
  );
  const { media_buy_id } = buy;
  return uncovered.length === 0 ? { reason, media_buy_id } : { reason, media_buy_id, package_ids: uncovered };
}

type CoverageParts = Omit<Coverage, "status" | "evaluated_at" | "media_buy_ids" | "package_ids" | "limitations">;

/** The status that a partition must carry. */
export function coverageStatus(parts: CoverageParts): Coverage["status"] {
  const { length: partial } = parts.partially_covered_media_buy_ids;
  const unsupported = parts.unsupported_media_buy_ids.length + parts.unsupported_package_ids.length;
  const unknown = parts.unknown_media_buy_ids.length + parts.unknown_package_ids.length;
  if (partial + unsupported + unknown === 0) return "full";
  const covered = parts.fully_covered_media_buy_ids.length + parts.covered_package_ids.length + partial;
  if (covered > 0) return "partial";
  return unknown > 0 ? "unknown" : "none";
}

/** What is wrong with a declared coverage: classes that overlap or miss an id of the denominator, a foreign limitation, another status. */
export function coverageProblems(coverage: Coverage, field = "coverage"): readonly Problem[] {
  const problems: Problem[] = [];
  const report = (member: string, message: string): void => {
    problems.push({ code: "INVALID_COVERAGE", message: `${field}.${member} ${message}`, field: `${field}.${member}` });
  };
  const buyClasses = [
    ...coverage.fully_covered_media_buy_ids,
    ...coverage.partially_covered_media_buy_ids,
    ...coverage.unsupported_media_buy_ids,
    ...coverage.unknown_media_buy_ids,
  ];
  if (!isPartition(coverage.media_buy_ids, buyClasses)) report("media_buy_ids", "must be split among the four classes");
  const packageClasses = [
    ...coverage.covered_package_ids,
    ...coverage.unsupported_package_ids,
    ...coverage.unknown_package_ids,
  ];
  if (!isPartition(coverage.package_ids, packageClasses))
    report("package_ids", "must be split among the three classes");
  const buys = new Set(coverage.media_buy_ids);
  const packages = new Set(coverage.package_ids);
  coverage.limitations.forEach((entry, index) => {
    if (!buys.has(entry.media_buy_id)) report(`limitations[${index}]`, "names a media buy outside the denominator");
    if (entry.package_ids?.some((id) => !packages.has(id))) {
      report(`limitations[${index}]`, "names a package outside the denominator");
    }
  });
  const status = coverageStatus(coverage);
  if (coverage.status !== status) report("status", `must be ${status} for these classes`);
  return problems;
}

function isPartition(whole: readonly string[], parts: readonly string[]): boolean {
  const distinct = new Set(parts);
  return distinct.size === parts.length && parts.length === whole.length && whole.every((id) => distinct.has(id));
}
