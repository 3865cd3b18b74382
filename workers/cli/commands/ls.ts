import { Option } from "commander";
import type { Scope } from "../../../core/ledger/ledger-records.ts";
import type { Page, PageRequest } from "../../../core/ledger/queries.ts";
import type { Sql } from "../../../core/store/sql.ts";
import { type AddCommand, type CommandContext, examples, wholeNumber } from "../command.ts";
import { table } from "../output.ts";
import { withWaybill } from "../with-waybill.ts";

interface ListOptions {
  readonly account?: string;
  readonly limit: number;
  readonly after?: string;
  readonly newest?: boolean;
}

/** `waybill ls revisions|obligations|materializations`: pages through the ledger. */
export const addLsCommand: AddCommand = (program, run) => {
  const ls = program
    .command("ls")
    .summary("list revisions, obligations or materializations, page by page")
    .description(
      "Lists records in the order in which they were committed. A page that is not the last ends with the cursor of the next.",
    )
    .addHelpText(
      "after",
      examples(
        "waybill ls revisions",
        "waybill ls obligations --account acct-1 --newest",
        "waybill ls materializations --limit 1000 --json",
      ),
    );

  const add = (
    name: string,
    summary: string,
    list: (context: CommandContext, options: ListOptions) => Promise<0>,
  ): void => {
    ls.command(name)
      .summary(summary)
      .description(`${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`)
      .option("--account <id>", "only this account's")
      .addOption(new Option("--limit <n>", "records per page, 1 to 1000").default(100).argParser(wholeNumber(1, 1000)))
      .option("--after <cursor>", "the page behind this cursor")
      .option("--newest", "newest first")
      .action((options: ListOptions) => run((context) => list(context, options)));
  };

  add("revisions", "immutable report content, published", (context, options) =>
    show(context, options, {
      headings: ["REVISION", "ACCOUNT", "DEFINITION", "PERIOD START", "PERIOD END", "ROWS", "FINALITY", "CURRENT"],
      load: async (...parameters) => (await operations()).revisionsPage(...parameters),
      row: ({ revision, current }) => [
        revision.reporting_revision_id,
        revision.account_id,
        revision.report_definition_id,
        revision.period.start,
        revision.period.end,
        String(revision.row_count),
        revision.finality,
        current ? "yes" : "no",
      ],
    }),
  );
  add("obligations", "reports that are owed, by feed and period", (context, options) =>
    show(context, options, {
      headings: ["OBLIGATION", "ACCOUNT", "FEED", "PERIOD START", "PERIOD END", "DUE", "HEALTH", "READY"],
      load: async (...parameters) => (await operations()).obligationsPage(...parameters),
      row: (obligation) => [
        obligation.reporting_obligation_id,
        obligation.account_id,
        `${obligation.delivery_config_id} v${obligation.delivery_config_version}`,
        obligation.period.start,
        obligation.period.end,
        obligation.expected_at,
        obligation.health,
        `${obligation.successful_materialization_count ?? 0}/${obligation.materialization_count ?? 0}`,
      ],
    }),
  );
  add("materializations", "deliveries: one attempt each", (context, options) =>
    show(context, options, {
      headings: ["MATERIALIZATION", "OBLIGATION", "REVISION", "ATTEMPT", "STATUS", "FAILURE", "LOCATION"],
      load: async (...parameters) => (await operations()).materializationsPage(...parameters),
      row: (attempt) => [
        attempt.reporting_materialization_id,
        attempt.reporting_obligation_id,
        attempt.reporting_revision_id,
        String(attempt.attempt),
        attempt.status,
        attempt.failure_code ?? "-",
        attempt.resource?.location ?? "-",
      ],
    }),
  );
};

function operations() {
  return import("../../operations/list-records.ts");
}

interface Listing<T> {
  readonly headings: readonly string[];
  load(db: Sql, scope: Scope, request: PageRequest): Promise<Page<T>>;
  row(item: T): readonly string[];
}

async function show<T extends object>(context: CommandContext, options: ListOptions, listing: Listing<T>): Promise<0> {
  const { output } = context;
  const scope: Scope = options.account === undefined ? { operator: true } : { accountId: options.account };
  const page = await withWaybill(context, ({ db }) =>
    listing.load(db, scope, {
      limit: options.limit,
      order: options.newest === true ? "newest" : "oldest",
      ...(options.after === undefined ? {} : { after: options.after }),
    }),
  );
  output.document({ items: page.items, after: page.after ?? null });
  if (page.items.length === 0) output.say("None.");
  else for (const line of table(listing.headings, page.items.map(listing.row))) output.say(line);
  if (page.after !== undefined && !output.json) output.note(`more: --after ${page.after}`);
  return 0;
}
