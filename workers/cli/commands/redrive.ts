import { type AddCommand, addWaitOption, examples } from "../command.ts";
import { printDelivery } from "../print-delivery.ts";
import { withWaybill } from "../with-waybill.ts";

/** `waybill redrive OBLIGATION`: goes on with what did not succeed. */
export const addRedriveCommand: AddCommand = (program, run) => {
  const command = program
    .command("redrive")
    .summary("try again what an obligation still lacks")
    .description(
      "Runs the pending delivery of an obligation's current revision now, or opens the next attempt after a failed one. One that is delivered already is left alone.",
    )
    .argument("<obligation>", "its id; waybill ls obligations lists them")
    .addHelpText("after", examples("waybill redrive obl_mzxw6ytboi4dsmrtgq2tmnzyga"));
  addWaitOption(command).action((obligationId: string, options: { readonly wait: number }) =>
    run(async (context) => {
      const { redrive } = await import("../../operations/redrive.ts");
      const { deliveredDocument } = await import("../../operations/delivered-document.ts");
      const { output, signal } = context;
      return await withWaybill(context, async (waybill) => {
        const options_ = { patienceMs: options.wait * 1000, onProgress: output.progress, signal };
        const driven = await redrive(waybill, obligationId, options_);
        if (!driven.driven) output.note("nothing to do: the current revision was delivered already");
        return printDelivery(await deliveredDocument(waybill.db, driven.revision, driven), output, !driven.driven);
      });
    }),
  );
};
