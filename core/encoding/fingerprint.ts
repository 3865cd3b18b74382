import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { deflateRawSync } from "node:zlib";
import { Encoder } from "@toondepauw/node-zstd";
import { defaultGzipLevel, defaultZstdLevel } from "./compression.ts";
import type { Encoding } from "./encoding.ts";

/** Raised whenever our own serializers, framing or Parquet options give other bytes for the same rows. */
const ownRevision = "1";

const samples = new Map<string, string>();

/**
 * Names everything but the rows that decides the bytes of an encoding: our revision, the libraries, their level, the architecture.
 * Equal fingerprints, rows and split give equal bytes. Compressors are named by what they make of a sample, since zlib chooses its
 * code by processor.
 */
export function encoderFingerprint(encoding: Encoding): string {
  const format = `waybill-${ownRevision}/${encoding.format}`;
  if (encoding.format === "parquet") {
    return `${format}/${encoding.compression}${levelText(encoding)}/duckdb-${duckdbVersion()}-${process.arch}`;
  }
  switch (encoding.compression) {
    case "gzip":
      return `${format}/gzip-${sample("gzip", encoding.level ?? defaultGzipLevel)}`;
    case "zstd":
      return `${format}/zstd-${sample("zstd", encoding.level ?? defaultZstdLevel)}`;
    case "none":
    case "snappy":
      return `${format}/${encoding.compression}`;
  }
}

/** From its package file: loading DuckDB itself takes longer than all else that a plan needs. */
function duckdbVersion(): string {
  const description = createRequire(import.meta.url)("@duckdb/node-api/package.json") as { readonly version: string };
  return description.version;
}

function levelText(encoding: Encoding): string {
  return encoding.compression === "zstd" ? `-${encoding.level ?? defaultZstdLevel}` : "";
}

function sample(compression: "gzip" | "zstd", level: number): string {
  const key = `${compression}-${level}`;
  const known = samples.get(key);
  if (known !== undefined) return known;
  const bytes = sampleBytes();
  const packed = compression === "gzip" ? deflateRawSync(bytes, { level }) : new Encoder(level).encodeSync(bytes);
  const fingerprint = `${level}-${createHash("sha256").update(packed).digest("hex").slice(0, 16)}`;
  samples.set(key, fingerprint);
  return fingerprint;
}

/** Report-like text with repeats at many distances. */
function sampleBytes(): Buffer {
  const lines: string[] = [];
  for (let state = 1, line = 0; line < 3_000; line++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    lines.push(`{"clicks":${state % 97},"creative_id":"c-${state % 1_009}","spend":"${state % 9_973}.${line}"}\n`);
  }
  return Buffer.from(lines.join(""));
}
