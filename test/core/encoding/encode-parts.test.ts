import { createReadStream } from "node:fs";
import { decompressStream } from "../../../core/encoding/compression.ts";
import { decodeCsv } from "../../../core/encoding/csv.ts";
import { encodeParts } from "../../../core/encoding/encode-parts.ts";
import { defaultDecodeLimits as limits } from "../../../core/encoding/encoding.ts";
import { decodeJsonl } from "../../../core/encoding/jsonl.ts";
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
