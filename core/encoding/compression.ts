import type { FileCompression } from "../model/records.ts";
import { DecodeMeter } from "./decode-meter.ts";
import type { DecodeLimits } from "./encoding.ts";
import { compressGzip, decompressGzip } from "./gzip.ts";
import { compressZstd, decompressZstd } from "./zstd.ts";

/** What a whole object can be compressed with; snappy exists inside Parquet only. */
export type StreamCompression = Exclude<FileCompression, "snappy">;

export const defaultGzipLevel = 5;
export const defaultZstdLevel = 3;

/**
 * One gzip member or zstd frames over all chunks; `none` passes them on. The bytes depend on content, level and library alone, not
 * on how the chunks are cut. Level: gzip 1..9, default 5; zstd 1..19, default 3.
 */
export function compressStream(
  compression: StreamCompression,
  chunks: AsyncIterable<Uint8Array>,
  level?: number,
): AsyncIterable<Uint8Array> {
  switch (compression) {
    case "none":
      return chunks;
    case "gzip":
      return compressGzip(chunks, level ?? defaultGzipLevel);
    case "zstd":
      return compressZstd(chunks, level ?? defaultZstdLevel);
  }
}

/**
 * The decoded bytes of an object, in bounded memory. Throws WaybillError RESOURCE_TOO_LARGE past `maxDecodedBytes` or `maxRatio`,
 * INVALID_STREAM when the bytes are damaged, cut short, or followed by others: one gzip member, or zstd frames and nothing else.
 */
export function decompressStream(
  compression: StreamCompression,
  chunks: AsyncIterable<Uint8Array>,
  limits: DecodeLimits,
): AsyncIterable<Uint8Array> {
  const meter = new DecodeMeter(limits);
  switch (compression) {
    case "none":
      return counted(chunks, meter);
    case "gzip":
      return decompressGzip(chunks, meter);
    case "zstd":
      return decompressZstd(chunks, meter);
  }
}

async function* counted(chunks: AsyncIterable<Uint8Array>, meter: DecodeMeter): AsyncIterable<Uint8Array> {
  for await (const chunk of chunks) {
    meter.storedBytes += chunk.length;
    meter.addDecoded(chunk.length);
    yield chunk;
  }
}
