import { resolve } from "node:path";
import { type Command, Option } from "commander";
import { WaybillError } from "../../core/errors.ts";
import type { ControlTotal, Finality, Period } from "../../core/model/records.ts";
import type { ControlTotalRule } from "../../core/rows/profile.ts";
import { readDefinitionFile } from "../operations/config-file.ts";
import { periodOfFlags } from "../operations/report-period.ts";
import type { RetainReportRequest } from "../operations/retain-report.ts";
import { type CommandContext, wholeNumber } from "./command.ts";

/** Flags of `retain` and `ship` that say what the rows are. */
export interface ReportOptions {
  readonly definition: string;
  readonly account: string;
  readonly mediaBuys?: string;
  readonly periodStart?: string;
  readonly periodEnd?: string;
  readonly timezone: string;
  readonly finality: Finality;
  readonly finalityPolicy?: string;
  readonly finalizedAt?: string;
  readonly observedAt?: string;
  readonly dataThrough?: string;
  readonly expectRows?: number;
  readonly expectTotals?: string;
}

export function addReportOptions(command: Command): Command {
  return command
    .argument("<rows>", "a .jsonl, .csv or .parquet file, also with .gz or .zst")
    .requiredOption("--definition <file>", "the definition of the report, YAML or JSON (waybill define drafts one)")
    .option("--account <id>", "whose report it is", "default")
    .option(
      "--media-buys <ids>",
      "all buys the report is about, separated by commas, also those without rows; none for no buy (default: the buys that have rows)",
    )
    .option("--period-start <day|instant>", "start of the period (default: the first day that has rows)")
    .option("--period-end <day|instant>", "its end, exclusive (default: the end of the last day that has rows)")
    .option("--timezone <zone>", "IANA zone that days follow", "UTC")
    .addOption(
      new Option("--finality <finality>", "official is the last word: it can never be restated")
        .choices(["snapshot", "official"])
        .default("snapshot"),
    )
    .option("--finality-policy <id>", "official: which policy of the definition closes it (default: its only one)")
    .option("--finalized-at <instant>", "official: when it was closed (default: now)")
    .option("--observed-at <instant>", "when the source was read (default: now)")
    .option("--data-through <instant>", "events up to here are complete (default: not said)")
    .addOption(
      new Option("--expect-rows <n>", "what the pipeline counted; anything else is refused").argParser(
        wholeNumber(0, Number.MAX_SAFE_INTEGER),
      ),
    )
    .option(
      "--expect-totals <name=value,...>",
      "what the pipeline summed, every control total; anything else is refused",
    );
}

/** The flags as a request. WaybillError `usage` with every problem of a flag; the definition's own problems come with its path. */
export async function reportRequest(
  rows: string,
  options: ReportOptions,
  { places, output, signal }: CommandContext,
): Promise<Omit<RetainReportRequest, "supersedes">> {
  const documents = await readDefinitionFile(resolve(places.directory, options.definition));
  return {
    rows: { path: resolve(places.directory, rows) },
    documents,
    accountId: options.account,
    mediaBuyIds: mediaBuyIds(options.mediaBuys),
    period: periodOf(options),
    timezone: options.timezone,
    finality: options.finality,
    finalityPolicyId: options.finalityPolicy,
    finalizedAt: options.finalizedAt,
    observedAt: options.observedAt,
    dataThrough: options.dataThrough,
    declaredRowCount: options.expectRows,
    declaredTotals: declaredTotals(options.expectTotals, documents.profile.controlTotals),
    onProgress: output.progress,
    signal,
  };
}

function declaredTotals(
  text: string | undefined,
  rules: readonly ControlTotalRule[],
): readonly ControlTotal[] | undefined {
  if (text === undefined) return undefined;
  const declared = new Map(
    text.split(",").map((pair): [string, string] => {
      const equals = pair.indexOf("=");
      return equals < 0 ? [pair.trim(), ""] : [pair.slice(0, equals).trim(), pair.slice(equals + 1).trim()];
    }),
  );
  const names = rules.map((rule) => rule.name);
  const isComplete = declared.size === names.length && names.every((name) => (declared.get(name) ?? "") !== "");
  if (!isComplete) {
    const message = `--expect-totals needs a value for each of ${names.join(", ")} and for nothing else`;
    throw new WaybillError("usage", [{ code: "TOTALS_INCOMPLETE", field: "--expect-totals", message }]);
  }
  return rules.map(({ name, value_type, unit }) => ({
    name,
    value: declared.get(name) ?? "",
    value_type,
    ...(unit === undefined ? {} : { unit }),
  }));
}

function mediaBuyIds(text: string | undefined): readonly string[] | undefined {
  if (text === undefined) return undefined;
  if (text === "none") return [];
  return text.split(",").map((id) => id.trim());
}

function periodOf({ periodStart, periodEnd, timezone }: ReportOptions): Period | undefined {
  if (periodStart === undefined && periodEnd === undefined) {
    // Only to have the zone judged before rows are read.
    periodOfFlags("2026-01-01", "2026-01-02", timezone);
    return undefined;
  }
  if (periodStart !== undefined && periodEnd !== undefined) return periodOfFlags(periodStart, periodEnd, timezone);
  const message = "--period-start and --period-end go together";
  throw new WaybillError("usage", [{ code: "PERIOD_REQUIRED", field: "--period-start", message }]);
}
