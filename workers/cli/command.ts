import type { Command } from "commander";
import type { Places } from "../operations/config-file.ts";
import type { ExitCode } from "./exit-code.ts";
import type { Output } from "./output.ts";
import type { Terminal } from "./terminal.ts";

/** What every command's work is given. */
export interface CommandContext {
  readonly output: Output;
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
  /** Working folder, `--config` and `--ledger`. */
  readonly places: Places;
}

/** The work of a command; what it returns is the exit code. Everything thrown is reported in one place. */
export type CommandWork = (context: CommandContext) => Promise<ExitCode>;

/** Adds one command. `run` wires its action to output, signals and exit code. */
export type AddCommand = (program: Command, run: (work: CommandWork) => Promise<void>) => void;

/** Text behind `--help` with commands to copy. */
export function examples(...lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  ${line}`).join("\n")}`;
}
