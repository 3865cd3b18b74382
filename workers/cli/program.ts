import { Command, CommanderError } from "commander";
import { packageFolder } from "../package-folder.ts";
import type { CommandContext, CommandWork } from "./command.ts";
import { addConfigCommand } from "./commands/config.ts";
import { addDefineCommand } from "./commands/define.ts";
import { addDeliverCommand } from "./commands/deliver.ts";
import { addDemoCommand } from "./commands/demo.ts";
import { addDoctorCommand } from "./commands/doctor.ts";
import { addExplainCommand } from "./commands/explain.ts";
import { addInitCommand } from "./commands/init.ts";
import { addLsCommand } from "./commands/ls.ts";
import { addMigrateCommand } from "./commands/migrate.ts";
import { addReceiveCommand } from "./commands/receive.ts";
import { addRedriveCommand } from "./commands/redrive.ts";
import { addRetainCommand } from "./commands/retain.ts";
import { addShipCommand } from "./commands/ship.ts";
import { addSweepCommand } from "./commands/sweep.ts";
import { addVerifyCommand } from "./commands/verify.ts";
import { addWorkerCommands } from "./commands/worker.ts";
import type { ExitCode } from "./exit-code.ts";
import { createOutput } from "./output.ts";
import { reportError } from "./report-error.ts";
import type { Terminal } from "./terminal.ts";

/** In the order of the help. */
const commands = [
  addDemoCommand,
  addDefineCommand,
  addShipCommand,
  addVerifyCommand,
  addReceiveCommand,
  addInitCommand,
  addMigrateCommand,
  addConfigCommand,
  addDoctorCommand,
  addRetainCommand,
  addDeliverCommand,
  addRedriveCommand,
  addLsCommand,
  addExplainCommand,
  addSweepCommand,
  addWorkerCommands,
];

const about =
  "Delivers advertising reports so that nobody has to argue about them: immutable revisions, verified deliveries, proofs for the buyer.";

const exitCodes = `
Exit codes:
  0  done
  1  the rows, the delivery or the folder checked is wrong
  2  wrong flags, configuration or permissions
  3  something did not answer; trying again may help

Start with: waybill demo`;

/** Runs one command line and resolves to the exit code. Nothing is thrown; the process is never ended here. */
export async function runCommandLine(parameters: readonly string[], terminal: Terminal): Promise<number> {
  const json = parameters.includes("--json");
  let exitCode: ExitCode | 130 = 0;
  const program = createProgram(terminal, async (work) => {
    const { quiet, ledger, config } = program.opts<GlobalOptions>();
    const output = createOutput(terminal, { json, quiet: quiet ?? false });
    const places = { directory: terminal.workingDirectory, config, ledger };
    const context: CommandContext = { output, terminal, signal: terminal.signal, places };
    try {
      exitCode = await work(context);
    } catch (error) {
      if (terminal.environment["WAYBILL_DEBUG"] === "1" && error instanceof Error) output.note(error.stack ?? "");
      exitCode = reportError(error, output);
    }
    output.settle();
  });
  try {
    await program.parseAsync(parameters, { from: "user" });
    return exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return 0;
    const problem = { code: "WRONG_USE", message: error.message.replace(/^error: /, "") };
    createOutput(terminal, { json, quiet: true }).document({ error: { kind: "usage", problems: [problem] } });
    return 2;
  }
}

interface GlobalOptions {
  readonly quiet?: boolean;
  readonly ledger?: string;
  readonly config?: string;
}

function createProgram(terminal: Terminal, run: (work: CommandWork) => Promise<void>): Command {
  const program = new Command("waybill")
    .description(about)
    .version(packageFolder().version)
    .option("--json", "print one JSON document on stdout and nothing else there")
    .option("--quiet", "no progress on stderr")
    .option("--ledger <folder>", "folder of the embedded ledger (default: the configuration's, else ./.waybill)")
    .option("--config <file>", "configuration file (default: ./waybill.config.yaml if it is there)")
    .addHelpText("after", exitCodes);
  for (const add of commands) add(program, run);
  for (const command of [program, ...program.commands, ...program.commands.flatMap((group) => group.commands)]) {
    command
      .exitOverride()
      .showHelpAfterError(`(run "${commandPath(command)} --help" for what it takes)`)
      .configureHelp({ showGlobalOptions: command !== program })
      .configureOutput({
        writeOut: (text) => terminal.stdout.write(text),
        writeErr: (text) => terminal.stderr.write(text),
      });
  }
  return program;
}

function commandPath(command: Command): string {
  return command.parent === null ? command.name() : `${commandPath(command.parent)} ${command.name()}`;
}
