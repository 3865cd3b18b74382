import { type AddCommand, examples } from "../command.ts";
import {
  addVerifyOptions,
  exitCodeOfReport,
  printReport,
  type VerifyOptions,
  verifyRequest,
} from "../verify-options.ts";

/** `waybill receive LOCATION --out DIR`: a copy that exists only if it verified. */
export const addReceiveCommand: AddCommand = (program, run) => {
  const command = program
    .command("receive")
    .summary("copy a delivery, verified on its way")
    .description(
      "Copies a delivery into a folder that appears only once every byte of it was verified. Run again after an interruption it goes on; run again after success it changes nothing.",
    );
  addVerifyOptions(command)
    .requiredOption("--out <folder>", "the copy's folder; it must be missing, empty or hold this very delivery")
    .addHelpText("after", examples("waybill receive ./out/r_.../m_... --out ./inbox/2026-03-08"))
    .action((location: string, options: VerifyOptions & { readonly out: string }) =>
      run(async (context) => {
        const { receiveVerified } = await import("../../operations/verify.ts");
        const { output } = context;
        const request = { ...verifyRequest(location, options, context), out: options.out };
        const { received, document } = await receiveVerified(request);
        output.document({ outcome: received.outcome, directory: received.directory, ...document });
        const words = {
          received: `Received into ${received.directory}.`,
          unchanged: `It was received before; the copy at ${received.directory} verified again.`,
          refused: "Refused: it did not verify, and nothing was copied.",
        };
        output.say(words[received.outcome]);
        printReport(document, output);
        return exitCodeOfReport(document);
      }),
    );
};
