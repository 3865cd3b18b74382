import { type AddCommand, examples } from "../command.ts";
import { withWaybill } from "../with-waybill.ts";

/** `waybill migrate`: creates the ledger or brings it to this version. */
export const addMigrateCommand: AddCommand = (program, run) => {
  program
    .command("migrate")
    .summary("create the ledger, or bring it to this version")
    .description(
      "Runs every numbered migration that the ledger does not have yet. Other commands do it too; this one does nothing else.",
    )
    .addHelpText("after", examples("waybill migrate", "waybill migrate --ledger /srv/waybill"))
    .action(() =>
      run(async (context) => {
        const { homeFolder, readConfigFile } = await import("../../operations/config-file.ts");
        const { appliedMigrations } = await import("../../operations/applied-migrations.ts");
        const directory = homeFolder(context.places, await readConfigFile(context.places));
        const applied = await withWaybill(context, ({ db }) => appliedMigrations(db), { create: true });
        context.output.document({ ledger: directory, migrations: applied });
        context.output.say(`The ledger at ${directory} is at ${applied.at(-1) ?? "its start"}.`);
        return 0;
      }),
    );
};
