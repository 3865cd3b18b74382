import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { repositoryRoot } from "./servers/peers.ts";

const run = promisify(execFile);

/** Builds dist/ as `npm run build` does, and the process tests into .cache/test-build. */
export async function build(): Promise<void> {
  const started = Date.now();
  await Promise.all([script("scripts/build.mjs", []), script("scripts/build.mjs", ["--tests"])]);
  console.error(`build: ready in ${((Date.now() - started) / 1000).toFixed(1)} s`);
}

async function script(path: string, parameters: readonly string[]): Promise<void> {
  try {
    await run(process.execPath, [path, ...parameters], { cwd: repositoryRoot });
  } catch (error) {
    const output = error as { stdout?: string; stderr?: string };
    console.error(`build: ${path} failed:\n${output.stdout ?? ""}${output.stderr ?? ""}`.slice(0, 3000));
  }
}
