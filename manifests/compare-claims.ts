import type { ControlTotal } from "../core/model/records.ts";
import { totalDifferences } from "../core/model/totals.ts";
import type { Claim } from "./expected-records.ts";
import type { FindingCode } from "./finding.ts";
import type { FindingList } from "./finding-list.ts";

/** What the rows came to; a part is undefined when not all rows could be read for it. */
export interface Recomputed {
  readonly rowCount: number | undefined;
  readonly controlTotals: readonly ControlTotal[] | undefined;
  readonly canonicalDigest: string | undefined;
}

/** What the manifest declares; compared with the claims where the rows themselves cannot be. */
export interface Declared {
  readonly row_count: number;
  readonly control_totals: readonly ControlTotal[];
}

/**
 * Steps 12 to 14: counts, totals and digest as recomputed against every claim. Claims that want the same are one finding that names
 * them all. `ruled` are the totals that the documents say how to compute; others cannot be wrong here.
 */
export function compareClaims(
  recomputed: Recomputed,
  declared: Declared,
  claims: readonly Claim[],
  ruled: ReadonlySet<string>,
  findings: FindingList,
): void {
  const differences = new Map<string, Difference>();
  const add = (difference: Omit<Difference, "sources">, source: string): void => {
    const { code, column, expected, actual } = difference;
    const id = [code, column, expected, actual].join("\0");
    const known = differences.get(id);
    if (known === undefined) differences.set(id, { ...difference, sources: [source] });
    else known.sources.push(source);
  };
  const manifest: Claim = {
    source: "the manifest",
    rowCount: declared.row_count,
    controlTotals: declared.control_totals,
    canonicalDigest: undefined,
  };
  const { canonicalDigest, controlTotals, rowCount } = recomputed;
  for (const claim of [manifest, ...claims]) {
    // The manifest's own count was compared object by object.
    if (claim !== manifest && claim.rowCount !== (rowCount ?? declared.row_count)) {
      const counts = { expected: String(claim.rowCount), actual: String(rowCount ?? declared.row_count) };
      add(
        { code: "ROW_COUNT_MISMATCH", what: "row count", column: null, ...counts, isComputed: rowCount !== undefined },
        claim.source,
      );
    }
    const totals = controlTotals ?? declared.control_totals;
    for (const { name, aspect, expected, actual } of totalDifferences(claim.controlTotals, totals)) {
      if (controlTotals !== undefined && !ruled.has(name)) continue;
      const what =
        aspect === "value" || aspect === "presence"
          ? `control total ${name}`
          : `${aspect} of the control total ${name}`;
      const values = { expected: expected ?? null, actual: actual ?? null };
      add(
        { code: "CONTROL_TOTAL_MISMATCH", what, column: name, ...values, isComputed: controlTotals !== undefined },
        claim.source,
      );
    }
    const wanted = claim.canonicalDigest?.toLowerCase();
    if (wanted === undefined || canonicalDigest === undefined || wanted === canonicalDigest) continue;
    const digests = { column: null, expected: wanted, actual: canonicalDigest };
    add({ code: "CANONICAL_DIGEST_MISMATCH", what: "canonical digest", ...digests, isComputed: true }, claim.source);
  }
  for (const { code, column, what, expected, actual, isComputed, sources } of differences.values()) {
    const by = isComputed ? "recomputed from the rows" : "declared by the manifest";
    const message = `the ${what} ${by} is not what ${sources.join(" and ")} ${sources.length > 1 ? "say" : "says"}`;
    findings.add({ code, message, column, expected, actual });
  }
}

interface Difference {
  readonly code: FindingCode;
  readonly what: string;
  readonly column: string | null;
  readonly expected: string | null;
  readonly actual: string | null;
  readonly isComputed: boolean;
  readonly sources: string[];
}
