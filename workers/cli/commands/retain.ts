import { type AddCommand, examples } from "../command.ts";
import { pairs } from "../output.ts";
import { addReportOptions, type ReportOptions, reportRequest } from "../report-options.ts";
import { withWaybill } from "../with-waybill.ts";

/** `waybill retain ROWS`: makes rows an immutable revision. */
export const addRetainCommand: AddCommand = (program, run) => {
  const command = program
    .command("retain")
    .summary("make rows an immutable revision, to be delivered any number of times")
    .description(
      "Checks every row, sorts, totals and digests them and keeps them in the ledger's folder. Nothing is kept unless all rows are right. The same rows again change nothing.",
    );
  addReportOptions(command)
    .option("--supersedes <id>", "the snapshot these rows restate: its id, or current for the period's current one")
    .addHelpText(
      "after",
      examples(
        "waybill retain rows.jsonl --definition definition.yaml --account acct-1 --period-start 2026-03-08 --period-end 2026-03-09",
        "waybill retain corrected.jsonl --definition definition.yaml --account acct-1 --supersedes current",
      ),
    )
    .action((rows: string, options: ReportOptions & { readonly supersedes?: string }) =>
      run(async (context) => {
        const { retainReport } = await import("../../operations/retain-report.ts");
        const { output } = context;
        const request = { ...(await reportRequest(rows, options, context)), supersedes: options.supersedes };
        const report = await withWaybill(context, (waybill) => retainReport(waybill, request), { create: true });
        const { revision, outcome, rowsAcquired, assumed } = report;
        output.document({ revision, outcome, rows_acquired: rowsAcquired });
        const words = { published: "Retained.", restated: "Retained as a restatement.", unchanged: "Retained before." };
        output.say(words[outcome]);
        const totals = revision.control_totals.map(({ name, value }) => `${name} ${value}`);
        const lines: [string, string][] = [
          ["revision", revision.reporting_revision_id],
          ["account", revision.account_id],
          ["period", `${revision.period.start} to ${revision.period.end} (${revision.period.source_timezone})`],
          ["finality", revision.finality],
          ["rows", `${revision.row_count} of ${revision.media_buy_ids.length} media buys`],
          ["totals", totals.join(", ")],
          ["digest", revision.canonical_content_digest?.value ?? "-"],
          ...(revision.supersedes_reporting_revision_id === undefined
            ? []
            : [["restates", `${revision.supersedes_reporting_revision_id}, which stays readable`] as [string, string]]),
        ];
        for (const line of pairs(lines)) output.say(line);
        for (const line of assumed) output.say(`  taken from the rows: ${line}`);
        output.say(`Next: waybill deliver ${revision.reporting_revision_id}`);
        return 0;
      }),
    );
};
