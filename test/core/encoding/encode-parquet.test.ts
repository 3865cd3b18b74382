import fc from "fast-check";
import { encodeParts } from "../../../core/encoding/encode-parts.ts";
import { parquetRecords } from "../../../core/rows/parquet-rows.ts";
import type { LogicalRow } from "../../../core/rows/profile.ts";
import { type EncodeUnderTest, encoderConformance } from "../../conformance/encoder.ts";
import { writeRetainedFiles } from "../../conformance/retained-files.ts";

const names = fc.oneof(
  fc.stringMatching(/^[a-z_][a-z0-9_]{0,11}$/),
  fc.constantFrom("Größe", 'c"d', "a,b", "select", "e'f", "file name", "m0", "x.y"),
);

for (const compression of ["none", "snappy", "gzip", "zstd"] as const) {
  const encode: EncodeUnderTest = async ({ rows, rowsPerPart, scratch, ...run }) => {
    const all: LogicalRow[] = [];
    for await (const batch of rows) all.push(...batch);
    async function* again(): AsyncIterable<readonly LogicalRow[]> {
      for (let at = 0; at < all.length; at += 5) yield all.slice(at, at + 5);
    }
    const retainedFiles = await writeRetainedFiles(all, run.profile, scratch);
    const encoding = { format: "parquet", compression, rowsPerPart } as const;
    return encodeParts({ ...run, rows: again(), retainedFiles, encoding });
  };
  encoderConformance(`parquet ${compression}`, encode, (part, profile) => parquetRecords(part.path, profile), {
    names,
    runs: 15,
  });
}
