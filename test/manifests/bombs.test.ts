import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { compressStream } from "../../core/encoding/compression.ts";
import { deliverRaw, memoryPlace, rowsOf, verifyFiles } from "./delivered-folder.ts";

const megabyte = 1024 * 1024;

async function zstd(bytes: Uint8Array): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of compressStream("zstd", one(bytes))) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function* one(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}

describe("a bomb", () => {
  const zeros = new Uint8Array(64 * megabyte);
  const bombs = { gzip: async () => gzipSync(zeros), zstd: async () => zstd(zeros) } as const;

  it.each(["gzip", "zstd"] as const)("of %s ends in RESOURCE_TOO_LARGE at its bounds", async (compression) => {
    const bytes = await bombs[compression]();
    expect(bytes.length).toBeLessThan(megabyte / 2);
    const delivered = deliverRaw(
      { "bomb.jsonl": { bytes, rows: 1 } },
      { rows: rowsOf(1), encoding: { format: "jsonl", compression } },
    );
    for (const limits of [{ maxDecodedBytes: 4 * megabyte }, { maxRatio: 20 }, { maxRecordBytes: megabyte }]) {
      const place = memoryPlace(delivered.files, { chunkBytes: 65_536 });
      const report = await verifyFiles(delivered.files, { place, limits });
      expect(report.findings.map(({ code, object_ref }) => [code, object_ref]).slice(0, 1)).toEqual([
        ["RESOURCE_TOO_LARGE", "bomb.jsonl"],
      ]);
      // The stored bytes are hashed to their end all the same.
      expect(report.physical_checksums).toHaveLength(1);
      expect(report).toMatchObject({ ok: false, row_count: null });
    }
  });

  it("with the default limits is stopped long before it is unpacked", async () => {
    const bytes = gzipSync(Buffer.alloc(512 * megabyte));
    const delivered = deliverRaw(
      { "bomb.csv": { bytes, rows: 1 } },
      { rows: rowsOf(1), encoding: { format: "csv", compression: "gzip" } },
    );
    const report = await verifyFiles(delivered.files, { place: memoryPlace(delivered.files, { chunkBytes: 65_536 }) });
    expect(report.findings.map(({ code }) => code)).toEqual(["RESOURCE_TOO_LARGE"]);
  });

  it("of rows ends at the limit of rows, per object and over all objects", async () => {
    const lines = "{}\n".repeat(1000);
    const delivered = deliverRaw(
      { "a.jsonl": { bytes: lines, rows: 1000 }, "b.jsonl": { bytes: lines, rows: 1000 } },
      { rows: rowsOf(1) },
    );
    const refs = async (limits: object): Promise<readonly (string | null)[]> =>
      (await verifyFiles(delivered.files, { limits })).findings
        .filter(({ code }) => code === "RESOURCE_TOO_LARGE")
        .map(({ object_ref }) => object_ref);
    expect(await refs({ maxRows: 999 })).toEqual(["a.jsonl", "b.jsonl"]);
    expect(await refs({ maxTotalRows: 1500 })).toEqual(["b.jsonl"]);
    expect(await refs({ maxRows: 1000, maxTotalRows: 2000 })).toEqual([]);
  });

  it("an object that is not what its compression says is named as such", async () => {
    const good = gzipSync("{}\n");
    for (const bytes of [Buffer.from("{}\n"), good.subarray(0, -3), Buffer.concat([good, good])]) {
      const delivered = deliverRaw(
        { "a.jsonl.gz": { bytes, rows: 1 } },
        { rows: rowsOf(1), encoding: { compression: "gzip" } },
      );
      const report = await verifyFiles(delivered.files);
      expect(report.findings.map(({ code, object_ref }) => [code, object_ref])).toEqual(
        expect.arrayContaining([["UNSUPPORTED_COMPRESSION", "a.jsonl.gz"]]),
      );
    }
  });
});
