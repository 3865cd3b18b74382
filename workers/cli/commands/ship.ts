import { Option } from "commander";
import type { FileCompression, FileFormat } from "../../../core/model/records.ts";
import type { Shipped, ShipRequest } from "../../operations/ship.ts";
import { type AddCommand, addWaitOption, examples, wholeNumber } from "../command.ts";
import { type Output, pairs } from "../output.ts";
import { printDelivery } from "../print-delivery.ts";
import { addReportOptions, type ReportOptions, reportRequest } from "../report-options.ts";
import { withWaybill } from "../with-waybill.ts";

interface ShipOptions extends ReportOptions {
  readonly to: string;
  readonly format: FileFormat;
  readonly compression?: FileCompression;
  readonly level?: number;
  readonly rowsPerPart?: number;
  readonly retentionDays: number;
  readonly wait: number;
}

/** `waybill ship ROWS`: retain, deliver and verify in one go. */
export const addShipCommand: AddCommand = (program, run) => {
  const command = program
    .command("ship")
    .summary("retain rows, deliver them to a folder and read them back, in one go")
    .description(
      "Makes rows an immutable revision in ./.waybill, writes it to a folder with a manifest, reads everything back and compares it. The same rows again re-use the revision; other rows of the same period restate it.",
    );
  addReportOptions(command)
    .requiredOption("--to <folder>", "where to: a path or file:// and an absolute path; created if need be")
    .addOption(
      new Option("--format <format>", "of the data objects").choices(["jsonl", "csv", "parquet"]).default("jsonl"),
    )
    .addOption(
      new Option(
        "--compression <name>",
        "of the data objects; snappy for parquet only (default: gzip, zstd for parquet)",
      ).choices(["none", "gzip", "zstd", "snappy"]),
    )
    .addOption(
      new Option("--level <n>", "gzip 1 to 9 (default 5), zstd 1 to 19 (default 3)").argParser(wholeNumber(1, 19)),
    )
    .addOption(
      new Option("--rows-per-part <n>", "rows per data object (default: 1,000,000)").argParser(
        wholeNumber(1, 1_000_000_000),
      ),
    )
    .addOption(
      new Option("--retention-days <n>", "how long the delivery is promised to stay readable")
        .default(90)
        .argParser(wholeNumber(1, 36_500)),
    )
    .addHelpText(
      "after",
      examples(
        "waybill ship rows.jsonl --definition definition.yaml --to ./out",
        "waybill ship rows.csv.gz --definition definition.yaml --to ./out --format parquet --account acct-1",
        "waybill ship empty.jsonl --definition definition.yaml --to ./out --period-start 2026-03-08 --period-end 2026-03-09 --media-buys mb-1,mb-2",
      ),
    );
  addWaitOption(command).action((rows: string, options: ShipOptions) =>
    run(async (context) => {
      const { ship } = await import("../../operations/ship.ts");
      const { deliveredDocument } = await import("../../operations/delivered-document.ts");
      const { places, output } = context;
      const request: ShipRequest = {
        ...(await reportRequest(rows, options, context)),
        target: {
          to: options.to,
          directory: places.directory,
          format: options.format,
          compression: options.compression ?? (options.format === "parquet" ? "zstd" : "gzip"),
          level: options.level,
          rowsPerPart: options.rowsPerPart,
          retentionDays: options.retentionDays,
        },
        patienceMs: options.wait * 1000,
      };
      return await withWaybill(
        context,
        async (waybill) => {
          const shipped = await ship(waybill, request);
          printChoices(shipped, request, output);
          const document = await deliveredDocument(waybill.db, shipped.report.revision, shipped);
          return printDelivery(document, output, shipped.repeated);
        },
        { create: true },
      );
    }),
  );
};

/** What nobody said and was chosen, so that nothing is silently assumed. */
function printChoices({ report, feed }: Shipped, request: ShipRequest, output: Output): void {
  const { configuration, destination } = feed;
  const { schedule } = configuration;
  const outcomes = {
    published: "new",
    restated: `restates ${report.revision.supersedes_reporting_revision_id}, which stays readable`,
    unchanged: "re-used: the same rows were retained before",
  };
  output.say("Shipped as (flags change it):");
  const assumed = report.assumed.map((line): [string, string] => {
    const colon = line.indexOf(": ");
    return [line.slice(0, colon), line.slice(colon + 2)];
  });
  const lines: [string, string][] = [
    ["account", configuration.account_id],
    ...assumed,
    ["timezone", request.timezone],
    ["finality", report.revision.finality],
    [
      "feed",
      `${configuration.delivery_config_id}, ${configuration.feed_purpose}, every ${schedule.period_duration}, due ${schedule.delivery_sla} after the period`,
    ],
    ["files", `${request.target.format}, ${request.target.compression}`],
    [
      "hosting",
      `${destination.hosting}, read back as ${destination.verification_path}, kept ${destination.retention_days} days`,
    ],
    ["revision", outcomes[report.outcome]],
  ];
  for (const line of pairs(lines)) output.say(line);
  output.say();
}
