import type { Problem } from "../errors.ts";
import type { FileCompression, FileFormat } from "../model/records.ts";
import type { LogicalRow } from "../rows/profile.ts";

/** How a revision becomes files. Two equal Encodings under one fingerprint give equal bytes. */
export interface Encoding {
  readonly format: FileFormat;
  /** snappy is Parquet only. Parquet compresses inside the file; jsonl and csv are one gzip member or zstd stream per object. */
  readonly compression: FileCompression;
  /** gzip 1..9, default 5; zstd 1..19, default 3. Ignored by none, snappy and the gzip inside Parquet. */
  readonly level?: number;
  /** Rows per part, at least 1. The last part may be shorter; a zero-row revision is one part. */
  readonly rowsPerPart: number;
}

/** One finished data object on local disk. */
export interface EncodedPart {
  /** Bare file name: `part-00000.jsonl.gz`. */
  readonly name: string;
  readonly path: string;
  readonly sizeBytes: number;
  /** Lower-case hex over the bytes as stored. */
  readonly sha256: string;
  /** Counted from emitted records, then proved by decoding the part again. */
  readonly rowCount: number;
}

/** A decoded record or what is wrong with it. Decoders go on after a bad record where framing allows. */
export type DecodedRecord =
  | { readonly number: number; readonly row: LogicalRow; readonly problem?: undefined }
  | { readonly number: number; readonly row?: undefined; readonly problem: Problem };

/** Bounds for bytes that others made. Every default is in `defaultDecodeLimits`. */
export interface DecodeLimits {
  /** Longest single record, bytes. */
  readonly maxRecordBytes: number;
  /** Nesting of arrays and objects inside one record. */
  readonly maxDepth: number;
  /** Decoded bytes of one object. */
  readonly maxDecodedBytes: number;
  /** Decoded bytes per stored byte, checked once 1 MiB has been decoded. */
  readonly maxRatio: number;
  readonly maxRows: number;
}

export const defaultDecodeLimits: DecodeLimits = {
  maxRecordBytes: 16 * 1024 * 1024,
  maxDepth: 64,
  maxDecodedBytes: 64 * 1024 ** 3,
  maxRatio: 1_000,
  maxRows: 1_000_000_000,
};
