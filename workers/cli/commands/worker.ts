import { systemClock } from "../../../core/clock.ts";
import { type AddCommand, type CommandContext, examples, wholeNumber } from "../command.ts";
import type { ExitCode } from "../exit-code.ts";
import { withWaybill } from "../with-waybill.ts";

interface WorkerFlags {
  readonly transports?: string;
  readonly concurrency: number;
  readonly sweepEvery: number;
  readonly lease: number;
}

const lease = [
  "--lease <seconds>",
  "how long the work of a killed worker waits for another one",
  wholeNumber(1, 3_600),
  60,
] as const;

/** `waybill worker` and `waybill up`: deliver until stopped. */
export const addWorkerCommands: AddCommand = (program, run) => {
  program
    .command("worker")
    .summary("deliver what is due, until stopped")
    .description(
      "Takes deliveries from the queue and runs them. Start as many as you like against one PostgreSQL and Redis; a kill loses nothing. SIGTERM lets running deliveries end.",
    )
    .option("--transports <list>", "only these, such as s3,local_fs (default: all)")
    .option("--concurrency <n>", "deliveries at once", wholeNumber(1, 1000), 4)
    .option("--sweep-every <seconds>", "how often to look for dead workers and lost hints", wholeNumber(1, 86_400), 15)
    .option(...lease)
    .addHelpText("after", examples("waybill worker --transports s3 --concurrency 8"))
    .action((flags: WorkerFlags) => run((context) => runWorker(context, flags)));

  program
    .command("up")
    .summary("everything in one process: worker and sweeper")
    .description("What a small installation needs: one process that delivers whatever is due, until stopped.")
    .option("--concurrency <n>", "deliveries at once", wholeNumber(1, 1000), 4)
    .option("--sweep-every <seconds>", "how often to look for dead workers and lost hints", wholeNumber(1, 86_400), 5)
    .option(...lease)
    .addHelpText("after", examples("waybill up"))
    .action((flags: WorkerFlags) => run((context) => runWorker(context, flags)));
};

async function runWorker(context: CommandContext, flags: WorkerFlags): Promise<ExitCode> {
  const { transportsOf, work } = await import("../../operations/work.ts");
  const { reduceError } = await import("../../log.ts");
  const { output, signal } = context;
  const transports = flags.transports === undefined ? {} : { transports: transportsOf(flags.transports) };
  await withWaybill(
    context,
    async (waybill) => {
      output.note("working; stop with SIGTERM or Ctrl-C");
      await work(waybill, {
        sweepEveryMs: flags.sweepEvery * 1000,
        clock: systemClock,
        signal,
        onSweep: ({ expired, enqueued }) => {
          if (expired + enqueued > 0)
            output.note(`${expired} leases of dead workers ended, ${enqueued} deliveries due`);
        },
        onTrouble: (error) => output.note(`a sweep failed and is tried again: ${JSON.stringify(reduceError(error))}`),
      });
      output.note("stopping: running deliveries end first");
    },
    { create: true, work: { ...transports, concurrency: flags.concurrency }, leaseMs: flags.lease * 1000 },
  );
  return 0;
}
