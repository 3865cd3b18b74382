import { canonicalJson } from "../canonical-json.ts";
import type { Problem } from "../errors.ts";
import { periodKey } from "./period.ts";
import type { Revision } from "./records.ts";

/** The fact that a chain of revisions is about. Neither configuration nor destination is part of it. */
export type Slice = Pick<
  Revision,
  "report_definition_id" | "account_id" | "media_buy_ids" | "period" | "reporting_profile"
>;

/** Text that is equal for revisions of one slice. Instants count by value: `.000Z` and `Z` are the same boundary. */
export function sliceIdentity(slice: Slice): string {
  const { report_definition_id, account_id, media_buy_ids, period, reporting_profile } = slice;
  return canonicalJson([report_definition_id, account_id, media_buy_ids, periodKey(period), reporting_profile]);
}

type Link = Slice & Pick<Revision, "reporting_revision_id" | "finality" | "supersedes_reporting_revision_id">;

/**
 * The one revision of a slice that no other supersedes, or undefined if there is none. RangeError if the chain is broken
 * (a fork or a cycle), which the ledger never lets happen.
 */
export function currentRevision<T extends Link>(revisions: readonly T[]): T | undefined {
  const superseded = new Set(revisions.map((revision) => revision.supersedes_reporting_revision_id));
  const heads = revisions.filter((revision) => !superseded.has(revision.reporting_revision_id));
  if (heads.length > 1 || (heads.length === 0 && revisions.length > 0)) {
    throw new RangeError("the revisions of a slice do not form one chain");
  }
  return heads[0];
}

/**
 * Why `candidate` may not join the published revisions of its slice, or undefined. A chain has one head; each next revision
 * names exactly that head; an official revision ends it (later corrections are adjustments).
 */
export function chainProblem(candidate: Link, published: readonly Link[]): Problem | undefined {
  const named = candidate.supersedes_reporting_revision_id;
  const refuse = (code: string, message: string): Problem => ({
    code,
    message,
    field: "supersedes_reporting_revision_id",
  });
  if (published.some((revision) => revision.reporting_revision_id === candidate.reporting_revision_id)) {
    return refuse("REVISION_EXISTS", `revision ${candidate.reporting_revision_id} is already published`);
  }
  if (published.some((revision) => sliceIdentity(revision) !== sliceIdentity(candidate))) {
    return refuse(
      "SLICE_DIFFERS",
      "a revision supersedes only one of the same report definition, account, media buys, period and profile",
    );
  }
  const head = currentRevision(published);
  if (head === undefined) {
    return named === undefined
      ? undefined
      : refuse("SUPERSEDES_UNKNOWN", `there is no revision ${named} in this slice`);
  }
  if (head.finality === "official") {
    return refuse(
      "OFFICIAL_IS_FINAL",
      `revision ${head.reporting_revision_id} is official and cannot be superseded; record an adjustment instead`,
    );
  }
  if (named === head.reporting_revision_id) return undefined;
  if (named === undefined) {
    return refuse(
      "SUPERSEDES_MISSING",
      `this period already has revision ${head.reporting_revision_id}; name it as the one to supersede`,
    );
  }
  return refuse(
    "NOT_CURRENT",
    `revision ${named} is not the current one of its slice; that is ${head.reporting_revision_id}`,
  );
}
