import { describe, expect, it } from "vitest";
import { sha256Hex } from "../../core/digest/node-hasher.ts";
import { DeliveryError } from "../../core/errors.ts";
import { defaultVerifyLimits } from "../../manifests/verifier.ts";
import {
  type Delivered,
  deliver,
  deliverRaw,
  documents,
  memoryPlace,
  rowOf,
  rowsOf,
  verifyFiles,
  withFiles,
} from "./delivered-folder.ts";

const given = {
  reportDefinition: documents.reportDefinition.bytes,
  rowSchema: documents.rowSchema.bytes,
  canonicalization: documents.canonicalization.bytes,
};

describe("a sound delivery", () => {
  it.each([
    ["jsonl", "none"],
    ["jsonl", "gzip"],
    ["jsonl", "zstd"],
    ["csv", "none"],
    ["csv", "gzip"],
    ["csv", "zstd"],
    ["parquet", "none"],
    ["parquet", "snappy"],
    ["parquet", "gzip"],
    ["parquet", "zstd"],
  ] as const)("%s with %s proves itself from its folder alone, each object read once", async (format, compression) => {
    const delivered = await deliver({ rows: rowsOf(50), encoding: { format, compression, rowsPerPart: 20 } });
    const place = memoryPlace(delivered.files);
    const report = await verifyFiles(delivered.files, { place });
    expect(report.findings).toEqual([]);
    expect(report).toMatchObject({
      ok: true,
      level: "SELF_CONSISTENT",
      row_count: 50,
      control_totals: delivered.revision.control_totals,
      canonical_digest: delivered.revision.canonical_content_digest?.value,
      manifest_sha256: delivered.materialization.resource?.manifest_sha256,
      physical_checksums: delivered.materialization.verification?.physical_checksums,
    });
    expect(place.opened.sort()).toEqual([...delivered.files.keys()].sort());
    expect(place.finished.sort()).toEqual([...delivered.files.keys()].sort());
  });

  it.each(["jsonl", "csv", "parquet"] as const)(
    "B13: a zero-row %s delivery has zero totals at their scale",
    async (format) => {
      const delivered = await deliver({ rows: [], encoding: { format } });
      const report = await verifyFiles(delivered.files);
      expect(report).toMatchObject({ ok: true, row_count: 0 });
      expect(report.control_totals?.map((total) => total.value)).toEqual(["0", "0.00"]);
      expect(report.canonical_digest).toBe(sha256Hex("[]"));
      const [entry] = delivered.manifest.files;
      const size = {
        jsonl: 0,
        csv: "media_buy_id,package_id,note,impressions,spend\r\n".length,
        parquet: entry?.size_bytes,
      }[format];
      expect(entry?.size_bytes).toBe(size);
    },
  );

  it("one revision has one canonical digest, whatever the encoding and the split", async () => {
    const digests = new Set<string | null>();
    for (const format of ["jsonl", "csv", "parquet"] as const) {
      const delivered = await deliver({
        rows: rowsOf(31),
        encoding: { format, rowsPerPart: format === "csv" ? 4 : 31 },
      });
      digests.add((await verifyFiles(delivered.files)).canonical_digest);
    }
    expect(digests.size).toBe(1);
  });

  it("says what it did not check", async () => {
    const { not_checked } = await verifyFiles((await deliver({ rows: rowsOf(3) })).files);
    expect(not_checked).toEqual([
      "manifest hash against the ledger: no materialization record was given",
      "row count, control totals and canonical digest against the ledger: no record was given",
    ]);
  });

  it("unlisted objects are ignored and never opened", async () => {
    const delivered = await deliver({ rows: rowsOf(5) });
    const place = memoryPlace(withFiles(delivered, { "part-99999.jsonl": "not json", "notes.txt": "?" }));
    expect((await verifyFiles(delivered.files, { place })).ok).toBe(true);
    expect(place.opened).not.toContain("part-99999.jsonl");
  });

  it("reports progress by objects, bytes and rows", async () => {
    const delivered = await deliver({ rows: rowsOf(30), encoding: { rowsPerPart: 10 } });
    const seen: string[] = [];
    await verifyFiles(delivered.files, {
      onProgress: ({ objectsDone, objects, bytesRead, totalBytes }) =>
        seen.push(`${objectsDone}/${objects} ${bytesRead <= totalBytes}`),
    });
    expect(seen[0]).toBe("0/3 true");
    expect(seen.at(-1)).toBe("3/3 true");
  });

  it("an abort ends it and is thrown unchanged", async () => {
    const delivered = await deliver({ rows: rowsOf(30) });
    const controller = new AbortController();
    const running = verifyFiles(delivered.files, { signal: controller.signal, onProgress: () => controller.abort() });
    await expect(running).rejects.toMatchObject({ name: "AbortError" });
  });
});

describe("against the ledger", () => {
  const expectOf = ({ materialization, obligation, revision }: Delivered) => ({
    materialization,
    obligation,
    revision,
  });
  const nowUs = 1_773_000_000_000_000n;

  it("reaches MATCHES_LEDGER with a materialization record and leaves nothing unchecked", async () => {
    const delivered = await deliver({ rows: rowsOf(20), encoding: { compression: "gzip" } });
    const { materialization } = delivered;
    expect(await verifyFiles(delivered.files, { expect: { materialization }, nowUs })).toMatchObject({
      ok: true,
      level: "MATCHES_LEDGER",
      not_checked: [],
    });
    expect((await verifyFiles(delivered.files, { expect: expectOf(delivered), nowUs })).level).toBe("MATCHES_LEDGER");
  });

  it("a revision without the manifest's hash is not enough for MATCHES_LEDGER", async () => {
    const delivered = await deliver({ rows: rowsOf(20) });
    const { revision } = delivered;
    expect((await verifyFiles(delivered.files, { expect: { revision } })).level).toBe("SELF_CONSISTENT");
    const manifestSha256 = delivered.materialization.resource?.manifest_sha256 ?? "";
    const withHash = { revision, manifestSha256: manifestSha256.toUpperCase() };
    expect((await verifyFiles(delivered.files, { expect: withHash })).level).toBe("MATCHES_LEDGER");
  });

  it("another manifest is MANIFEST_DIGEST_MISMATCH before any object is opened", async () => {
    const delivered = await deliver({ rows: rowsOf(5) });
    const other = await deliver({ rows: rowsOf(6) });
    const place = memoryPlace(other.files);
    const report = await verifyFiles(other.files, {
      place,
      expect: { materialization: delivered.materialization },
      nowUs,
    });
    expect(report.findings.map(({ code }) => code)).toEqual(["MANIFEST_DIGEST_MISMATCH"]);
    expect(report).toMatchObject({ ok: false, level: null, retryable: false });
    expect(place.opened).toEqual(["manifest.json"]);
  });

  it("ids of another delivery are named one by one, and the objects are still read", async () => {
    const delivered = await deliver({ rows: rowsOf(5) });
    const ids = {
      reporting_revision_id: "rev_9",
      reporting_materialization_id: "mat_9",
      reporting_obligation_id: "obl_9",
    };
    const report = await verifyFiles(delivered.files, { expect: { ids } });
    expect(report.findings.map(({ code, column, expected, actual }) => [code, column, expected, actual])).toEqual([
      ["MANIFEST_IDENTITY_MISMATCH", "reporting_revision_id", "rev_9", "rev_1"],
      ["MANIFEST_IDENTITY_MISMATCH", "reporting_obligation_id", "obl_9", "obl_1"],
      ["MANIFEST_IDENTITY_MISMATCH", "reporting_materialization_id", "mat_9", "mat_1"],
    ]);
    expect(report.row_count).toBe(5);
  });

  it("a period that is the same instant in other words is another period, as for the official readers", async () => {
    const delivered = await deliver({ rows: rowsOf(5) });
    const { revision } = delivered;
    const period = { ...revision.period, end: "2026-03-09T00:00:00.000Z" };
    const report = await verifyFiles(delivered.files, { expect: { revision: { ...revision, period } } });
    expect(report.findings).toContainEqual(
      expect.objectContaining({ code: "MANIFEST_IDENTITY_MISMATCH", column: "period.end" }),
    );
  });

  it("records that disagree, are not terminal, are no manifest or expired are named before anything is read", async () => {
    const delivered = await deliver({ rows: rowsOf(5) });
    const { materialization, obligation, revision } = delivered;
    const codes = async (expectation: Parameters<typeof verifyFiles>[1]): Promise<string[]> =>
      (await verifyFiles(delivered.files, { nowUs, ...expectation })).findings.map(({ code }) => code);
    const other = { ...materialization, delivery_config_version: 2 };
    expect(await codes({ expect: { materialization: other, obligation, revision } })).toEqual([
      "MATERIALIZATION_SCOPE_MISMATCH",
    ]);
    expect(await codes({ expect: { materialization: { ...materialization, status: "pending" } } })).toEqual([
      "MATERIALIZATION_NOT_READY",
    ]);
    expect(await codes({ expect: { materialization }, nowUs: 1_900_000_000_000_000n })).toEqual(["RESOURCE_EXPIRED"]);
    expect(await codes({ expect: { materialization: { ...materialization, method: "dataset_share" } } })).toEqual([
      "MATERIALIZATION_SCOPE_MISMATCH",
    ]);
  });

  it("sha512 checksums are computed when a record has them", async () => {
    const delivered = await deliver({ rows: rowsOf(5) });
    const { materialization } = delivered;
    const verification = materialization.verification;
    if (verification === undefined) throw new Error("the sample has a verification");
    const promised = (value: string) => ({
      ...materialization,
      verification: {
        ...verification,
        physical_checksums: [{ object_ref: "part-00000.jsonl", algorithm: "sha512" as const, value }],
      },
    });
    const report = await verifyFiles(delivered.files, {
      expect: { materialization: promised("a".repeat(128)) },
      nowUs,
    });
    expect(report.findings.map(({ code, object_ref }) => [code, object_ref])).toEqual([
      ["OBJECT_DIGEST_MISMATCH", "part-00000.jsonl"],
    ]);
  });

  it("a total that differs is named with both values, by the record that says so", async () => {
    const delivered = await deliver({ rows: rowsOf(5) });
    const [impressions, spend] = delivered.revision.control_totals;
    if (impressions === undefined || spend === undefined) throw new Error("the sample has two totals");
    const revision = { ...delivered.revision, control_totals: [impressions, { ...spend, value: "10.250" }] };
    const report = await verifyFiles(delivered.files, { sideFiles: "ignore", documents: given, expect: { revision } });
    expect(report.findings).toEqual([
      {
        code: "CONTROL_TOTAL_MISMATCH",
        message: "the control total spend recomputed from the rows is not what the revision says",
        object_ref: null,
        row: null,
        key: null,
        column: "spend",
        expected: "10.250",
        actual: "10.25",
      },
    ]);
  });

  it("the revision's rows are not those delivered: count, totals and digest are all named", async () => {
    const delivered = await deliver({ rows: rowsOf(5) });
    const { revision } = await deliver({ rows: rowsOf(6) });
    const report = await verifyFiles(delivered.files, { expect: { revision } });
    expect(report.findings.map(({ code, column }) => [code, column])).toEqual([
      ["SIDE_FILE_MISMATCH", null],
      ["ROW_COUNT_MISMATCH", null],
      ["CONTROL_TOTAL_MISMATCH", "impressions"],
      ["CONTROL_TOTAL_MISMATCH", "spend"],
      ["CANONICAL_DIGEST_MISMATCH", null],
    ]);
  });

  it("a profile without digest leaves it out and says so", async () => {
    const delivered = await deliver({ rows: rowsOf(5) });
    const report = await verifyFiles(delivered.files, { profile: "manifest_checksums" });
    expect(report).toMatchObject({ ok: true, canonical_digest: null, row_count: 5 });
    expect(report.not_checked).toContain("canonical digest: the verification profile manifest_checksums leaves it out");
  });
});

describe("rows", () => {
  const line = (row: object): string => `${JSON.stringify(row)}\n`;

  it("a broken rule is named by object, row, key, column, rule and value, and the next row is judged too", async () => {
    const rows = rowsOf(4);
    const text = [
      line(rows[0] ?? {}),
      line({ ...rows[1], spend: "1.5" }),
      line({ ...rows[2], impressions: 7, extra: true }),
      line(rows[3] ?? {}),
    ].join("");
    const delivered = deliverRaw({ "rows.jsonl": { bytes: text, rows: 4 } }, { rows });
    const report = await verifyFiles(delivered.files);
    expect(report.findings.map(({ message: _, ...finding }) => Object.values(finding))).toEqual([
      ["ROW_SCHEMA_INVALID", "rows.jsonl", 2, '["buy-0","pkg-000003"]', "spend", "decimal-string(18,2)", '"1.5"'],
      [
        "ROW_SCHEMA_INVALID",
        "rows.jsonl",
        3,
        '["buy-1","pkg-000001"]',
        "impressions",
        "integer-string of 64 bits",
        "7",
      ],
      ["ROW_SCHEMA_INVALID", "rows.jsonl", 3, '["buy-1","pkg-000001"]', "extra", null, "true"],
      ["CONTROL_TOTAL_MISMATCH", null, null, null, "impressions", "9007199254740999", "9007199254741005"],
      ["CONTROL_TOTAL_MISMATCH", null, null, null, "spend", "6.20", "4.65"],
    ]);
    expect(report).toMatchObject({ row_count: 4, canonical_digest: null });
  });

  it("text that is no JSON, a repeated member and a huge line are named by row", async () => {
    const rows = rowsOf(1);
    const text = `${line(rows[0] ?? {})}{"a":1,"a":2}\n{broken\n[1]\n${"x".repeat(5000)}\n`;
    const delivered = deliverRaw({ "rows.jsonl": { bytes: text, rows: 5 } }, { rows: rowsOf(1) });
    const report = await verifyFiles(delivered.files, { limits: { maxRecordBytes: 4096 } });
    expect(report.findings.map(({ code, row }) => [code, row])).toEqual(
      expect.arrayContaining([
        ["ROW_SCHEMA_INVALID", 2],
        ["ROW_SCHEMA_INVALID", 3],
        ["ROW_SCHEMA_INVALID", 4],
        ["RESOURCE_TOO_LARGE", 5],
      ]),
    );
  });

  it("a cell that changed in a forged object shows in total and digest", async () => {
    const rows = rowsOf(4);
    const forged = rows.map((row, index) => (index === 2 ? { ...row, spend: "99.05" } : row));
    const delivered = deliverRaw({ "rows.jsonl": { bytes: forged.map(line).join(""), rows: 4 } }, { rows });
    const report = await verifyFiles(delivered.files);
    expect(report.findings.map(({ code, column }) => [code, column])).toEqual([
      ["CONTROL_TOTAL_MISMATCH", "spend"],
      ["CANONICAL_DIGEST_MISMATCH", null],
    ]);
    expect(report.findings[0]?.message).toContain("the manifest and revision.json say");
  });

  it("a row too many or too few is named for its object", async () => {
    const rows = rowsOf(4);
    const delivered = deliverRaw(
      {
        "a.jsonl": { bytes: rows.slice(0, 2).map(line).join(""), rows: 3 },
        "b.jsonl": { bytes: rows.slice(2).map(line).join(""), rows: 1 },
      },
      { rows },
    );
    const report = await verifyFiles(delivered.files);
    expect(
      report.findings.map(({ code, object_ref, expected, actual }) => [code, object_ref, expected, actual]),
    ).toEqual([
      ["ROW_COUNT_MISMATCH", "a.jsonl", "3", "2"],
      ["ROW_COUNT_MISMATCH", "b.jsonl", "1", "2"],
    ]);
  });

  it("unsorted rows have the digest of the sorted ones; rows with one key have none", async () => {
    const rows = rowsOf(9);
    const shuffled = [4, 8, 0, 1, 7, 3, 2, 6, 5].map((index) => rows[index] ?? {});
    const objects = {
      "b.jsonl": { bytes: shuffled.slice(0, 5).map(line).join(""), rows: 5 },
      "a.jsonl": { bytes: shuffled.slice(5).map(line).join(""), rows: 4 },
    };
    const delivered = deliverRaw(objects, { rows });
    const place = memoryPlace(delivered.files);
    expect(await verifyFiles(delivered.files, { place })).toMatchObject({ ok: true, row_count: 9 });
    expect(place.opened.filter((name) => name.endsWith(".jsonl"))).toEqual(["b.jsonl", "a.jsonl"]);
    const twice = deliverRaw({ "a.jsonl": { bytes: [...rows, rows[4] ?? {}].map(line).join(""), rows: 10 } }, { rows });
    const report = await verifyFiles(twice.files);
    expect(report.findings).toContainEqual(
      expect.objectContaining({ code: "ROW_SCHEMA_INVALID", key: '["buy-1","pkg-000004"]' }),
    );
    expect(report.canonical_digest).toBeNull();
    const adjacent = deliverRaw(
      { "a.jsonl": { bytes: [rows[0] ?? {}, rows[0] ?? {}].map(line).join(""), rows: 2 } },
      { rows: rows.slice(0, 1) },
    );
    expect((await verifyFiles(adjacent.files)).findings).toContainEqual(
      expect.objectContaining({
        code: "ROW_SCHEMA_INVALID",
        object_ref: "a.jsonl",
        row: 2,
        message: "two rows have the same key",
      }),
    );
  });

  it("B33: records end at byte 0x0A alone", async () => {
    const rows = [rowOf(0, { note: "a\u2028b\u2029c\u0085d\r" }), rowOf(3, { note: "d" })];
    const delivered = deliverRaw({ "rows.jsonl": { bytes: rows.map((row) => line(row)).join(""), rows: 2 } }, { rows });
    expect(await verifyFiles(delivered.files)).toMatchObject({ ok: true, row_count: 2 });
  });

  it("B18: composed and decomposed text are different values with different digests", async () => {
    const digestOf = async (note: string) =>
      (await verifyFiles((await deliver({ rows: [rowOf(0, { note })] })).files)).canonical_digest;
    expect(await digestOf("Caf\u00e9")).not.toBe(await digestOf("Cafe\u0301"));
  });
});

describe("documents", () => {
  it("without them rows are still counted and everything else is named as not checked", async () => {
    for (const format of ["jsonl", "csv"] as const) {
      const delivered = await deliver({ rows: rowsOf(7), encoding: { format, compression: "gzip" } });
      const names = ["definition.json", "row-schema.json", "canonicalization.json", "SHA256SUMS"];
      const bare = withFiles(delivered, Object.fromEntries(names.map((name) => [name, undefined])));
      const report = await verifyFiles(bare);
      expect(report).toMatchObject({ ok: true, row_count: 7, control_totals: null, canonical_digest: null });
      expect(report.not_checked.join("\n")).toMatch(/documents of the definition are not at hand/);
    }
  });

  it("given documents make side files unnecessary, and none is opened when they are to be ignored", async () => {
    const delivered = await deliver({ rows: rowsOf(7) });
    const place = memoryPlace(delivered.files);
    const { materialization } = delivered;
    const report = await verifyFiles(delivered.files, {
      place,
      documents: given,
      sideFiles: "ignore",
      expect: { materialization },
    });
    expect(report.level).toBe("MATCHES_LEDGER");
    expect(place.opened).toEqual(["manifest.json", "part-00000.jsonl"]);
  });

  it("documents other than the pinned ones are not used", async () => {
    const delivered = await deliver({ rows: rowsOf(7) });
    const expectation = { pins: { schema_sha256: "0".repeat(64) } };
    const report = await verifyFiles(delivered.files, { expect: expectation });
    expect(report.findings.map(({ code, object_ref }) => [code, object_ref])).toEqual([
      ["SIDE_FILE_MISMATCH", "row-schema.json"],
    ]);
    expect(report.control_totals).toBeNull();
  });

  it("a contract whose golden vectors do not come out is not trusted, but rows are still judged and summed", async () => {
    const text = new TextDecoder().decode(documents.canonicalization.bytes);
    const bytes = new TextEncoder().encode(text.replace(sha256Hex("[]"), "0".repeat(64)));
    const lying = {
      ...documents,
      canonicalization: { ...documents.canonicalization, bytes, sha256: sha256Hex(bytes) },
    };
    const delivered = await deliver({ rows: rowsOf(7), documents: lying });
    const report = await verifyFiles(delivered.files);
    expect(report.findings.map(({ code }) => code)).toEqual(["INVALID_CONTRACT"]);
    expect(report).toMatchObject({
      canonical_digest: null,
      row_count: 7,
      control_totals: delivered.revision.control_totals,
    });
  });

  it("a contract for another row schema is not trusted", async () => {
    const text = new TextDecoder().decode(documents.canonicalization.bytes);
    const bytes = new TextEncoder().encode(text.replace(documents.rowSchema.sha256, "0".repeat(64)));
    const other = {
      ...documents,
      canonicalization: { ...documents.canonicalization, bytes, sha256: sha256Hex(bytes) },
    };
    const report = await verifyFiles((await deliver({ rows: rowsOf(2), documents: other })).files);
    expect(report.findings.map(({ code, column }) => [code, column])).toEqual([["INVALID_CONTRACT", "schema_sha256"]]);
  });

  it("a format that is not read here is hashed and named", async () => {
    const delivered = await deliver({ rows: rowsOf(7) });
    const avro = new TextDecoder()
      .decode(delivered.files.get("manifest.json"))
      .replace('"format":"jsonl"', '"format":"avro"');
    const report = await verifyFiles(withFiles(delivered, { "manifest.json": avro, SHA256SUMS: undefined }));
    expect(report.findings.map(({ code, actual }) => [code, actual])).toEqual([["UNSUPPORTED_FORMAT", "avro"]]);
    expect(report.physical_checksums).toHaveLength(1);
    const snappy = new TextDecoder()
      .decode(delivered.files.get("manifest.json"))
      .replace('"compression":"none"', '"compression":"snappy"');
    expect(
      (await verifyFiles(withFiles(delivered, { "manifest.json": snappy, SHA256SUMS: undefined }))).findings[0]?.code,
    ).toBe("UNSUPPORTED_COMPRESSION");
  });
});

describe("a place", () => {
  it("where nothing is yet, or that cannot be reached, may be tried again", async () => {
    const delivered = await deliver({ rows: rowsOf(7) });
    const nothing = await verifyFiles(withFiles(delivered, { "manifest.json": undefined }));
    expect(nothing).toMatchObject({ ok: false, retryable: true, failures: [], manifest: null });
    expect(nothing.findings.map(({ code }) => code)).toEqual(["RESOURCE_NOT_READY"]);
    const failing = (name: string) =>
      name === "part-00000.jsonl" ? new DeliveryError("DESTINATION_UNREACHABLE") : undefined;
    const broken = await verifyFiles(delivered.files, { place: memoryPlace(delivered.files, { failing }) });
    expect(broken).toMatchObject({ retryable: true, failures: ["DESTINATION_UNREACHABLE"], row_count: null });
    expect(broken.findings.map(({ code, object_ref }) => [code, object_ref])).toEqual([
      ["RESOURCE_READ_FAILED", "part-00000.jsonl"],
    ]);
  });

  it("that lacks an object after a valid manifest will not get better", async () => {
    const delivered = await deliver({ rows: rowsOf(7) });
    const report = await verifyFiles(withFiles(delivered, { "part-00000.jsonl": undefined }));
    expect(report).toMatchObject({ retryable: false });
  });

  it("whose stream breaks in the middle is a failed read, not other rows", async () => {
    const delivered = await deliver({ rows: rowsOf(7), encoding: { compression: "gzip" } });
    const place = memoryPlace(delivered.files);
    const cut = {
      ...place,
      open: async (name: string) => {
        const chunks = await place.open(name);
        return name.startsWith("part-") && chunks !== undefined ? breaking(chunks) : chunks;
      },
    };
    const report = await verifyFiles(delivered.files, { place: cut });
    expect(report.findings.map(({ code }) => code)).toEqual(["RESOURCE_READ_FAILED"]);
    expect(report).toMatchObject({ retryable: true, failures: ["DESTINATION_THROTTLED"] });
  });
});

describe("findings", () => {
  it("are bounded, and many bad rows do not hide a damaged object or a wrong total", async () => {
    const rows = rowsOf(300);
    const bad = rows.map((row) => `${JSON.stringify({ ...row, note: 1 })}\n`).join("");
    const delivered = deliverRaw(
      { "a.jsonl": { bytes: bad, rows: 300 }, "b.jsonl": { bytes: "x", rows: 0 } },
      { rows },
    );
    const report = await verifyFiles(withFiles(delivered, { "b.jsonl": "y" }), { limits: { maxFindings: 20 } });
    expect(report.findings).toHaveLength(20);
    expect(report.findings_omitted).toBe(281);
    expect(report.findings[0]?.code).toBe("OBJECT_DIGEST_MISMATCH");
    expect(defaultVerifyLimits.maxFindings).toBe(1000);
  });
});

async function* breaking(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  for await (const chunk of chunks) {
    yield chunk;
    throw new DeliveryError("DESTINATION_THROTTLED");
  }
}
