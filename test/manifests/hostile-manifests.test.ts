import { describe, expect, it } from "vitest";
import { resolveObjectRef } from "../../manifests/object-ref.ts";
import { type Delivered, deliver, memoryPlace, rowsOf, verifyFiles, withFiles } from "./delivered-folder.ts";

interface Entry {
  object_ref: string;
  size_bytes: number;
  row_count: number;
  sha256: string;
}
interface Raw {
  [member: string]: unknown;
  files: Entry[];
  row_count: number;
  total_size_bytes: number;
}

/** The delivery with its manifest changed by `change`; without SHA256SUMS, which would give every change away. */
function withManifest(delivered: Delivered, change: (manifest: Raw) => void): Map<string, Uint8Array> {
  const manifest: Raw = structuredClone({ ...delivered.manifest }) as unknown as Raw;
  change(manifest);
  return withFiles(delivered, { "manifest.json": JSON.stringify(manifest), SHA256SUMS: undefined });
}

const sample = () => deliver({ rows: rowsOf(4), encoding: { rowsPerPart: 2 } });
const first = ({ files }: Raw): Entry => {
  const [entry] = files;
  if (entry === undefined) throw new Error("the sample has two files");
  return entry;
};

describe("object references", () => {
  it.each([
    "../part-00000.jsonl",
    "a/../../part-00000.jsonl",
    "/etc/passwd",
    "//host/share",
    "file:///etc/passwd",
    "https://attacker.example/x.jsonl",
    "s3://bucket/part-00000.jsonl",
    "part-00000.jsonl?versionId=1",
    "part-00000.jsonl#x",
    "user@host",
    "%2e%2e/part-00000.jsonl",
    "..\\part-00000.jsonl",
    "C:\\part-00000.jsonl",
    ".",
    "..",
    ".hidden",
    "-rf",
    "a\u0000b",
    "a\nb",
    "Caf\u00e9.jsonl",
    "\u202Elnosj.trap",
    "m_2/part-00000.jsonl",
    "part-00000.jsonl/",
    "r_1/m_1/",
    "./part-00000.jsonl",
    "r_1//part-00000.jsonl",
  ])("%j is UNSAFE_RESOURCE and nothing is opened for it", async (object_ref) => {
    const files = withManifest(await sample(), (manifest) => {
      first(manifest).object_ref = object_ref;
    });
    const place = memoryPlace(files);
    const report = await verifyFiles(files, { place });
    expect(report.findings.map(({ code, object_ref: ref }) => [code, ref])).toEqual([["UNSAFE_RESOURCE", object_ref]]);
    expect(place.opened.filter((name) => name.startsWith("part-"))).toEqual(["part-00001.jsonl"]);
  });

  it("a key relative to the destination leads into the manifest's own folder, and only there", async () => {
    const files = withManifest(await sample(), (manifest) => {
      for (const entry of manifest.files) entry.object_ref = `r_1/m_1/${entry.object_ref}`;
    });
    expect(await verifyFiles(files)).toMatchObject({ ok: true, row_count: 4 });
    expect(resolveObjectRef("reports/r_1/m_1/a.jsonl", "/reports/r_1/m_1")).toBe("a.jsonl");
    expect(resolveObjectRef("m_1/a.jsonl", "file:///reports/r_1/m_1/")).toBe("a.jsonl");
    expect(resolveObjectRef("x/reports/r_1/m_1/a.jsonl", "/reports/r_1/m_1")).toBeUndefined();
    expect(resolveObjectRef("r_1/a.jsonl", "/reports/r_1/m_1")).toBeUndefined();
    expect(resolveObjectRef("../m_1/a.jsonl", "/reports/../m_1")).toBeUndefined();
    expect(resolveObjectRef("./a.jsonl", "/reports/.")).toBeUndefined();
    expect(resolveObjectRef("1/a.jsonl", "/reports/r_1/m_1")).toBeUndefined();
  });

  it("the same object twice, names that differ by case and the manifest itself are refused", async () => {
    const delivered = await sample();
    const codes = async (change: (manifest: Raw) => void): Promise<readonly string[]> =>
      (await verifyFiles(withManifest(delivered, change))).findings.map(({ code }) => code);
    const rename = (name: string) => (manifest: Raw) => {
      first(manifest).object_ref = name;
    };
    expect(await codes(rename("part-00001.jsonl"))).toContain("MANIFEST_IDENTITY_MISMATCH");
    expect(await codes(rename("PART-00001.jsonl"))).toContain("UNSAFE_RESOURCE");
    expect(await codes(rename("r_1/m_1/part-00001.jsonl"))).toContain("UNSAFE_RESOURCE");
    expect(await codes(rename("Manifest.json"))).toEqual(["UNSAFE_RESOURCE"]);
  });
});

describe("numbers", () => {
  it("sums that disagree are named, also beyond what a double can add", async () => {
    const delivered = await sample();
    const report = await verifyFiles(
      withManifest(delivered, (manifest) => {
        manifest.row_count = 5;
        manifest.total_size_bytes += 1;
      }),
    );
    expect(report.findings.map(({ code, column }) => [code, column])).toEqual([
      ["MANIFEST_IDENTITY_MISMATCH", "total_size_bytes"],
      ["MANIFEST_IDENTITY_MISMATCH", "row_count"],
    ]);
    const huge = await verifyFiles(
      withManifest(delivered, (manifest) => {
        manifest.files.push({ ...first(manifest), object_ref: "b.jsonl", row_count: 2 ** 53 - 1 });
        manifest.row_count = 2 ** 53 - 1;
      }),
    );
    expect(huge.findings).toContainEqual(
      expect.objectContaining({ column: "row_count", code: "MANIFEST_IDENTITY_MISMATCH" }),
    );
  });

  it("a promise of more objects or bytes than the limits is refused before anything is read", async () => {
    const delivered = await sample();
    const many = withManifest(delivered, (manifest) => {
      const entry = first(manifest);
      manifest.files = Array.from({ length: 30_000 }, (_, index) => ({
        ...entry,
        object_ref: `p${index}`,
        row_count: 0,
      }));
    });
    const place = memoryPlace(many);
    const report = await verifyFiles(many, { place });
    expect(report.findings.map(({ code }) => code)).toContain("RESOURCE_TOO_LARGE");
    expect(place.opened.filter((name) => name.startsWith("p"))).toEqual([]);
    const large = withManifest(delivered, (manifest) => {
      first(manifest).size_bytes = 2 ** 52;
    });
    expect((await verifyFiles(large)).findings).toContainEqual(expect.objectContaining({ code: "RESOURCE_TOO_LARGE" }));
  });

  it("a manifest beyond its own limit is not parsed", async () => {
    const delivered = await sample();
    const report = await verifyFiles(delivered.files, { limits: { maxManifestBytes: 50 } });
    expect(report.findings.map(({ code, object_ref }) => [code, object_ref])).toEqual([
      ["RESOURCE_TOO_LARGE", "manifest.json"],
    ]);
  });
});

describe("texts that are no manifest", () => {
  it.each([
    ["nothing", ""],
    ["deep nesting", "[".repeat(200_000)],
    ["null", "null"],
    ["a list", "[]"],
    ["HTML", "<html>404</html>"],
    ["half a manifest", '{"manifest_version":"1.0",'],
  ])("%s is INVALID_MANIFEST", async (_, text) => {
    const report = await verifyFiles(withFiles(await sample(), { "manifest.json": text }));
    expect(new Set(report.findings.map(({ code }) => code))).toEqual(new Set(["INVALID_MANIFEST"]));
    expect(report).toMatchObject({ ok: false, manifest: null, retryable: false });
  });

  it("B35: a repeated member is refused before any rule, though the last value would be right", async () => {
    const delivered = await sample();
    const text = new TextDecoder().decode(delivered.files.get("manifest.json"));
    const twice = text.replace('"complete":true', '"complete":false,"complete":true');
    const report = await verifyFiles(withFiles(delivered, { "manifest.json": twice }));
    expect(report.findings.map(({ code }) => code)).toEqual(["INVALID_MANIFEST"]);
  });
});
