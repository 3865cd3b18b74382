#!/usr/bin/env node
import { runCommandLine } from "./program.ts";
import { processTerminal } from "./terminal.ts";

// A closed pipe (`waybill ls | head`) is no error worth a stack.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  process.exit(error.code === "EPIPE" ? 0 : 1);
});

process.exitCode = await runCommandLine(process.argv.slice(2), processTerminal());
