import { fileURLToPath } from "node:url";
import { failureTable } from "../../core/failure-table.ts";
import type { Materialization } from "../../core/model/records.ts";
import { failureOfAttempt } from "../operations/deliver-revision.ts";
import type { DeliveredDocument } from "../operations/delivered-document.ts";
import { type ExitCode, exitCodeOfFailure } from "./exit-code.ts";
import { bytesText, type Output, pairs } from "./output.ts";

/** Prints one delivery as far as it came and says how the command ends. */
export function printDelivery(delivered: DeliveredDocument, output: Output, repeated = false): ExitCode {
  output.document(delivered);
  const { materialization } = delivered;
  if (materialization.status === "failed") return printFailure(materialization, output);
  if (materialization.status === "pending") return printPending(materialization, output);
  output.say(
    repeated ? "Delivered before; read back again just now, and it still matches." : "Delivered and read back.",
  );
  for (const line of pairs(proofOf(delivered))) output.say(line);
  if (delivered.location?.startsWith("file:///") === true) {
    output.say(`Check it as the buyer does: waybill verify ${shellWord(fileURLToPath(delivered.location))}`);
  }
  return 0;
}

/** Prints a delivery that a worker will run. */
export function printEnqueued(delivered: DeliveredDocument, output: Output): ExitCode {
  output.document(delivered);
  const id = delivered.materialization.reporting_materialization_id;
  output.say(`Open as ${id}; a worker delivers it. Its story: waybill explain ${id}`);
  return 0;
}

/** A path as one word of a shell command. */
function shellWord(path: string): string {
  return /^[A-Za-z0-9_./@%+:,-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}

function proofOf({ revision, materialization, manifest, location }: DeliveredDocument): readonly [string, string][] {
  const { verification } = materialization;
  const digest = verification?.canonical_content_digest?.value;
  const totals = (verification?.control_totals ?? []).map(
    ({ name, value, unit }) => `${name} ${value}${unit === undefined || unit === name ? "" : ` ${unit}`}`,
  );
  const objects = manifest?.files.length ?? 0;
  return [
    ["revision", revision.reporting_revision_id],
    ["materialization", `${materialization.reporting_materialization_id}, ${materialization.status}`],
    ["location", location ?? "-"],
    [
      "objects",
      manifest === null ? "-" : `${objects}, ${bytesText(manifest.total_size_bytes)}, every SHA-256 compared`,
    ],
    ["rows", `${verification?.row_count ?? 0}, counted from what was read back`],
    ["totals", `${totals.join(", ") || "none"}, summed exactly`],
    ["digest", digest === undefined ? "not asked for" : `${digest}, equal to the revision's`],
    ["read back as", `${verification?.verification_path.replaceAll("_", " ")}, at ${verification?.verified_at}`],
    ["readable until", materialization.resource?.expires_at ?? "-"],
  ];
}

function printFailure(materialization: Materialization, output: Output): ExitCode {
  const code = failureOfAttempt(materialization);
  output.note(`waybill: not delivered: ${code}: ${failureTable[code].meaning}`);
  output.note(`waybill: the whole story: waybill explain ${materialization.reporting_materialization_id}`);
  output.note(`waybill: then try again: waybill redrive ${materialization.reporting_obligation_id}`);
  return exitCodeOfFailure(code);
}

function printPending(materialization: Materialization, output: Output): ExitCode {
  output.note("waybill: not delivered yet; the attempt stays open and nothing is lost");
  output.note(`waybill: what it waits for: waybill explain ${materialization.reporting_materialization_id}`);
  output.note(`waybill: go on now: waybill redrive ${materialization.reporting_obligation_id}`);
  return 3;
}
