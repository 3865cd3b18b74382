import { canonicalJson } from "../canonical-json.ts";
import type { LogicalRow, RowProfile } from "../rows/profile.ts";
import { compressStream, decompressStream, type StreamCompression } from "./compression.ts";
import { decodeCsv } from "./csv.ts";
import { createCsvEncoder } from "./csv-encoder.ts";
import { defaultDecodeLimits, type Encoding } from "./encoding.ts";
import { decodeJsonl, jsonlEncoder } from "./jsonl.ts";
import type { PartMaker } from "./part-maker.ts";
import { EmittedRows, type KeyOrder, provePart } from "./part-proof.ts";
import { notEncodable, type RowEncoder } from "./row-encoder.ts";
import { isLongerThan } from "./text-blocks.ts";

const chunkCharacters = 128 * 1024;

/** Makes JSONL and CSV objects, compressed as a whole. */
export function createTextPartMaker(
  encoding: Encoding,
  format: "jsonl" | "csv",
  profile: RowProfile,
  order: KeyOrder,
  signal: AbortSignal,
  onRows: (count: number) => void,
): PartMaker {
  const isJsonl = format === "jsonl";
  const encoder = isJsonl ? jsonlEncoder : createCsvEncoder(profile);
  const compression: StreamCompression = encoding.compression === "snappy" ? "none" : encoding.compression;
  // A JSONL line is injective in the row already; a CSV line is not, so there the canonical text is compared.
  const proofText = isJsonl ? (row: LogicalRow) => jsonlEncoder.encode(row, 0) : canonicalJson;
  return {
    async make(part, rows, firstNumber) {
      const emitted = new EmittedRows();
      async function* text(): AsyncIterable<Uint8Array> {
        let pending = encoder.head;
        for await (const batch of rows) {
          for (const row of batch) {
            const line = encodeRow(encoder, row, firstNumber + emitted.count);
            emitted.add(isJsonl ? line : canonicalJson(row));
            pending += line;
            if (pending.length < chunkCharacters) continue;
            yield Buffer.from(pending);
            pending = "";
          }
          onRows(batch.length);
        }
        if (pending.length > 0) yield Buffer.from(pending);
      }
      await part.write(compressStream(compression, text(), encoding.level), signal);
      const decoded = decompressStream(compression, part.read(signal), defaultDecodeLimits);
      const records = isJsonl
        ? decodeJsonl(decoded, defaultDecodeLimits)
        : decodeCsv(decoded, profile, defaultDecodeLimits);
      await provePart(part.name, records, emitted, order, proofText);
      return emitted.count;
    },
    close: async () => {},
  };
}

/** A row that readers with the default limits would refuse is refused here, before it is delivered. */
function encodeRow(encoder: RowEncoder, row: LogicalRow, number: number): string {
  const line = encoder.encode(row, number);
  const { maxRecordBytes } = defaultDecodeLimits;
  if (isLongerThan(maxRecordBytes, line))
    throw notEncodable(number, undefined, `is longer than ${maxRecordBytes} bytes`);
  return line;
}
