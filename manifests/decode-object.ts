import { decodeCsv } from "../core/encoding/csv.ts";
import { csvRecords } from "../core/encoding/csv-records.ts";
import type { DecodedRecord, DecodeLimits } from "../core/encoding/encoding.ts";
import { decodeJsonl } from "../core/encoding/jsonl.ts";
import type { WaybillError } from "../core/errors.ts";
import type { RowProfile } from "../core/rows/profile.ts";
import type { FindingCode } from "./finding.ts";
import type { FindingFacts } from "./finding-list.ts";
import type { AnyManifest } from "./manifest-shape.ts";
import type { VerifierPlatform } from "./platform.ts";

/** Why objects of this format and compression are not decoded here; undefined when they are. */
export function encodingProblem({ format, compression }: AnyManifest): FindingFacts | undefined {
  if (format === "avro" || format === "orc") {
    const message = `rows in ${format} cannot be read here; their objects were only hashed`;
    return { code: "UNSUPPORTED_FORMAT", message, expected: "jsonl, csv or parquet", actual: format };
  }
  if (compression === "snappy" && format !== "parquet") {
    const message = `${format} cannot be compressed with snappy`;
    return { code: "UNSUPPORTED_COMPRESSION", message, expected: "none, gzip or zstd", actual: compression };
  }
  return undefined;
}

/** The rows of one object; undefined when they can be neither judged nor counted without documents. See the decoders for errors. */
export function decodeObject(
  chunks: AsyncIterable<Uint8Array>,
  manifest: AnyManifest,
  profile: RowProfile | undefined,
  platform: VerifierPlatform,
  limits: DecodeLimits,
): AsyncIterable<readonly DecodedRecord[]> | undefined {
  const { format, compression } = manifest;
  if (format === "parquet") return profile === undefined ? undefined : platform.parquetRows(chunks, profile, limits);
  if (compression === "snappy") return undefined;
  const bytes = compression === "none" ? chunks : platform.decompress(compression, chunks, limits);
  if (format === "jsonl") return decodeJsonl(bytes, limits);
  return profile === undefined ? countCsv(bytes, limits) : decodeCsv(bytes, profile, limits);
}

/** Rows without their values. */
async function* countCsv(
  chunks: AsyncIterable<Uint8Array>,
  limits: DecodeLimits,
): AsyncIterable<readonly DecodedRecord[]> {
  let number = 0;
  for await (const records of csvRecords(chunks, limits)) {
    // The header is record 0.
    yield records.map(() => ({ number: number++, row: {} })).filter((record) => record.number > 0);
  }
}

/** Findings for an object that a decoder gave up on. */
export function decodeFindings(error: WaybillError, objectRef: string): readonly FindingFacts[] {
  return error.problems.map(({ code, message, row, member, limit }) => ({
    code: decodeCode(code),
    message,
    object_ref: objectRef,
    row: row ?? null,
    column: member ?? null,
    expected: limit === undefined ? null : `at most ${limit}`,
  }));
}

function decodeCode(code: string): FindingCode {
  switch (code) {
    case "RESOURCE_TOO_LARGE":
    case "RECORD_TOO_LONG":
      return "RESOURCE_TOO_LARGE";
    case "INVALID_STREAM":
      return "UNSUPPORTED_COMPRESSION";
    case "INVALID_CONTRACT":
      return "INVALID_CONTRACT";
    case "UNREADABLE_PARQUET":
      return "UNSUPPORTED_FORMAT";
    default:
      return "ROW_SCHEMA_INVALID";
  }
}
