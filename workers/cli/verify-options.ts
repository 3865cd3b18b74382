import { type Command, Option } from "commander";
import type { Finding } from "../../manifests/finding.ts";
import type { VerificationLevel } from "../../manifests/verifier.ts";
import type { VerifyDocument, VerifyRequest } from "../operations/verify.ts";
import type { CommandContext } from "./command.ts";
import type { ExitCode } from "./exit-code.ts";
import type { Output } from "./output.ts";

/** Flags that `verify` and `receive` share. */
export interface VerifyOptions {
  readonly expect?: string;
  readonly require?: "self_consistent" | "matches_ledger";
}

export function addVerifyOptions(command: Command): Command {
  return command
    .argument("<location>", "a delivery's folder or its manifest.json, as a path or file:// URL")
    .option("--expect <file>", "what the seller's ledger says: a materialization, or the output of ship --json")
    .addOption(
      new Option("--require <level>", "end with 1 unless this level was reached").choices([
        "self_consistent",
        "matches_ledger",
      ]),
    );
}

export function verifyRequest(location: string, options: VerifyOptions, context: CommandContext): VerifyRequest {
  const { places, output, signal } = context;
  return {
    directory: places.directory,
    location,
    expect: options.expect,
    require: options.require?.toUpperCase() as VerificationLevel | undefined,
    nowUs: BigInt(Date.now()) * 1000n,
    onProgress: output.progress,
    signal,
  };
}

/** Findings printed for people before the rest is only counted. JSON mode has up to a thousand. */
const maxPrinted = 20;

/** Tells what was checked, what was wrong and what could not be checked. */
export function printReport(document: VerifyDocument, output: Output): void {
  const { ok, level, findings, row_count, canonical_digest, control_totals } = document;
  if (findings.length === 0) {
    const reached = level === "MATCHES_LEDGER" ? "and equal to the seller's ledger" : "by itself";
    output.say(ok ? `OK: right, ${reached} (${level}).` : `Right, but only ${reached} (${level}); more was required.`);
    output.say(`  location  ${document.location}`);
    output.say(`  rows      ${row_count}`);
    output.say(
      `  totals    ${(control_totals ?? []).map(({ name, value }) => `${name} ${value}`).join(", ") || "none"}`,
    );
    if (canonical_digest !== null) output.say(`  digest    ${canonical_digest}`);
  } else {
    output.say(`NOT OK: ${document.location}`);
    for (const finding of findings.slice(0, maxPrinted)) for (const line of findingLines(finding)) output.say(line);
    const omitted = findings.length - Math.min(findings.length, maxPrinted) + document.findings_omitted;
    if (omitted > 0) output.say(`  and ${omitted} more; --json lists them`);
  }
  for (const sentence of document.not_checked) output.say(`  not checked: ${sentence}`);
}

function findingLines({ code, message, object_ref, row, key, column, expected, actual }: Finding): readonly string[] {
  const place = [
    object_ref,
    row === null ? null : `row ${row}`,
    key === null ? null : `key ${key}`,
    column === null ? null : `column ${column}`,
  ].filter((part) => part !== null);
  const at = place.length === 0 ? "" : `${place.join(", ")}: `;
  const values =
    expected === null && actual === null ? [] : [`      expected ${expected ?? "-"}, found ${actual ?? "-"}`];
  return [`  ${at}${code}: ${message}`, ...values];
}

/** 0 right, 1 wrong, 3 when nothing is wrong for good and a later look may see more. */
export function exitCodeOfReport({ ok, retryable, findings }: VerifyDocument): ExitCode {
  if (ok) return 0;
  return retryable && findings.length > 0 ? 3 : 1;
}
