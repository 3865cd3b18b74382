import { type AddCommand, examples } from "../command.ts";

/** `waybill demo`: the main job in half a minute, proved step by step. */
export const addDemoCommand: AddCommand = (program, run) => {
  program
    .command("demo")
    .summary("see the whole job once: deliver, verify, restate, replay, tamper")
    .description(
      "Runs the whole job on made-up rows with nothing installed but Node, and prints what each step proved. Leaves nothing behind unless a folder is named.",
    )
    .argument("[folder]", "a missing or empty folder to keep everything in, to look around afterwards")
    .addHelpText("after", examples("waybill demo", "waybill demo ./look"))
    .action((folder: string | undefined) =>
      run(async ({ output, places, signal, terminal }) => {
        const { demo } = await import("../../operations/demo.ts");
        const { resolve } = await import("node:path");
        output.progress({ stage: "creating a ledger" });
        let number = 0;
        const result = await demo({
          folder: folder === undefined ? undefined : resolve(places.directory, folder),
          onStep: ({ ok, did, proved }) => {
            number += 1;
            output.say(`${number}. ${did.charAt(0).toUpperCase()}${did.slice(1)}.`);
            output.say(`   ${ok ? "Proved" : "DID NOT HOLD"}: ${proved}.`);
          },
          // Elsewhere the steps themselves are the lines.
          onProgress: terminal.isInteractive ? output.progress : undefined,
          signal,
        });
        output.document(result);
        output.say();
        output.say(result.ok ? "Everything held." : "Something did not hold: please report it.");
        if (result.folder === null) output.say("Nothing was kept; waybill demo ./look keeps it all in a folder.");
        else output.say(`All of it is in ${result.folder}: the ledger, the reports, the tampered copy.`);
        output.say("Next, with rows of your own: waybill define rows.jsonl --key day,media_buy_id");
        return result.ok ? 0 : 1;
      }),
    );
};
