import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nodePlatform } from "../../manifests/node-platform.ts";
import { deliver, rowsOf, verifyFiles, withFiles } from "./delivered-folder.ts";

/** Text needs no spool folder, which would cost more than the verification. */
const platform = nodePlatform({ spoolDirectory: "/nowhere" });
const small = () => deliver({ rows: rowsOf(4), encoding: { rowsPerPart: 2 } });

describe("a delivery of which one byte changed", () => {
  it.each([
    ["jsonl", "none"],
    ["csv", "gzip"],
    ["csv", "zstd"],
  ] as const)("%s with %s: every byte, one at a time, is caught and its file is named", async (format, compression) => {
    const delivered = await deliver({ rows: rowsOf(3), encoding: { format, compression, rowsPerPart: 2 } });
    for (const [name, bytes] of delivered.files) {
      // The side files are the same whatever the encoding.
      if (format === "csv" && !name.startsWith("part-")) continue;
      for (let at = 0; at < bytes.length; at++) {
        const changed = Uint8Array.from(bytes);
        // Bit 5 turns a letter of a hash into the same letter in upper case.
        changed[at] = (changed[at] ?? 0) ^ (at % 2 === 0 ? 0x20 : 0x01);
        const report = await verifyFiles(withFiles(delivered, { [name]: changed }), { platform });
        if (report.ok) throw new Error(`byte ${at} of ${name} may change unseen`);
        const isNamed = report.findings.some(
          ({ object_ref, message }) => object_ref === name || message.includes(name),
        );
        if (!isNamed && name !== "manifest.json")
          throw new Error(`byte ${at} of ${name}: ${JSON.stringify(report.findings)}`);
      }
    }
  });

  it("parquet: any byte changed in any way is caught", async () => {
    const delivered = await deliver({ rows: rowsOf(3), encoding: { format: "parquet", compression: "zstd" } });
    const bytes = delivered.files.get("part-00000.parquet") ?? new Uint8Array();
    for (let at = 0; at < bytes.length; at += 401) {
      const changed = Uint8Array.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 0xff;
      const report = await verifyFiles(withFiles(delivered, { "part-00000.parquet": changed }));
      expect(report.findings.map(({ code }) => code)).toEqual(["OBJECT_DIGEST_MISMATCH"]);
    }
  });

  it("any mutation of any files is caught, or is none", async () => {
    const delivered = await small();
    const names = [...delivered.files.keys()];
    const mutation = fc.record({
      name: fc.constantFrom(...names),
      at: fc.nat(2000),
      xor: fc.integer({ min: 1, max: 255 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(mutation, { minLength: 1, maxLength: 4 }), async (mutations) => {
        const files = new Map([...delivered.files].map(([name, bytes]) => [name, Uint8Array.from(bytes)]));
        for (const { name, at, xor } of mutations) {
          const bytes = files.get(name) ?? new Uint8Array();
          bytes[at % bytes.length] = (bytes[at % bytes.length] ?? 0) ^ xor;
        }
        const isSame = names.every(
          (name) => Buffer.compare(files.get(name) ?? empty, delivered.files.get(name) ?? empty) === 0,
        );
        expect((await verifyFiles(files, { platform })).ok).toBe(isSame);
      }),
      { numRuns: 300 },
    );
  });
});

const empty = new Uint8Array();

describe("objects", () => {
  it("B10: a missing, a truncated and a lengthened object are each named, and none hides another", async () => {
    const delivered = await deliver({ rows: rowsOf(8), encoding: { rowsPerPart: 2 } });
    const bytes = (index: number): Uint8Array => delivered.files.get(`part-0000${index}.jsonl`) ?? empty;
    const report = await verifyFiles(
      withFiles(delivered, {
        "part-00000.jsonl": undefined,
        "part-00001.jsonl": bytes(1).slice(0, -1),
        "part-00002.jsonl": Buffer.concat([bytes(2), Buffer.from("\n")]),
      }),
    );
    expect(
      report.findings.map(({ code, object_ref, expected, actual }) => [code, object_ref, expected, actual]),
    ).toEqual([
      ["RESOURCE_READ_FAILED", "part-00000.jsonl", null, null],
      ["OBJECT_SIZE_MISMATCH", "part-00001.jsonl", String(bytes(1).length), String(bytes(1).length - 1)],
      ["OBJECT_SIZE_MISMATCH", "part-00002.jsonl", String(bytes(2).length), `more than ${bytes(2).length}`],
    ]);
    expect(report).toMatchObject({ ok: false, row_count: null, control_totals: null, canonical_digest: null });
    expect(report.physical_checksums.map(({ object_ref }) => object_ref)).toEqual(["part-00003.jsonl"]);
  });

  it("swapped objects are both named", async () => {
    const delivered = await small();
    const [first, second] = [delivered.files.get("part-00000.jsonl"), delivered.files.get("part-00001.jsonl")];
    const report = await verifyFiles(withFiles(delivered, { "part-00000.jsonl": second, "part-00001.jsonl": first }));
    expect(report.findings.map(({ object_ref }) => object_ref)).toEqual(["part-00000.jsonl", "part-00001.jsonl"]);
  });

  it("B15: a hash is compared with bytes that were read; equal size proves nothing", async () => {
    const delivered = await small();
    const bytes = delivered.files.get("part-00000.jsonl") ?? empty;
    const report = await verifyFiles(withFiles(delivered, { "part-00000.jsonl": Uint8Array.from(bytes).reverse() }));
    expect(report.findings.map(({ code }) => code)).toEqual(["OBJECT_DIGEST_MISMATCH"]);
    expect(report.findings[0]?.actual).toMatch(/^[0-9a-f]{64}$/);
  });

  it("B11: parts of an earlier attempt in the same folder are ignored", async () => {
    const earlier = await deliver({ rows: rowsOf(9), encoding: { rowsPerPart: 3 } });
    const delivered = await small();
    const stale = { "part-00002.jsonl": earlier.files.get("part-00002.jsonl") };
    expect(await verifyFiles(withFiles(delivered, stale))).toMatchObject({ ok: true, row_count: 4 });
  });

  it("an endless object is left after the promised size", async () => {
    const delivered = await small();
    const place = {
      location: "/endless",
      open: async (name: string) => {
        const bytes = delivered.files.get(name);
        if (name.startsWith("part-")) return endless();
        return bytes === undefined ? undefined : chunks(bytes);
      },
    };
    const report = await verifyFiles(delivered.files, { place });
    expect(report.findings.map(({ code }) => code)).toEqual(["OBJECT_SIZE_MISMATCH", "OBJECT_SIZE_MISMATCH"]);
  });
});

describe("side files", () => {
  it("SHA256SUMS that is incomplete, lists a stranger or is no list is named", async () => {
    const delivered = await small();
    const text = new TextDecoder().decode(delivered.files.get("SHA256SUMS"));
    const messages = async (sums: string): Promise<readonly string[]> =>
      (await verifyFiles(withFiles(delivered, { SHA256SUMS: sums }))).findings.map(({ message }) => message);
    expect(await messages(text.split("\n").slice(1).join("\n"))).toEqual([
      "SHA256SUMS does not list canonicalization.json",
    ]);
    expect(await messages(`${text}${"a".repeat(64)}  part-77777.jsonl\n`)).toEqual([
      "SHA256SUMS lists part-77777.jsonl, which does not belong to the delivery or is gone",
    ]);
    expect(await messages(`${text}${text}`)).toEqual(['SHA256SUMS is not a list of "<sha256>  <name>" lines']);
    expect(await messages("")).toHaveLength(1);
  });

  it("a side file that is gone is noticed through SHA256SUMS", async () => {
    const report = await verifyFiles(withFiles(await small(), { "row-schema.json": undefined }));
    expect(report.findings.map(({ code, object_ref }) => [code, object_ref])).toEqual([
      ["SIDE_FILE_MISMATCH", "SHA256SUMS"],
    ]);
  });

  it("revision.json of another revision is named", async () => {
    const delivered = await small();
    const other = await deliver({ rows: rowsOf(4), revisionId: "rev_2" });
    const side = other.files.get("revision.json");
    const report = await verifyFiles(withFiles(delivered, { "revision.json": side, SHA256SUMS: undefined }));
    expect(report.findings).toEqual([
      expect.objectContaining({
        code: "SIDE_FILE_MISMATCH",
        column: "reporting_revision_id",
        expected: "rev_1",
        actual: "rev_2",
      }),
    ]);
  });

  it("revision.json is compared with the ledger's revision, member by member", async () => {
    const delivered = await small();
    const revision = { ...delivered.revision, observed_at: "2026-03-09T04:00:01Z" };
    const report = await verifyFiles(delivered.files, { expect: { revision } });
    expect(report.findings.map(({ message }) => message)).toEqual([
      "revision.json is not the revision of the ledger; it differs in observed_at",
    ]);
  });

  it("side files that are too large are not read", async () => {
    const delivered = await small();
    const report = await verifyFiles(delivered.files, { limits: { maxSideFileBytes: 100 } });
    expect(
      report.findings.filter(({ code }) => code === "RESOURCE_TOO_LARGE").map(({ object_ref }) => object_ref),
    ).toEqual(["revision.json", "definition.json", "row-schema.json", "canonicalization.json", "SHA256SUMS"]);
  });
});

async function* chunks(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}

async function* endless(): AsyncIterable<Uint8Array> {
  for (;;) yield new Uint8Array(1024);
}
