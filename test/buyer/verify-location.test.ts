import { execFileSync } from "node:child_process";
import { chmod, mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readExpectation } from "../../buyer/expectation.ts";
import { folderPlace } from "../../buyer/folder-place.ts";
import { satisfies, verifyLocation } from "../../buyer/verify-location.ts";
import { WaybillError } from "../../core/errors.ts";
import { type Delivered, deliver, rowsOf, writeFolder } from "../manifests/delivered-folder.ts";

let directory: string;
let delivered: Delivered;
let folder: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "waybill-location-"));
  delivered = await deliver({ rows: rowsOf(12), encoding: { compression: "gzip", rowsPerPart: 5 } });
  folder = await writeFolder(delivered.files, directory);
});
afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

const problemsOf = async (running: Promise<unknown>): Promise<readonly string[]> => {
  try {
    await running;
  } catch (error) {
    if (error instanceof WaybillError) return [error.kind, ...error.problems.map(({ code }) => code)];
    throw error;
  }
  return [];
};

describe("a location", () => {
  it("is a folder, its manifest, or a file:// URL of either", async () => {
    const manifest = join(folder, "manifest.json");
    for (const location of [folder, `${folder}/`, manifest, pathToFileURL(folder).href, pathToFileURL(manifest).href]) {
      expect(await verifyLocation(location)).toMatchObject({
        ok: true,
        satisfied: true,
        level: "SELF_CONSISTENT",
        row_count: 12,
      });
    }
  });

  it("reached over a linked folder is the same delivery", async () => {
    await symlink(join(directory, "r_1"), join(directory, "latest"));
    expect((await verifyLocation(join(directory, "latest", "m_1"))).ok).toBe(true);
  });

  it("may have blanks, percent signs, brackets and accents in its path", async () => {
    const odd = join(directory, "a b%20[c]*? \u00e9");
    await mkdir(odd);
    await rename(folder, join(odd, "m_1"));
    const parquet = await deliver({ rows: rowsOf(4), encoding: { format: "parquet" } });
    await writeFolder(parquet.files, odd, "m_2");
    expect((await verifyLocation(join(odd, "m_1"))).ok).toBe(true);
    expect((await verifyLocation(pathToFileURL(join(odd, "m_2")).href)).ok).toBe(true);
  });

  it("a manifest under another name is read under that name", async () => {
    await rename(join(folder, "manifest.json"), join(folder, "other.json"));
    await rm(join(folder, "SHA256SUMS"));
    expect((await verifyLocation(join(folder, "other.json"))).ok).toBe(true);
    expect((await verifyLocation(folder)).findings.map(({ code }) => code)).toEqual(["RESOURCE_NOT_READY"]);
  });

  it("of another scheme, or that does not exist, is wrong use and says what to do", async () => {
    for (const location of ["s3://bucket/r_1", "gs://bucket/x", "https://seller.example/manifest.json"]) {
      expect(await problemsOf(verifyLocation(location))).toEqual(["usage", "UNSUPPORTED_LOCATION"]);
    }
    expect(await problemsOf(verifyLocation("file://otherhost/x"))).toEqual(["usage", "INVALID_LOCATION"]);
    expect(await problemsOf(verifyLocation(join(directory, "nowhere", "at", "all")))).toEqual([
      "usage",
      "NO_SUCH_LOCATION",
    ]);
  });

  it("where no manifest is yet may be tried again", async () => {
    await rm(join(folder, "manifest.json"));
    expect(await verifyLocation(folder)).toMatchObject({ ok: false, satisfied: false, retryable: true });
  });
});

describe("a folder as a place", () => {
  it("opens plain files only: links, pipes and folders are unsafe, and a pipe does not hang", async () => {
    await writeFile(join(directory, "secret"), "secret");
    await rm(join(folder, "part-00000.jsonl.gz"));
    await rm(join(folder, "part-00001.jsonl.gz"));
    await rm(join(folder, "part-00002.jsonl.gz"));
    await symlink(join(directory, "secret"), join(folder, "part-00000.jsonl.gz"));
    execFileSync("mkfifo", [join(folder, "part-00001.jsonl.gz")]);
    await mkdir(join(folder, "part-00002.jsonl.gz"));
    const report = await verifyLocation(folder);
    expect(report.findings.map(({ code, object_ref }) => [code, object_ref])).toEqual([
      ["UNSAFE_RESOURCE", "part-00000.jsonl.gz"],
      ["UNSAFE_RESOURCE", "part-00001.jsonl.gz"],
      ["UNSAFE_RESOURCE", "part-00002.jsonl.gz"],
    ]);
    expect(report.retryable).toBe(false);
  });

  it("never opens a name that is a path", async () => {
    for (const name of ["../m_1/manifest.json", "/etc/passwd", ".", "a/b", ""]) {
      await expect(folderPlace(folder).open(name)).rejects.toMatchObject({ code: "DESTINATION_UNSAFE" });
    }
  });

  it.skipIf(process.getuid?.() === 0)(
    "a file that this user may not read is named as such (root may read everything)",
    async () => {
      await chmod(join(folder, "part-00000.jsonl.gz"), 0o000);
      expect((await verifyLocation(folder)).failures).toEqual(["READER_FORBIDDEN"]);
    },
  );
});

describe("an expectation", () => {
  const encode = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));

  it("is a materialization, what ship prints, or a status by revision", async () => {
    const { materialization, obligation, revision } = delivered;
    const nowUs = 1_773_100_000_000_000n;
    for (const document of [
      materialization,
      { materialization, revision, obligation, manifest: delivered.manifest, location: folder },
      { view: "revision", revision, materializations: [materialization], receipts: [] },
    ]) {
      const report = await verifyLocation(folder, {
        expect: readExpectation(encode(document)),
        require: "MATCHES_LEDGER",
        nowUs,
      });
      expect(report).toMatchObject({ ok: true, level: "MATCHES_LEDGER", satisfied: true });
      expect(report.not_checked).toEqual([]);
    }
  });

  it("less than the required level does not satisfy", async () => {
    const report = await verifyLocation(folder, { require: "MATCHES_LEDGER" });
    expect(report).toMatchObject({ ok: true, level: "SELF_CONSISTENT", satisfied: false });
    expect(satisfies(report, undefined)).toBe(true);
  });

  it("that is none is refused with every problem and no value", async () => {
    const codes = (value: unknown): readonly (string | undefined)[] => {
      try {
        readExpectation(typeof value === "string" ? new TextEncoder().encode(value) : encode(value));
      } catch (error) {
        if (error instanceof WaybillError && error.kind === "usage") return error.problems.map(({ field }) => field);
        throw error;
      }
      return ["accepted"];
    };
    const { materialization, revision } = delivered;
    expect(codes("{")).toEqual(["expect"]);
    expect(codes("[]")).toEqual(["expect"]);
    expect(codes({})).toEqual(["expect"]);
    expect(codes('{"revision":1,"revision":2}')).toEqual(["expect"]);
    expect(codes({ materializations: [materialization, materialization] })).toEqual(["expect.materializations"]);
    expect(codes({ materialization: { ...materialization, status: 1 } })).toEqual(["expect.materialization"]);
    const verification = { ...materialization.verification, row_count: "12", control_totals: [{}] };
    const resource = { ...materialization.resource, expires_at: "soon", manifest_sha256: "abc" };
    expect(codes({ ...materialization, resource, verification })).toEqual([
      "expect.materialization.resource.expires_at",
      "expect.materialization.resource.manifest_sha256",
      "expect.materialization.verification.row_count",
      "expect.materialization.verification.control_totals",
    ]);
    expect(codes({ revision: { ...revision, period: null } })).toEqual(["expect.revision.period"]);
  });
});
