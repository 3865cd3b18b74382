import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { canonicalJson } from "../../core/canonical-json.ts";
import { formatSums, parseSums } from "../../manifests/sha256-sums.ts";
import { sideFileNames } from "../../manifests/side-files.ts";
import { deliver, documents, rowsOf, writeFolder } from "./delivered-folder.ts";

describe("side files", () => {
  it("are the revision, its documents byte for byte, and sums over everything", async () => {
    const { files, revision, manifest } = await deliver({ rows: rowsOf(4), encoding: { rowsPerPart: 3 } });
    const text = (name: string): string => new TextDecoder().decode(files.get(name));
    expect([...files.keys()].sort()).toEqual(
      [...sideFileNames, "manifest.json", "part-00000.jsonl", "part-00001.jsonl"].sort(),
    );
    expect(text("revision.json")).toBe(canonicalJson(revision));
    expect(files.get("definition.json")).toEqual(documents.reportDefinition.bytes);
    expect(files.get("row-schema.json")).toEqual(documents.rowSchema.bytes);
    expect(files.get("canonicalization.json")).toEqual(documents.canonicalization.bytes);
    const listed = text("SHA256SUMS")
      .split("\n")
      .map((line) => line.slice(66));
    expect(listed).toEqual(
      [...files.keys()]
        .filter((name) => name !== "SHA256SUMS")
        .sort()
        .concat(""),
    );
    expect(manifest.files.map((file) => file.object_ref)).not.toContain("SHA256SUMS");
  });

  it("SHA256SUMS satisfies sha256sum -c in the folder", async () => {
    const directory = await mkdtemp(join(tmpdir(), "waybill-sums-"));
    try {
      const folder = await writeFolder((await deliver({ rows: rowsOf(4) })).files, directory);
      const output = execFileSync("sha256sum", ["-c", "SHA256SUMS"], { cwd: folder, encoding: "utf8" });
      expect(output.trim().split("\n")).toHaveLength(6);
      expect(output).not.toContain("FAILED");
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });

  it("sums are read only in the form in which they are written", () => {
    const sum = { name: "a.jsonl", sha256: "a".repeat(64) };
    expect(parseSums(formatSums([sum]))).toEqual(new Map([["a.jsonl", sum.sha256]]));
    for (const bad of [
      "",
      "\n",
      formatSums([sum]).slice(0, -1),
      formatSums([{ ...sum, name: "../a" }]),
      formatSums([sum, sum]),
    ]) {
      expect(parseSums(bad)).toBeUndefined();
    }
  });
});
