import { access } from "node:fs/promises";
import { type Problem, WaybillError } from "../../core/errors.ts";
import type { OpenWaybillOptions, Waybill } from "../open-waybill.ts";
import { compositionOf } from "../operations/composition.ts";
import { readConfigFile } from "../operations/config-file.ts";
import type { CommandContext } from "./command.ts";

/**
 * Opens ledger, queue and retained rows as the configuration says, for one command, and closes them in any case. Without `create` an
 * embedded ledger that is not there is a WaybillError `usage` that says how one comes to be: a mistyped folder must not look like an
 * empty ledger. `work`: see OpenWaybillOptions; a command that shares its ledger takes no work by default.
 */
export async function withWaybill<T>(
  context: CommandContext,
  work: (waybill: Waybill) => Promise<T>,
  options: { readonly create?: boolean } & Pick<OpenWaybillOptions, "work" | "leaseMs"> = {},
): Promise<T> {
  const { output, places, terminal } = context;
  const composition = await compositionOf(places, await readConfigFile(places), terminal.environment);
  const { directory, postgresUrl, redis } = composition;
  if (postgresUrl === undefined) {
    if (options.create !== true) await requireLedger(directory);
    if (await isMissing(directory)) output.progress({ stage: "creating the ledger" });
  }
  const { openWaybill } = await import("../open-waybill.ts");
  const waybill = await openWaybill({
    ...composition,
    work: options.work ?? (redis === undefined ? {} : false),
    ...(options.leaseMs === undefined ? {} : { leaseMs: options.leaseMs }),
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
