import { nodeHasher } from "../core/digest/node-hasher.ts";
import { decompressStream } from "../core/encoding/compression.ts";
import { externalSort } from "./external-sort.ts";
import { readParquetInChild } from "./parquet-process.ts";
import type { VerifierPlatform } from "./platform.ts";
import { rowSchemaCheck } from "./row-schema-check.ts";

export interface NodePlatformOptions {
  /** Temporary files (Parquet objects while they are read, sort runs). Created if missing; nothing stays in it. */
  readonly spoolDirectory: string;
  /** See ParquetProcessOptions. */
  readonly maxSilenceMs?: number;
  /** See ExternalSortOptions. */
  readonly sortMemoryBytes?: number;
}

/** The verifier's platform on Node. */
export function nodePlatform(options: NodePlatformOptions): VerifierPlatform {
  const { maxSilenceMs, sortMemoryBytes, spoolDirectory } = options;
  return {
    hasher: nodeHasher,
    decompress: decompressStream,
    parquetRows: (bytes, profile, limits) =>
      readParquetInChild(bytes, profile, limits, {
        spoolDirectory,
        ...(maxSilenceMs === undefined ? {} : { maxSilenceMs }),
      }),
    sort: (rows) =>
      externalSort(rows, {
        directory: spoolDirectory,
        ...(sortMemoryBytes === undefined ? {} : { memoryBytes: sortMemoryBytes }),
      }),
    schemaCheck: rowSchemaCheck,
  };
}
