import type { Explanation } from "../../operations/explain.ts";
import { type AddCommand, examples } from "../command.ts";
import type { Output } from "../output.ts";
import { withWaybill } from "../with-waybill.ts";

/** `waybill explain ID`: what happened to one record and what comes next. */
export const addExplainCommand: AddCommand = (program, run) => {
  program
    .command("explain")
    .summary("tell what happened to one obligation, revision or materialization, and who must act")
    .description(
      "Tells the story of one record from the ledger's journal: causes in order, the class of a failure, the next retry, who has to act and how.",
    )
    .argument("<id>", "of an obligation, a revision or a materialization")
    .addHelpText(
      "after",
      examples(
        "waybill explain obl_mzxw6ytboi4dsmrtgq2tmnzyga",
        "waybill explain mat_mzxw6ytboi4dsmrtgq2tmnzyga --json",
      ),
    )
    .action((id: string) =>
      run(async (context) => {
        const { explain } = await import("../../operations/explain.ts");
        const explanation = await withWaybill(context, ({ db }) => explain(db, { operator: true }, id));
        context.output.document(explanation);
        print(explanation, context.output);
        return 0;
      }),
    );
};

function print(explanation: Explanation, output: Output): void {
  const { kind, id, summary, story, abridged, failure, next_run_at, responsible_party, advice } = explanation;
  output.say(`${kind} ${id}`);
  output.say(summary);
  output.say();
  if (abridged) output.say("  ... older lines left out");
  let subject = "";
  for (const line of story) {
    if (line.subject_id !== subject && story.some((other) => other.subject_id !== line.subject_id)) {
      output.say(`  ${line.subject_id}`);
    }
    subject = line.subject_id;
    output.say(`    ${line.at}  ${line.text}`);
  }
  output.say();
  if (failure !== null)
    output.say(`Class of the failure: ${failure.next}, to be solved by the ${failure.responsible_party}.`);
  if (next_run_at !== null) output.say(`Next run: ${next_run_at}, by itself.`);
  if (responsible_party !== null) output.say(`Who must act: ${responsible_party}.`);
  else output.say("Nobody has to act.");
  if (advice !== null) output.say(`What to do: ${advice}`);
}
