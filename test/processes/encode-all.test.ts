import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { repositoryRoot } from "../servers/peers.ts";

const run = promisify(execFile);

async function hashesUnder(env: { readonly [name: string]: string }): Promise<unknown> {
  const directory = await mkdtemp(join(tmpdir(), "waybill-encode-all-"));
  try {
    const script = join(repositoryRoot, ".cache/test-build/test/processes/encode-all.js");
    const { stdout } = await run(process.execPath, [script, directory], { env: { ...process.env, ...env } });
    return JSON.parse(stdout);
  } finally {
    await rm(directory, { recursive: true });
  }
}

it("B22 B31 B32 gives the same bytes in every encoding, whatever the time zone and language of the process", async () => {
  const first = await hashesUnder({ TZ: "UTC", LANG: "C" });
  expect(Object.keys(first as object)).toHaveLength(10);
  expect(await hashesUnder({ TZ: "America/New_York", LANG: "en_US.UTF-8" })).toEqual(first);
  expect(await hashesUnder({ TZ: "Asia/Kolkata", LANG: "de_DE.UTF-8", LC_ALL: "fr_FR.UTF-8" })).toEqual(first);
});
