import { type Command, InvalidArgumentError, Option } from "commander";
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

/** Parses a flag that takes a whole number within bounds. */
export function wholeNumber(minimum: number, maximum: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= minimum && value <= maximum) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${minimum} to ${maximum}.`);
  };
}

/** `--wait`: how long a command that delivers waits for retries. */
export function addWaitOption(command: Command): Command {
  const option = new Option("--wait <seconds>", "how long to wait for retries before leaving the attempt open");
  return command.addOption(option.default(300).argParser(wholeNumber(0, 86_400)));
}
