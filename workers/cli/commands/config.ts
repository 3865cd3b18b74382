import type { Command } from "commander";
import { type AddCommand, type CommandContext, examples } from "../command.ts";
import { table } from "../output.ts";
import { withWaybill } from "../with-waybill.ts";

/** `waybill config check|apply|show`. */
export const addConfigCommand: AddCommand = (program, run) => {
  const config = program
    .command("config")
    .summary("check, apply or show the configuration")
    .description("Works with waybill.config.yaml, or the file named by --config.")
    .addHelpText("after", examples("waybill config check", "waybill config apply", "waybill config show --json"));
  add(config, "check", "list everything that is wrong with the configuration; changes nothing", checkOnly);
  add(config, "apply", "install definitions, destinations and feeds in the ledger", apply);
  add(config, "show", "show every feed with its destination's reference", show);

  function add(parent: Command, name: string, summary: string, work: (context: CommandContext) => Promise<0>): void {
    parent
      .command(name)
      .summary(summary)
      .description(`${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`)
      .action(() => run(work));
  }
};

async function checked({ places }: CommandContext) {
  const { checkConfig } = await import("../../operations/check-config.ts");
  const { requireConfigFile } = await import("../../operations/config-file.ts");
  return await checkConfig(await requireConfigFile(places));
}

async function checkOnly(context: CommandContext): Promise<0> {
  const { output } = context;
  const { path, definitions, feeds, warnings } = await checked(context);
  output.document({ ok: true, path, definitions: definitions.length, feeds: feeds.length, warnings });
  output.say(`${path} is right: ${definitions.length} definitions, ${feeds.length} feeds.`);
  for (const warning of warnings) output.note(`note: ${warning}`);
  return 0;
}

async function apply(context: CommandContext): Promise<0> {
  const { output } = context;
  const { applyConfig } = await import("../../operations/apply-config.ts");
  const config = await checked(context);
  const applied = await withWaybill(context, ({ db }) => applyConfig(db, config), { create: true });
  output.document({ applied });
  for (const { kind, id, version, outcome } of applied) {
    output.say(`${kind} ${id}${version === undefined ? "" : ` v${version}`}: ${outcome}`);
  }
  for (const warning of config.warnings) output.note(`note: ${warning}`);
  return 0;
}

async function show(context: CommandContext): Promise<0> {
  const { output } = context;
  const { feeds } = await checked(context);
  output.document({ feeds });
  const rows = feeds.map(({ configuration, destination }) => [
    configuration.account_id,
    `${configuration.delivery_config_id} v${configuration.delivery_config_version}`,
    configuration.report_definition_id,
    configuration.schedule.period_duration,
    destination.transport,
    destination.destination_ref,
    destination.verification_path,
  ]);
  const headings = ["ACCOUNT", "FEED", "DEFINITION", "PERIOD", "TRANSPORT", "DESTINATION", "READ BACK AS"];
  for (const line of table(headings, rows)) output.say(line);
  return 0;
}
