import { type AddCommand, addWaitOption, examples } from "../command.ts";
import { withWaybill } from "../with-waybill.ts";

/** `waybill sweep`: one round of what must happen without anybody asking. */
export const addSweepCommand: AddCommand = (program, run) => {
  const command = program
    .command("sweep")
    .summary("go on with everything that is due or was left behind")
    .description(
      "Ends the leases of workers that died, carries out withdrawals, and runs every delivery that is due, until none is. Safe to run at any time, for example every few minutes.",
    )
    .addHelpText("after", examples("waybill sweep", "waybill sweep --json"));
  addWaitOption(command).action(({ wait }: { readonly wait: number }) =>
    run(async (context) => {
      const { sweep } = await import("../../operations/sweep.ts");
      const { output, signal } = context;
      const options = { patienceMs: wait * 1000, onProgress: output.progress, signal };
      const swept = await withWaybill(context, (waybill) => sweep(waybill, options));
      output.document(swept);
      const { leases_expired, withdrawn, deliveries_run } = swept;
      output.say(
        `${leases_expired} leases of dead workers ended, ${withdrawn.length} withdrawals done, ${deliveries_run} deliveries run.`,
      );
      return 0;
    }),
  );
};
