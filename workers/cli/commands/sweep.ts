import { type AddCommand, examples } from "../command.ts";
import { withWaybill } from "../with-waybill.ts";

/** `waybill sweep`: one round of what must happen without anybody asking. */
export const addSweepCommand: AddCommand = (program, run) => {
  program
    .command("sweep")
    .summary("go on with everything that is due or was left behind")
    .description(
      "Ends the leases of workers that died, carries out withdrawals, and runs every delivery that is due, until none is. Safe to run at any time, for example every few minutes.",
    )
    .addHelpText("after", examples("waybill sweep", "waybill sweep --json"))
    .action(() =>
      run(async (context) => {
        const { output } = context;
        await withWaybill(context, async (waybill) => {
          output.progress({ stage: "sweeping" });
          const { expired, withdrawn, enqueued } = await waybill.sweep();
          output.progress({ stage: `running ${enqueued} deliveries` });
          await waybill.idle();
          output.document({ leases_expired: expired.length, withdrawn, deliveries_run: enqueued });
          output.say(
            `${expired.length} leases of dead workers ended, ${withdrawn.length} withdrawals done, ${enqueued} deliveries run.`,
          );
        });
        return 0;
      }),
    );
};
