import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson } from "../../core/canonical-json.ts";
import { WaybillError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import { buildManifest, type ManifestFacts, parseManifest, readManifest } from "../../manifests/manifest.ts";
import { type OfficialCheck, officialSchema } from "../servers/official-schemas.ts";
import { describePeer, requireAdcp } from "../servers/peers.ts";

const facts: ManifestFacts = {
  reporting_revision_id: "rev_1",
  reporting_obligation_id: "obl_1",
  reporting_materialization_id: "mat_1",
  period: { start: "2026-03-08T05:00:00Z", end: "2026-03-09T04:00:00Z", source_timezone: "America/New_York" },
  format: "jsonl",
  compression: "gzip",
  row_count: 3,
  control_totals: [{ name: "spend", value: "8.00", value_type: "decimal", unit: "USD" }],
  created_at: "2026-03-09T05:00:00Z",
};
const files = [
  { object_ref: "part-00000.jsonl.gz", size_bytes: 10, sha256: "a".repeat(64), row_count: 2 },
  { object_ref: "part-00001.jsonl.gz", size_bytes: 7, sha256: "b".repeat(64), row_count: 1 },
];
const encode = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));
const base = (): Record<string, unknown> => ({ ...buildManifest(facts, files).manifest });

describe("a built manifest", () => {
  it("is canonical JSON with exactly the official members, its sums and no white space", () => {
    const { manifest, bytes } = buildManifest(facts, files);
    expect(manifest.total_size_bytes).toBe(17);
    expect(new TextDecoder().decode(bytes)).toBe(canonicalJson(manifest));
    expect(parseManifest(bytes)).toEqual(manifest);
  });

  it("B10 B12: lists exactly the objects it was given and refuses counts that are not their sum", () => {
    expect(buildManifest(facts, files).manifest.files.map((file) => file.object_ref)).toEqual([
      "part-00000.jsonl.gz",
      "part-00001.jsonl.gz",
    ]);
    expect(() => buildManifest(facts, files.slice(0, 1))).toThrow(/row_count is not the sum/);
  });

  it("B13: a zero-row manifest still lists one object of zero bytes", () => {
    const empty = { object_ref: "part-00000.jsonl", size_bytes: 0, sha256: "e".repeat(64), row_count: 0 };
    const zero = { ...facts, row_count: 0, compression: "none" as const };
    expect(buildManifest(zero, [empty]).manifest.total_size_bytes).toBe(0);
    expect(() => buildManifest(zero, [])).toThrow(/files must not be empty/);
  });

  it("drops nothing and adds nothing, whatever else the facts carry", () => {
    const extra = { ...facts, surprise: true };
    expect(buildManifest(extra, files).bytes).toEqual(buildManifest(facts, files).bytes);
  });

  it.each(["../part", "/etc/passwd", "s3://b/k", "a/b", ".hidden", "", "x".repeat(201), "Café.jsonl"])(
    "refuses the object name %j",
    (object_ref) => {
      expect(() => buildManifest(facts, [{ ...files[0], object_ref, row_count: 3 } as never])).toThrow(WaybillError);
    },
  );

  it("refuses names that differ by case only", () => {
    const twins = ["a.jsonl", "A.jsonl"].map((object_ref, index) => ({ ...files[index], object_ref }) as never);
    expect(() => buildManifest(facts, twins)).toThrow(/by case only/);
  });
});

describe("reading a manifest", () => {
  const problemsOf = (bytes: Uint8Array): string =>
    readManifest(bytes)
      .problems.map((one) => one.message)
      .join("\n");
  const text = JSON.stringify(base());
  const raw = (changed: string): Uint8Array => new TextEncoder().encode(changed);

  it("B35: a member that stands twice is refused, whichever value comes last", () => {
    const twice = text.replace('"complete":true', '"complete":false,"complete":true');
    expect(problemsOf(raw(twice))).toMatch(/repeated/);
    expect(problemsOf(raw(text.replace('"row_count":3', '"row_count":3,"row_count":3')))).toMatch(/repeated/);
  });

  it("B36: nested duplicates and duplicates by escape are refused", () => {
    expect(problemsOf(raw(text.replace('"name":"spend"', '"name":"spend","name":"spend"')))).toMatch(/repeated/);
    expect(problemsOf(raw(text.replace('"name":"spend"', '"name":"spend","\\u006eame":"spend"')))).toMatch(/repeated/);
  });

  it("names every problem at once", () => {
    const broken = { ...base(), complete: false, row_count: -1, format: "xlsx", surprise: 1, period: undefined };
    const { problems } = readManifest(encode(broken));
    expect(problems.map((problem) => problem.field).sort()).toEqual(
      ["complete", "document", "format", "period", "row_count"].sort(),
    );
  });

  it.each([
    ["a number beyond 2^53", '"row_count":3', '"row_count":9007199254740993'],
    ["a number beyond every double", '"row_count":3', '"row_count":1e400'],
    ["a fraction", '"row_count":3', '"row_count":3.5'],
    ["minus zero", '"row_count":3', '"row_count":-0'],
    ["a count as text", '"row_count":3', '"row_count":"3"'],
    ["an exponent total", '"value":"8.00"', '"value":"8e0"'],
    ["a negative zero total", '"value":"8.00"', '"value":"-0.00"'],
    ["a total with leading zeros", '"value":"8.00"', '"value":"08.00"'],
    ["an id with a slash", '"mat_1"', '"mat/1"'],
    ["an instant without offset", '"2026-03-09T05:00:00Z"', '"2026-03-09T05:00:00"'],
    ["another version", '"manifest_version":"1.0"', '"manifest_version":"1.1"'],
    ["a short hash", "a".repeat(64), "a".repeat(63)],
    ["a byte order mark", "{", "\uFEFF{"],
    ["a second value", '"control_totals"', '"control_totals":[]} {"control_totals"'],
    ["__proto__ as a member", '"row_count":3', '"row_count":3,"__proto__":{}'],
    ["toString as a member", '"row_count":3', '"row_count":3,"toString":{}'],
  ])("refuses %s", (_, from, to) => {
    expect(text).toContain(from);
    expect(readManifest(raw(text.replace(from, to))).manifest).toBeUndefined();
  });

  it("refuses deep nesting, invalid UTF-8 and a huge list without running out of anything", () => {
    expect(problemsOf(raw("[".repeat(100_000)))).toMatch(/deeper/);
    expect(problemsOf(Uint8Array.from([0x7b, 0xff, 0x7d]))).toMatch(/UTF-8/);
    expect(readManifest(encode(Array.from({ length: 100_000 }, () => 0))).manifest).toBeUndefined();
  });

  it("never throws for any bytes or any JSON", () => {
    fc.assert(fc.property(fc.uint8Array(), (bytes) => readManifest(bytes) !== undefined));
    fc.assert(fc.property(fc.json(), (json) => readManifest(raw(json)) !== undefined));
  });

  it("reads formats of the contract that we do not write, but does not take them for ours", () => {
    const avro = encode({ ...base(), format: "avro" });
    expect(readManifest(avro).manifest?.format).toBe("avro");
    expect(() => parseManifest(avro)).toThrow(/jsonl, csv or parquet/);
  });
});

describePeer("adcp", "the official manifest schema", () => {
  const check = (): OfficialCheck => officialSchema("core/reporting-file-manifest");

  it("accepts what is built", () => {
    expect(check()(base())).toEqual([]);
  });

  it("accepts a manifest exactly when we do, one changed member at a time", () => {
    const official = check();
    const strange = [null, true, 0, 1.5, -1, "", "x", "1.0", "2026-03-09T05:00:00Z", [], {}, "x".repeat(1025)];
    const paths = Object.keys(base()).flatMap((name) => [[name], ...(name === "files" ? nestedFilePaths : [])]);
    for (const path of paths) {
      for (const value of strange) {
        const changed = withValue(base() as JsonObject, path, value);
        // The schema cannot say that names of control totals are unique or that -0 is none; neither is reached here.
        expect(
          readManifest(encode(changed)).manifest !== undefined,
          `${path.join(".")} = ${JSON.stringify(value)}`,
        ).toBe(official(changed).length === 0);
      }
    }
  });

  it("the golden manifest is one", () => {
    const golden = readFileSync(join(requireAdcp().vectors, "reporting-reconciliation", "manifest.json"));
    expect(parseManifest(golden).row_count).toBe(2);
  });
});

const nestedFilePaths = ["object_ref", "size_bytes", "sha256", "row_count", "native_version_ref", "partition"].map(
  (name) => ["files", "0", name],
);

function withValue(root: JsonObject, path: readonly string[], value: unknown): unknown {
  const copy: unknown = structuredClone(root);
  let at = copy as Record<string, unknown>;
  for (const name of path.slice(0, -1)) at = at[name] as Record<string, unknown>;
  at[path.at(-1) ?? ""] = value;
  return copy;
}
