import { createReadStream } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { decompressStream } from "../../../core/encoding/compression.ts";
import { decodeCsv } from "../../../core/encoding/csv.ts";
import { encodeParts } from "../../../core/encoding/encode-parts.ts";
import { type Encoding, defaultDecodeLimits as limits } from "../../../core/encoding/encoding.ts";
import { decodeJsonl } from "../../../core/encoding/jsonl.ts";
import type { LogicalRow, RowProfile } from "../../../core/rows/profile.ts";
import { type DecodeUnderTest, type EncodeUnderTest, encoderConformance } from "../../conformance/encoder.ts";

for (const compression of ["none", "gzip", "zstd"] as const) {
  for (const format of ["jsonl", "csv"] as const) {
    const encode: EncodeUnderTest = ({ rowsPerPart, ...run }) =>
      encodeParts({ ...run, retainedFiles: [], encoding: { format, compression, rowsPerPart } });
    const decode: DecodeUnderTest = (part, profile) => {
      const bytes = decompressStream(compression, createReadStream(part.path), limits);
      return format === "jsonl" ? decodeJsonl(bytes, limits) : decodeCsv(bytes, profile, limits);
    };
    encoderConformance(`${format} ${compression}`, encode, decode);
  }
}

describe("an encoding", () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "waybill-encode-parts-"));
  });
  afterEach(() => rm(directory, { recursive: true }));

  const profile: RowProfile = {
    members: [{ name: "id", type: { kind: "string" }, missing: "forbidden" }],
    primaryKeys: ["id"],
    controlTotals: [],
  };

  function encode(encoding: Encoding, ...ids: readonly string[]) {
    async function* rows(): AsyncIterable<readonly LogicalRow[]> {
      yield ids.map((id) => ({ id }));
    }
    const { signal } = new AbortController();
    return encodeParts({ rows: rows(), retainedFiles: [], profile, encoding, directory, signal });
  }

  it.each(["jsonl", "csv"] as const)(
    "refuses a %s row that no reader with default limits would take",
    async (format) => {
      const long = "x".repeat(limits.maxRecordBytes);
      const error = await encode({ format, compression: "none", rowsPerPart: 9 }, "a", long).catch((e: unknown) => e);
      expect(error).toMatchObject({ code: "ROW_NOT_ENCODABLE", cause: { problems: [{ row: 2 }] } });
      expect(await readdir(directory)).toEqual([]);
    },
  );

  it.each([
    { format: "jsonl", compression: "snappy", rowsPerPart: 1 },
    { format: "csv", compression: "gzip", level: 10, rowsPerPart: 1 },
    { format: "parquet", compression: "zstd", level: 20, rowsPerPart: 1 },
    { format: "jsonl", compression: "none", rowsPerPart: 0 },
    { format: "jsonl", compression: "none", rowsPerPart: 1.5 },
  ] as const)("that does not exist is CONFIGURATION_INVALID: %o", async (encoding) => {
    await expect(encode(encoding, "a")).rejects.toMatchObject({ code: "CONFIGURATION_INVALID" });
  });

  it("takes effect with its level", async () => {
    const ids = Array.from({ length: 3_000 }, (_, n) => `${String(n).padStart(6, "0")} ${(n * 7_919) % 10_007}`);
    const [fast] = await encode({ format: "jsonl", compression: "gzip", level: 1, rowsPerPart: 9_000 }, ...ids);
    const [small] = await encode({ format: "jsonl", compression: "gzip", level: 9, rowsPerPart: 9_000 }, ...ids);
    expect(small?.sizeBytes).toBeLessThan(fast?.sizeBytes ?? 0);
  });
});
