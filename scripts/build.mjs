// Compiles the package into dist/ (default) or the process tests into .cache/test-build (--tests), SQL beside it.
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const tests = process.argv.includes("--tests");
const target = join(root, tests ? ".cache/test-build" : "dist");
const manifest = createRequire(import.meta.url).resolve("typescript/package.json");
const compiler = join(dirname(manifest), "bin", "tsc");

const project = join(root, tests ? "tsconfig.test-build.json" : "tsconfig.build.json");
const { status } = spawnSync(process.execPath, [compiler, "-p", project], { stdio: "inherit" });

const migrations = join(root, "core/store/migrations");
for (const name of readdirSync(migrations)) {
  if (name.endsWith(".sql")) cpSync(join(migrations, name), join(target, "core/store/migrations", name));
}
const command = join(target, "workers/cli/main.js");
if (existsSync(command)) chmodSync(command, 0o755);
process.exit(status ?? 1);
