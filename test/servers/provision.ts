import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { isRequired, type PeerName, peerDirectory, peerNames } from "./peers.ts";

const run = promisify(execFile);

/**
 * Installs every peer into the cache, in parallel, with a line of progress each. A second run finds them and does nothing.
 * One that cannot be had is announced with its reason; if REQUIRE_PEERS names it, this throws.
 */
export async function provision(): Promise<void> {
  const failures = (await Promise.all(peerNames.map(install))).filter((failure) => failure !== undefined);
  const missing = failures.filter((failure) => isRequired(failure.name));
  if (missing.length > 0) {
    throw new Error(
      `required peers could not be installed: ${missing.map((failure) => `${failure.name} (${failure.reason})`).join("; ")}`,
    );
  }
}

interface Failure {
  readonly name: PeerName;
  readonly reason: string;
}

async function install(name: PeerName): Promise<Failure | undefined> {
  const requirements = fileURLToPath(new URL(`./requirements-${name}.txt`, import.meta.url));
  const wanted = createHash("sha256").update(readFileSync(requirements)).digest("hex");
  const directory = peerDirectory(name);
  const ready = join(directory, "ready");
  if (existsSync(ready) && readFileSync(ready, "utf8") === wanted) return undefined;
  const started = Date.now();
  console.error(`provision: ${name} …`);
  try {
    rmSync(directory, { recursive: true, force: true });
    mkdirSync(directory, { recursive: true });
    await run("python3", ["-m", "venv", directory]);
    await run(join(directory, "bin", "pip"), ["install", "--quiet", "--disable-pip-version-check", "-r", requirements]);
    writeFileSync(ready, wanted);
    console.error(`provision: ${name} ready in ${Math.round((Date.now() - started) / 1000)} s`);
    return undefined;
  } catch (error) {
    rmSync(directory, { recursive: true, force: true });
    const reason =
      String(error instanceof Error ? error.message : error)
        .split("\n")
        .filter(Boolean)
        .at(-1) ?? "unknown";
    console.error(`provision: ${name} SKIPPED, its suites will not run: ${reason}`);
    return { name, reason };
  }
}
