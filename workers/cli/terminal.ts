import type { Writable } from "node:stream";

/** The outside of a command: where it prints, from where it runs, and what stops it. Tests pass their own. */
export interface Terminal {
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** True when a person watches stderr, so that progress may be drawn over itself. */
  readonly isInteractive: boolean;
  readonly workingDirectory: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

/** The process's own terminal. The first SIGINT or SIGTERM asks work to stop at its next safe point, the second ends the process. */
export function processTerminal(): Terminal {
  const controller = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.once(name, () => {
      process.stderr.write("\nstopping; a repeated command goes on where this one stopped (again to stop at once)\n");
      controller.abort();
      process.once(name, () => process.exit(130));
    });
  }
  return {
    stdout: process.stdout,
    stderr: process.stderr,
    isInteractive: process.stderr.isTTY === true && process.env["CI"] === undefined && process.env["TERM"] !== "dumb",
    workingDirectory: process.cwd(),
    environment: process.env,
    signal: controller.signal,
  };
}
