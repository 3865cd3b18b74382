import type { Problem } from "../errors.ts";
import { coverageProblems } from "../model/coverage.ts";
import { idSet, isId } from "../model/id.ts";
import { parseInstant } from "../model/instant.ts";
import { periodProblems } from "../model/period.ts";
import type { Coverage, ObligationFacts, Revision } from "../model/records.ts";
import { revisionProblems } from "../model/revision.ts";
import { isStorable } from "./configuration-rules.ts";
import type { ConfigurationGeneration, RetainedDescriptor } from "./ledger-records.ts";

type Demand = (holds: boolean, field: string, message: string) => void;

function collect(code: string): { readonly problems: Problem[]; readonly demand: Demand } {
  const problems: Problem[] = [];
  const demand: Demand = (holds, field, message) => {
    if (!holds) problems.push({ code, message: `${field} ${message}`, field });
  };
  return { problems, demand };
}

/** What is wrong with an obligation by itself and against the configuration generation it is owed under. */
export function obligationProblems(facts: ObligationFacts, configuration: ConfigurationGeneration): readonly Problem[] {
  const { problems, demand } = collect("INVALID_OBLIGATION");
  demand(isId(facts.reporting_obligation_id), "reporting_obligation_id", "must be an id");
  const inherited = [
    "report_definition_id",
    "reporting_profile",
    "feed_purpose",
    "required_finality",
    "reconciliation_mode",
    "destination_ref",
  ] as const;
  for (const field of inherited) {
    demand(facts[field] === configuration[field], field, "must be that of the delivery configuration");
  }
  const { media_buy_ids } = configuration;
  demand(
    media_buy_ids === "all" || sameTexts(idSet(media_buy_ids), idSet(facts.media_buy_ids)),
    "media_buy_ids",
    "must be those of the delivery configuration",
  );
  demand(facts.scope_resolved_at === facts.period.end, "scope_resolved_at", "must equal period.end");
  demand(
    facts.coverage.evaluated_at === facts.scope_resolved_at,
    "coverage.evaluated_at",
    "must equal scope_resolved_at",
  );
  demand(parseInstant(facts.expected_at) !== undefined, "expected_at", "must be an instant");
  demandScope(facts.media_buy_ids, facts.coverage, demand);
  return [...problems, ...periodProblems(facts.period), ...coverageProblems(facts.coverage)];
}

/** What is wrong with a revision and its retained parts, before the rules of its chain. */
export function publicationProblems(revision: Revision, retained: RetainedDescriptor): readonly Problem[] {
  const { problems, demand } = collect("INVALID_REVISION");
  demand(isStorable(revision.account_id), "account_id", "must be 1 to 255 characters without U+0000");
  const hash = /^[0-9A-Fa-f]{64}$/;
  demand(hash.test(revision.revision_content_sha256), "revision_content_sha256", "must be a SHA-256 in hex");
  const retainedRows = retained.parts.reduce((sum, part) => sum + part.rowCount, 0);
  demand(retainedRows === revision.row_count, "row_count", "must equal the rows of the retained parts");
  return [...problems, ...revisionProblems(revision)];
}

function demandScope(mediaBuyIds: readonly string[], coverage: Coverage, demand: Demand): void {
  demand(sameTexts(idSet(mediaBuyIds), mediaBuyIds), "media_buy_ids", "must be a set in ascending code point order");
  demand(
    sameTexts(idSet(coverage.media_buy_ids), idSet(mediaBuyIds)),
    "coverage.media_buy_ids",
    "must equal media_buy_ids",
  );
}

function sameTexts(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((text, index) => text === right[index]);
}
