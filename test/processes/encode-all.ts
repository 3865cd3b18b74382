import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { encodeParts } from "../../core/encoding/encode-parts.ts";
import { encoderFingerprint } from "../../core/encoding/fingerprint.ts";
import type { LogicalRow } from "../../core/rows/profile.ts";
import { hardRows } from "../conformance/hard-rows.ts";
import { writeRetainedFiles } from "../conformance/retained-files.ts";

/** Encodes the hard rows in every encoding into the folder given, and prints fingerprint and hashes of each as one JSON object. */
async function main(directory: string): Promise<void> {
  const { profile, rows } = hardRows;
  const retainedFiles = await writeRetainedFiles(rows, profile, directory);
  const hashes: { [fingerprint: string]: readonly string[] } = {};
  async function* batches(): AsyncIterable<readonly LogicalRow[]> {
    yield rows;
  }
  for (const format of ["jsonl", "csv", "parquet"] as const) {
    for (const compression of ["none", "gzip", "zstd", "snappy"] as const) {
      if (compression === "snappy" && format !== "parquet") continue;
      const encoding = { format, compression, rowsPerPart: 20 };
      const parts = await encodeParts({
        rows: batches(),
        retainedFiles,
        profile,
        encoding,
        directory: await mkdtemp(join(directory, "parts-")),
        signal: new AbortController().signal,
      });
      hashes[encoderFingerprint(encoding)] = parts.map((part) => part.sha256);
    }
  }
  console.log(JSON.stringify(hashes));
}

await main(process.argv[2] ?? "");
