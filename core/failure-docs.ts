import { type FailureNext, failureTable } from "./failure-table.ts";

const nextMeanings: Readonly<Record<FailureNext, string>> = {
  retry: "the same materialization is redelivered later, with backoff, until its tries are used up",
  poll: "only the read is repeated, until the visibility window ends",
  reattempt: "this materialization fails and attempt + 1 opens at once",
  stop: "this materialization fails; a person or `waybill redrive` goes on",
};

/** The text of docs/FAILURES.md, made from the failure table. */
export function failureDocs(): string {
  const rows = Object.entries(failureTable).map(
    ([code, { next, party, action, meaning }]) => `| \`${code}\` | ${next} | ${party} | \`${action}\` | ${meaning} |`,
  );
  return [
    "# Failure codes",
    "",
    "Made from `core/failure-table.ts`; change the table, then run `UPDATE_DOCS=1 npx vitest run test/docs/failures.test.ts`.",
    "",
    "A materialization that ends `failed` carries one of these as `failure_code`. Codes are wire-visible: they are added, never",
    "renamed. Party and action are the wire's own words for who has to act and how.",
    "",
    "What follows from a code:",
    "",
    ...Object.entries(nextMeanings).map(([next, meaning]) => `- **${next}**: ${meaning}.`),
    "",
    "| code | next | party | action | meaning |",
    "|---|---|---|---|---|",
    ...rows,
    "",
  ].join("\n");
}
