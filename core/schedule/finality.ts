import type { Problem } from "../errors.ts";
import { instantToUs } from "../model/instant.ts";
import type { Revision } from "../model/records.ts";
import { addDuration } from "./calendar.ts";

/** When a report definition allows an official close. Source: reporting-report-definition. */
export type FinalityPolicy =
  | { readonly finality_policy_id: string; readonly basis: "source_final"; readonly source_signal: string }
  | {
      readonly finality_policy_id: string;
      readonly basis: "contractual_cutoff";
      readonly duration_after_period_end: string;
    }
  | {
      readonly finality_policy_id: string;
      readonly basis: "stabilized";
      readonly minimum_age: string;
      readonly unchanged_for: string;
    };

/**
 * Why an official close does not satisfy its definition's policy, or undefined. Snapshots have none. What only the source
 * knows (its final signal, an unchanged history) cannot be checked here and is the caller's word.
 */
export function finalityProblem(
  revision: Pick<Revision, "finality" | "finality_basis" | "finality_policy_id" | "finalized_at" | "period">,
  policies: readonly FinalityPolicy[],
): Problem | undefined {
  if (revision.finality === "snapshot") return undefined;
  const policy = policies.find((candidate) => candidate.finality_policy_id === revision.finality_policy_id);
  if (policy === undefined || policy.basis !== revision.finality_basis || revision.finalized_at === undefined) {
    return {
      code: "FINALITY_POLICY_UNKNOWN",
      message: "an official revision must name a finality policy of its report definition, with that policy's basis",
      field: "finality_policy_id",
    };
  }
  const earliest = earliestClose(policy, revision.period.end);
  if (instantToUs(revision.finalized_at) >= instantToUs(earliest)) return undefined;
  return {
    code: "FINALIZED_TOO_EARLY",
    message: `policy ${policy.finality_policy_id} allows the official close of this period from ${earliest}`,
    field: "finalized_at",
    limit: earliest,
  };
}

/** The first instant at which a policy can be satisfied for a period that ends at `periodEnd`. */
export function earliestClose(policy: FinalityPolicy, periodEnd: string): string {
  switch (policy.basis) {
    case "source_final":
      return periodEnd;
    case "contractual_cutoff":
      return addDuration(periodEnd, policy.duration_after_period_end);
    case "stabilized":
      return addDuration(periodEnd, policy.minimum_age);
  }
}
