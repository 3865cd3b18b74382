import type { Encoding } from "./encoding.ts";

const formatSuffix = { jsonl: ".jsonl", csv: ".csv", parquet: ".parquet" } as const;
const compressionSuffix = { none: "", gzip: ".gz", zstd: ".zst", snappy: "" } as const;

/** Bare name of a data object: `part-00000.jsonl.gz`, `part-00001.parquet`. Parquet compresses inside, so its name does not say how. */
export function partName(index: number, encoding: Encoding): string {
  const compression = encoding.format === "parquet" ? "" : compressionSuffix[encoding.compression];
  return `part-${String(index).padStart(5, "0")}${formatSuffix[encoding.format]}${compression}`;
}
