import { describe, expect, it } from "vitest";
import { deliver, memoryPlace, rowsOf, verifyFiles } from "./delivered-folder.ts";

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
  ] as const)(
    "%s with %s proves itself from its folder alone, each object opened once",
    async (format, compression) => {
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
      expect(new Set(place.finished).size).toBe(place.finished.length);
    },
  );
});
