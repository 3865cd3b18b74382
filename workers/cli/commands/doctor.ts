import type { Diagnosis } from "../../operations/doctor.ts";
import { type AddCommand, examples } from "../command.ts";
import type { ExitCode } from "../exit-code.ts";
import { type Output, table } from "../output.ts";

/** `waybill doctor [DESTINATION]`: what a destination keeps and what is missing, before anything is delivered to it. */
export const addDoctorCommand: AddCommand = (program, run) => {
  program
    .command("doctor")
    .summary("test the configured destinations, and tell what is missing and how to mend it")
    .description(
      "Writes a small probe to every configured destination, or one, and removes it again: creating without overwriting, checksums, reading back as the buyer, and that the buyer cannot write. Ends with 1 when a check fails, with 3 when a destination does not answer.",
    )
    .argument("[destination]", "destination_id of the configuration; default all")
    .addHelpText("after", examples("waybill doctor", "waybill doctor buyer-bucket --json"))
    .action((destinationId: string | undefined) =>
      run(async ({ output, places, signal, terminal }) => {
        const { doctor } = await import("../../operations/doctor.ts");
        const { requireConfigFile } = await import("../../operations/config-file.ts");
        const { environment } = terminal;
        const file = await requireConfigFile(places);
        const diagnoses = await doctor(file, { destinationId, environment, onProgress: output.progress, signal });
        output.document({ destinations: diagnoses });
        for (const diagnosis of diagnoses) print(diagnosis, output);
        return exitCodeOf(diagnoses);
      }),
    );
};

function exitCodeOf(diagnoses: readonly Diagnosis[]): ExitCode {
  if (diagnoses.some(({ outcome }) => outcome === "fail")) return 1;
  return diagnoses.some(({ outcome }) => outcome === "unreachable") ? 3 : 0;
}

function print({ destination_id, transport, outcome, failure_code, checks }: Diagnosis, output: Output): void {
  const code = failure_code === null ? "" : ` (${failure_code})`;
  output.say(`${destination_id}, ${transport}: ${outcome}${code}`);
  const rows = checks.map(({ name, outcome: found, fix }) => [`  ${name}`, found, fix ?? ""]);
  for (const line of table(["  CHECK", "FOUND", "WHAT TO DO"], rows)) output.say(line);
  output.say();
}
