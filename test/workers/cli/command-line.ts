import { execFile } from "node:child_process";
import { cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { repositoryRoot } from "../../servers/peers.ts";

export const fixture = (name: string): string => join(repositoryRoot, "fixtures/daily-ad-delivery", name);
export const definitionFile = fixture("definition.json");

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** stdout as the one JSON document that it must be. */
  json<T = Record<string, unknown>>(): T;
}

/** A folder of its own and the compiled command line run in it as a child process. */
export interface CommandLine {
  readonly directory: string;
  path(...names: string[]): string;
  run(...parameters: string[]): Promise<Ended>;
  /** Every file and every empty folder (`name/`) below the folder that is not the ledger's, by relative path, sorted. */
  files(): Promise<readonly string[]>;
}

/** One ledger that was migrated once, because making one costs seconds; each test gets a copy. */
export interface CommandLines {
  /** `ledger: false`: an empty folder. */
  open(options?: { readonly ledger?: boolean }): Promise<CommandLine>;
  close(): Promise<void>;
}

export async function openCommandLines(): Promise<CommandLines> {
  const root = await mkdtemp(join(tmpdir(), "waybill-cli-"));
  const template = join(root, "template");
  const made = await run(root, ["migrate", "--ledger", template]);
  if (made.code !== 0) throw new Error(`no ledger could be made: ${made.stderr}`);
  let count = 0;
  return {
    async open({ ledger = true } = {}) {
      count += 1;
      const directory = await mkdtemp(join(root, `world-${count}-`));
      if (ledger) await cp(template, join(directory, ".waybill"), { recursive: true });
      return {
        directory,
        path: (...names) => join(directory, ...names),
        run: (...parameters) => run(directory, parameters),
        async files() {
          const entries = await readdir(directory, { recursive: true, withFileTypes: true });
          const paths = entries.map((entry) => {
            const path = join(entry.parentPath, entry.name).slice(directory.length + 1);
            return entry.isDirectory() ? `${path}/` : path;
          });
          return paths
            .filter((path) => !path.startsWith(".waybill/"))
            .filter((path) => !path.endsWith("/") || !paths.some((other) => other !== path && other.startsWith(path)))
            .sort();
        },
      };
    },
    close: () => rm(root, { recursive: true, force: true }),
  };
}

function run(directory: string, parameters: readonly string[]): Promise<Ended> {
  const main = join(repositoryRoot, "dist/workers/cli/main.js");
  const environment = { ...process.env, TMPDIR: directory, NO_COLOR: "1" };
  return new Promise((resolve) => {
    const options = { cwd: directory, env: environment, maxBuffer: 64 * 1024 * 1024 };
    execFile(process.execPath, [main, ...parameters], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
      resolve({ code, stdout, stderr, json: () => JSON.parse(stdout) });
    });
  });
}
