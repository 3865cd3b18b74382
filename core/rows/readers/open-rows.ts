import { createReadStream, createWriteStream } from "node:fs";
import { rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { decompressStream } from "../../encoding/compression.ts";
import { decodeCsv } from "../../encoding/csv.ts";
import { type DecodedRecord, type DecodeLimits, defaultDecodeLimits } from "../../encoding/encoding.ts";
import { decodeJsonl } from "../../encoding/jsonl.ts";
import { WaybillError } from "../../errors.ts";
import type { FileFormat } from "../../model/records.ts";
import { parquetRecords } from "../parquet-rows.ts";
import type { RowProfile } from "../profile.ts";
import { makeSpoolFolder, spoolError } from "../spool-folder.ts";

/** A file by path, or bytes such as standard input. */
export type RowSource = { readonly path: string } | { readonly bytes: AsyncIterable<Uint8Array> };

export interface OpenRowsOptions {
  readonly profile: RowProfile;
  /** Default: from the file name. Required for bytes. */
  readonly format?: FileFormat;
  /** Around the whole file. Default: from the file name, none for bytes. */
  readonly compression?: "none" | "gzip" | "zstd";
  /** Default: defaultDecodeLimits. */
  readonly limits?: DecodeLimits;
  /** For Parquet that must be unpacked first. Default: the system's temporary folder. */
  readonly spoolDirectory?: string;
  readonly signal?: AbortSignal;
}

const formats: { readonly [extension: string]: FileFormat } = {
  jsonl: "jsonl",
  ndjson: "jsonl",
  csv: "csv",
  parquet: "parquet",
};

const compressions: { readonly [extension: string]: "gzip" | "zstd" } = { gz: "gzip", zst: "zstd" };

/** Format and compression that a file name tells: `rows.jsonl.gz`. Undefined parts are not told. */
export function rowFileType(name: string): {
  readonly format?: FileFormat;
  readonly compression: "none" | "gzip" | "zstd";
} {
  const words = name.toLowerCase().split(".");
  const compression = compressions[words.at(-1) ?? ""];
  const format = formats[words.at(compression === undefined ? -1 : -2) ?? ""];
  return { ...(format === undefined ? {} : { format }), compression: compression ?? "none" };
}

/**
 * Rows of a source in their order, as logical records; a bad one is a record with its problem. Nothing is validated against the
 * profile beyond what decoding needs. WaybillError `usage` when the source cannot be opened or its format is unknown, `content` when
 * it is damaged or passes a limit.
 */
export async function* openRows(source: RowSource, options: OpenRowsOptions): AsyncIterable<readonly DecodedRecord[]> {
  const told = "path" in source ? rowFileType(source.path) : { compression: "none" as const };
  const format = options.format ?? told.format;
  const compression = options.compression ?? told.compression;
  if (format === undefined) {
    const message = "the format of the rows is not plain from the file name; say jsonl, csv or parquet";
    throw new WaybillError("usage", [{ code: "FORMAT_UNKNOWN", message, field: "format" }]);
  }
  const limits = options.limits ?? defaultDecodeLimits;
  switch (format) {
    case "jsonl":
      yield* decodeJsonl(decompressStream(compression, sourceBytes(source), limits), limits);
      return;
    case "csv":
      yield* decodeCsv(decompressStream(compression, sourceBytes(source), limits), options.profile, limits);
      return;
    case "parquet":
      yield* openParquet(source, compression, options, limits);
      return;
  }
}

async function* sourceBytes(source: RowSource): AsyncIterable<Uint8Array> {
  if ("bytes" in source) {
    yield* source.bytes;
    return;
  }
  try {
    yield* createReadStream(source.path, { highWaterMark: 256 * 1024 });
  } catch (error) {
    throw openError(error);
  }
}

/** Parquet is read from its end, so a stream or a compressed file becomes a file of ours first. */
async function* openParquet(
  source: RowSource,
  compression: "none" | "gzip" | "zstd",
  options: OpenRowsOptions,
  limits: DecodeLimits,
): AsyncIterable<readonly DecodedRecord[]> {
  const { profile, signal } = options;
  const spool = options.spoolDirectory ?? tmpdir();
  const read = { spoolDirectory: spool, ...(signal === undefined ? {} : { signal }) };
  if ("path" in source && compression === "none") {
    yield* readable(source.path, profile, read, limits);
    return;
  }
  const directory = await makeSpoolFolder(spool, "waybill-input-");
  try {
    const path = join(directory, "rows.parquet");
    await writeFile(path, decompressStream(compression, sourceBytes(source), limits), signal);
    yield* readable(path, profile, read, limits);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function writeFile(
  path: string,
  bytes: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    await pipeline(
      Readable.from(bytes, { objectMode: false }),
      createWriteStream(path),
      ...(signal ? [{ signal }] : []),
    );
  } catch (error) {
    throw spoolError(error);
  }
}

async function* readable(
  path: string,
  profile: RowProfile,
  read: { readonly spoolDirectory: string; readonly signal?: AbortSignal },
  limits: DecodeLimits,
): AsyncIterable<readonly DecodedRecord[]> {
  let rows = 0;
  try {
    if ((await stat(path)).isDirectory()) throw folderInsteadOfFile();
    for await (const records of parquetRecords(path, profile, read)) {
      rows += records.length;
      if (rows > limits.maxRows) {
        const limit = `${limits.maxRows} rows`;
        throw new WaybillError("content", [{ code: "RESOURCE_TOO_LARGE", message: `more rows than ${limit}`, limit }]);
      }
      yield records;
    }
  } catch (error) {
    throw parquetError(error);
  }
}

function folderInsteadOfFile(): Error {
  return Object.assign(new Error("a folder stands where a file is expected"), { code: "EISDIR" });
}

/** DuckDB's words quote paths and values, so they stay in the cause. */
function parquetError(error: unknown): unknown {
  if (error instanceof WaybillError || !(error instanceof Error)) return error;
  if ("code" in error) return openError(error);
  if (error.name === "AbortError") return error;
  const message = "the Parquet file is damaged or uses something that cannot be read";
  return new WaybillError("content", [{ code: "INVALID_PARQUET", message }], { cause: error });
}

function openError(error: unknown): unknown {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const what: { readonly [code: string]: string } = {
    ENOENT: "does not exist",
    EACCES: "may not be read by this user",
    EPERM: "may not be read by this user",
    EISDIR: "is a folder",
    ENOTDIR: "lies below a file",
  };
  const reason = what[code];
  if (reason === undefined) return error;
  const message = `the rows file ${reason}`;
  return new WaybillError("usage", [{ code: "ROWS_UNREADABLE", message, field: "rows" }], { cause: error });
}
