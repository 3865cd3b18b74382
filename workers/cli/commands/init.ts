import { relative, resolve } from "node:path";
import { type AddCommand, examples } from "../command.ts";

/** `waybill init`: writes a configuration and a definition to start from. */
export const addInitCommand: AddCommand = (program, run) => {
  program
    .command("init")
    .summary("write a commented configuration and definition to start from")
    .description(
      "Writes waybill.config.yaml and definition.yaml with a comment on every setting, and an empty reports folder. Existing files are not overwritten.",
    )
    .argument("[folder]", "where to; created if need be", ".")
    .addHelpText("after", examples("waybill init", "waybill init ./reporting"))
    .action((folder: string) =>
      run(async ({ output, places }) => {
        const { init } = await import("../../operations/init.ts");
        const files = await init(resolve(places.directory, folder));
        output.document({ files });
        for (const file of files) output.say(`Wrote ${relative(places.directory, file)}`);
        output.say("Next: edit both, then run: waybill config check");
        return 0;
      }),
    );
};
