import { type AddCommand, addWaitOption, type CommandContext, examples } from "../command.ts";
import { printDelivery, printEnqueued } from "../print-delivery.ts";
import { withWaybill } from "../with-waybill.ts";

interface DeliverOptions {
  readonly destination?: string;
  readonly wait: number;
  readonly enqueue?: boolean;
}

/** `waybill deliver REVISION`: exposes one retained revision once more. */
export const addDeliverCommand: AddCommand = (program, run) => {
  const command = program
    .command("deliver")
    .summary("deliver one retained revision, exactly as it is, and read it back")
    .description(
      "Makes a new delivery of a retained revision, superseded or not: the same content and digest, no row taken from the source again. The feed comes from waybill.config.yaml or from an earlier delivery.",
    )
    .argument("<revision>", "its id; waybill ls revisions lists them")
    .option("--destination <name>", "destination_id, destination_ref or feed, when several want the revision")
    .option("--enqueue", "only open the delivery and let a worker run it")
    .addHelpText(
      "after",
      examples(
        "waybill deliver rev_mzxw6ytboi4dsmrtgq2tmnzyga",
        "waybill deliver rev_mzxw6ytboi4dsmrtgq2tmnzyga --destination buyer-folder --json",
      ),
    );
  addWaitOption(command).action((revisionId: string, options: DeliverOptions) =>
    run(async (context) => {
      const { deliver } = await import("../../operations/deliver.ts");
      const { deliveredDocument } = await import("../../operations/delivered-document.ts");
      const { output, signal } = context;
      const config = await checkedConfig(context);
      return await withWaybill(context, async (waybill) => {
        const delivered = await deliver(waybill, {
          revisionId,
          destination: options.destination,
          config,
          patienceMs: options.enqueue === true ? "enqueue" : options.wait * 1000,
          onProgress: output.progress,
          signal,
        });
        const document = await deliveredDocument(waybill.db, delivered.revision, delivered);
        return options.enqueue === true ? printEnqueued(document, output) : printDelivery(document, output);
      });
    }),
  );
};

async function checkedConfig({ places }: CommandContext) {
  const { readConfigFile } = await import("../../operations/config-file.ts");
  const { checkConfig } = await import("../../operations/check-config.ts");
  const file = await readConfigFile(places);
  return file === undefined ? undefined : await checkConfig(file);
}
