import { cp, readFile, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { canonicalJson } from "../../../core/canonical-json.ts";
import { sha256Hex } from "../../../core/digest/node-hasher.ts";
import { type CommandLine, type CommandLines, definitionFile, fixture, openCommandLines } from "./command-line.ts";

let lines: CommandLines;
/** Holds one delivery at `shipped` and what the seller printed in `shipped.json`. */
let line: CommandLine;
beforeAll(async () => {
  lines = await openCommandLines();
  line = await lines.open();
  const flags = ["--definition", definitionFile, "--to", "out", "--format", "csv", "--compression", "none", "--json"];
  const ended = await line.run("ship", fixture("rows.jsonl"), ...flags);
  await writeFile(line.path("shipped.json"), ended.stdout);
  const { location } = ended.json<{ location: string }>();
  await cp(dirname(fileURLToPath(location)), line.path("shipped"), { recursive: true });
  // A buyer has neither the seller's ledger nor the seller's folder.
  await rm(line.path(".waybill"), { recursive: true });
  await rm(line.path("out"), { recursive: true });
});
afterAll(() => lines.close());

describe("verify", () => {
  it("takes a folder, its manifest or a file URL, and needs nothing else", async () => {
    for (const location of ["shipped", "shipped/manifest.json", pathToFileURL(line.path("shipped")).href]) {
      const ended = await line.run("verify", location, "--json");
      expect(ended.code).toBe(0);
      expect(ended.json()).toMatchObject({ ok: true, level: "SELF_CONSISTENT", row_count: 26, findings: [] });
    }
  });

  it("reaches the level of the seller's ledger with --expect, and --require makes less than that a failure", async () => {
    const alone = await line.run("verify", "shipped", "--require", "matches_ledger", "--json");
    expect(alone.code).toBe(1);
    expect(alone.json()).toMatchObject({ ok: false, level: "SELF_CONSISTENT", findings: [] });
    expect(alone.json<{ not_checked: string[] }>().not_checked.length).toBeGreaterThan(0);
    const flags = ["--expect", "shipped.json", "--require", "matches_ledger", "--json"];
    const both = await line.run("verify", "shipped", ...flags);
    expect(both.code).toBe(0);
    expect(both.json()).toMatchObject({ ok: true, level: "MATCHES_LEDGER", not_checked: [] });
  });

  it("lists every mismatch with object, row, key, column, expected and actual", async () => {
    await cp(line.path("shipped"), line.path("altered"), { recursive: true });
    const path = line.path("altered/part-00000.csv");
    const forged = (await readFile(path, "utf8")).replace("USD,true", "USD,trux");
    await writeFile(path, forged);
    // Whoever changes a row and knows the format changes the hash in the manifest as well.
    const manifest = JSON.parse(await readFile(line.path("altered/manifest.json"), "utf8"));
    manifest.files[0].sha256 = sha256Hex(forged);
    await writeFile(line.path("altered/manifest.json"), canonicalJson(manifest));
    const known = await line.run("verify", "altered", "--expect", "shipped.json", "--json");
    expect(known.json()).toMatchObject({ ok: false, findings: [{ code: "MANIFEST_DIGEST_MISMATCH" }] });
    const ended = await line.run("verify", "altered", "--json");
    expect(ended.code).toBe(1);
    const { findings } = ended.json<{ findings: readonly Record<string, unknown>[] }>();
    for (const member of ["code", "object_ref", "row", "key", "column", "expected", "actual"]) {
      for (const finding of findings) expect(finding).toHaveProperty(member);
    }
    expect(findings).toContainEqual(
      expect.objectContaining({ code: "ROW_SCHEMA_INVALID", object_ref: "part-00000.csv", row: 1, column: "viewable" }),
    );
    const text = await line.run("verify", "altered");
    expect(text.stdout).toContain("part-00000.csv, row 1");
  });
});

describe("receive", () => {
  it("copies what verified, changes nothing the second time, and copies nothing that did not verify", async () => {
    const first = await line.run("receive", "shipped", "--out", "inbox/day", "--expect", "shipped.json", "--json");
    expect(first.code).toBe(0);
    expect(first.json()).toMatchObject({
      outcome: "received",
      directory: line.path("inbox/day"),
      level: "MATCHES_LEDGER",
    });
    expect((await line.run("receive", "shipped", "--out", "inbox/day", "--json")).json()).toMatchObject({
      outcome: "unchanged",
    });

    await cp(line.path("shipped"), line.path("damaged"), { recursive: true });
    await writeFile(line.path("damaged/part-00000.csv"), "nothing\r\n");
    const refused = await line.run("receive", "damaged", "--out", "inbox/other", "--json");
    expect(refused.code).toBe(1);
    expect(refused.json()).toMatchObject({ outcome: "refused", ok: false });
    expect((await line.files()).filter((path) => path.startsWith("inbox/other"))).toEqual([]);

    await writeFile(line.path("inbox/something"), "");
    const occupied = await line.run("receive", "shipped", "--out", "inbox");
    expect(occupied.code).toBe(2);
    expect(occupied.stderr).toContain("nothing was overwritten");
  });
});
