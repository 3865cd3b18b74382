import type { Problem } from "../errors.ts";
import { coverageProblems } from "./coverage.ts";
import { idSet, isId } from "./id.ts";
import { parseInstant } from "./instant.ts";
import { periodProblems } from "./period.ts";
import type { Revision } from "./records.ts";
import { controlTotalProblems } from "./totals.ts";

/** Where a revision breaks the rules that it can break by itself: ids, sorted sets, coverage, finality members, instants, totals. */
export function revisionProblems(revision: Revision): readonly Problem[] {
  const problems: Problem[] = [
    ...periodProblems(revision.period),
    ...coverageProblems(revision.coverage),
    ...controlTotalProblems(revision.control_totals),
  ];
  const demand = (holds: boolean, field: string, message: string): void => {
    if (!holds) problems.push({ code: "INVALID_REVISION", message: `${field} ${message}`, field });
  };
  for (const field of ["reporting_revision_id", "report_definition_id"] as const) {
    demand(isId(revision[field]), field, "is not an id");
  }
  demand(isIdSet(revision.media_buy_ids), "media_buy_ids", "must be distinct and sorted by code point");
  demand(
    sameList(idSet(revision.coverage.media_buy_ids), idSet(revision.media_buy_ids)),
    "coverage.media_buy_ids",
    "must equal media_buy_ids",
  );
  demand(Number.isSafeInteger(revision.row_count) && revision.row_count >= 0, "row_count", "must be a count");
  demand(
    (revision.data_through === null) === (revision.data_through_precision === "unknown"),
    "data_through",
    "must be null exactly when its precision is unknown",
  );
  for (const field of ["observed_at", "created_at", "data_through", "finalized_at"] as const) {
    const instant = revision[field];
    demand(instant == null || parseInstant(instant) !== undefined, field, "must be an RFC 3339 date-time");
  }
  demandFinality(revision, demand);
  return problems;
}

function demandFinality(revision: Revision, demand: (holds: boolean, field: string, message: string) => void): void {
  const official = revision.finality === "official";
  for (const field of ["finality_basis", "finality_policy_id", "finalized_at"] as const) {
    const rule = official ? "is required for an official revision" : "belongs to official revisions only";
    demand((revision[field] !== undefined) === official, field, rule);
  }
  const finalized = revision.finalized_at === undefined ? undefined : parseInstant(revision.finalized_at);
  const created = parseInstant(revision.created_at);
  if (finalized !== undefined && created !== undefined) {
    demand(finalized <= created, "finalized_at", "must not be after created_at");
  }
}

function isIdSet(ids: readonly string[]): boolean {
  return sameList(idSet(ids), ids);
}

function sameList(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((entry, index) => entry === right[index]);
}
