import { describe, expect, it } from "vitest";
import type { Encoding } from "../../../core/encoding/encoding.ts";
import { encoderFingerprint } from "../../../core/encoding/fingerprint.ts";

function fingerprint(encoding: Partial<Encoding>): string {
  return encoderFingerprint({ format: "jsonl", compression: "gzip", rowsPerPart: 1_000, ...encoding });
}

describe("encoder fingerprint", () => {
  it("stays the same for the same encoder, and does not name the split", () => {
    expect(fingerprint({})).toBe(fingerprint({ rowsPerPart: 7 }));
    expect(fingerprint({})).toMatch(/^waybill-1\/jsonl\/gzip-5-[0-9a-f]{16}$/);
  });

  it("takes a default level for what it is", () => {
    expect(fingerprint({ level: 5 })).toBe(fingerprint({}));
    expect(fingerprint({ compression: "zstd", level: 3 })).toBe(fingerprint({ compression: "zstd" }));
    const parquet = { format: "parquet", compression: "zstd" } as const;
    expect(fingerprint({ ...parquet, level: 3 })).toBe(fingerprint(parquet));
  });

  it("differs wherever bytes differ", () => {
    const all = [
      fingerprint({}),
      fingerprint({ level: 9 }),
      fingerprint({ compression: "none" }),
      fingerprint({ compression: "zstd" }),
      fingerprint({ compression: "zstd", level: 4 }),
      fingerprint({ format: "csv" }),
      fingerprint({ format: "parquet" }),
      fingerprint({ format: "parquet", compression: "zstd" }),
      fingerprint({ format: "parquet", compression: "zstd", level: 9 }),
      fingerprint({ format: "parquet", compression: "snappy" }),
    ];
    expect(new Set(all).size).toBe(all.length);
  });

  it("does not count a level where it has no effect", () => {
    expect(fingerprint({ compression: "none", level: 9 })).toBe(fingerprint({ compression: "none" }));
    expect(fingerprint({ format: "parquet", level: 9 })).toBe(fingerprint({ format: "parquet" }));
  });
});
