import { type AddCommand, examples } from "../command.ts";
import {
  addVerifyOptions,
  exitCodeOfReport,
  printReport,
  type VerifyOptions,
  verifyRequest,
} from "../verify-options.ts";

/** `waybill verify LOCATION`: what a buyer runs, with no account and no ledger. */
export const addVerifyCommand: AddCommand = (program, run) => {
  const command = program
    .command("verify")
    .summary("check a delivery as its buyer: every byte, row, total and digest")
    .description(
      "Reads a delivered folder once and lists everything that is wrong with it: object, row, key, column, expected and found. Needs nothing but the folder; with --expect it is compared with the seller's ledger too.",
    );
  addVerifyOptions(command)
    .addHelpText(
      "after",
      examples(
        "waybill verify ./out/r_.../m_...",
        "waybill verify ./out/r_.../m_.../manifest.json --json",
        "waybill verify ./out/r_.../m_... --expect shipped.json --require matches_ledger",
      ),
    )
    .action((location: string, options: VerifyOptions) =>
      run(async (context) => {
        const { verify } = await import("../../operations/verify.ts");
        const document = await verify(verifyRequest(location, options, context));
        context.output.document(document);
        printReport(document, context.output);
        return exitCodeOfReport(document);
      }),
    );
};
