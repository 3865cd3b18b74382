import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { repositoryRoot } from "./servers/peers.ts";

describe("the package as published", () => {
  let root: string;
  let installed: string;

  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), "waybill-package-"));
    // Scripts are off because `prepare` would rebuild dist/ under the feet of other suites; the global set-up built it.
    const [packed] = JSON.parse(
      run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", root], repositoryRoot),
    );
    installed = join(root, "node_modules", "waybill");
    mkdirSync(installed, { recursive: true });
    run("tar", ["-xzf", join(root, packed.filename), "--strip-components=1", "-C", installed], root);
    linkRuntimeDependencies(join(root, "node_modules"));
  });

  afterAll(() => rmSync(root, { recursive: true, force: true }));

  it("runs its demo in an empty folder with runtime dependencies only", () => {
    const empty = join(root, "empty");
    mkdirSync(empty);
    const output = run(process.execPath, [join(installed, "dist/workers/cli/main.js"), "demo", "--json"], empty);
    const proved = JSON.parse(output);
    expect(proved.ok).toBe(true);
  });

  it("contains what it needs and nothing of the tests, caches or sources", () => {
    const files = walk(installed).map((path) => relative(installed, path));
    expect(files).toContain("LICENSE");
    expect(files).toContain("README.md");
    expect(files).toContain("dist/core/store/migrations/0001_ledger.sql");
    expect(files.filter((name) => /\.test\.|^\.cache|^\.ci|(?<!\.d)\.ts$/.test(name))).toEqual([]);
  });

  it("resolves every entry of its exports map", async () => {
    const { exports } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
    for (const target of Object.values<string>(exports)) {
      expect(walk(installed).map((path) => `./${relative(installed, path)}`)).toContain(target);
    }
  });
});

/** Links what `npm install waybill` would bring, so that a dependency declared only for development is missed here as there. */
function linkRuntimeDependencies(target: string): void {
  const listed = run("npm", ["ls", "--omit=dev", "--all", "--parseable"], repositoryRoot).split("\n").filter(Boolean);
  for (const path of listed.slice(1)) {
    const name = relative(join(repositoryRoot, "node_modules"), path);
    if (name.includes("/node_modules/")) continue;
    mkdirSync(dirname(join(target, name)), { recursive: true });
    symlinkSync(path, join(target, name));
  }
}

function run(command: string, parameters: readonly string[], cwd: string): string {
  return execFileSync(command, parameters, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

function walk(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
