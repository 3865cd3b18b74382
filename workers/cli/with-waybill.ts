import { access } from "node:fs/promises";
import { type Problem, WaybillError } from "../../core/errors.ts";
import type { Waybill } from "../open-waybill.ts";
import { ledgerFolder, readConfigFile } from "../operations/config-file.ts";
import type { CommandContext } from "./command.ts";

/**
 * Opens the embedded ledger for one command and closes it in any case. Without `create` a ledger that is not there is a WaybillError
 * `usage` that says how one comes to be: a mistyped folder must not look like an empty ledger.
 */
export async function withWaybill<T>(
  context: CommandContext,
  work: (waybill: Waybill) => Promise<T>,
  options: { readonly create?: boolean } = {},
): Promise<T> {
  const directory = ledgerFolder(context.places, await readConfigFile(context.places));
  if (options.create !== true) await requireLedger(directory);
  const { openWaybill } = await import("../open-waybill.ts");
  const { output } = context;
  if (await isMissing(directory)) output.progress({ stage: "creating the ledger" });
  const waybill = await openWaybill({
    directory,
    environment: context.terminal.environment,
    onProgress: (done, total) => output.progress({ stage: "encoding", done, total, unit: "rows" }),
  });
  try {
    return await work(waybill);
  } finally {
    await waybill.close();
  }
}

async function requireLedger(directory: string): Promise<void> {
  if (!(await isMissing(directory))) return;
  const message = `there is no ledger at ${directory}; "waybill ship", "retain" or "migrate" make one, --ledger names another`;
  const problem: Problem = { code: "NO_LEDGER", field: "--ledger", message };
  throw new WaybillError("usage", [problem]);
}

async function isMissing(path: string): Promise<boolean> {
  try {
    await access(path);
    return false;
  } catch {
    return true;
  }
}
