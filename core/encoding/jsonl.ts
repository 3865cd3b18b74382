import { canonicalJson } from "../canonical-json.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import { JsonError, parseJson } from "../strict-json.ts";
import type { DecodedRecord, DecodeLimits } from "./encoding.ts";
import { notEncodable, type RowEncoder } from "./row-encoder.ts";
import { isLongerThan, type TextRange, textBlocks, tooLarge } from "./text-blocks.ts";

/**
 * JSON Lines: each row is its RFC 8785 text and a line feed. U+0085, U+2028 and U+2029 are escaped, since many readers take them for
 * line ends; the value, and so the canonical digest, stays the same.
 */
export const jsonlEncoder: RowEncoder = {
  head: "",
  encode(row, number) {
    let text: string;
    try {
      text = canonicalJson(row);
    } catch (error) {
      if (!(error instanceof JsonError)) throw error;
      throw notEncodable(number, error.member, `has no JSON form: ${error.message}`);
    }
    return `${escapeLineEnds(text)}\n`;
  },
};

/** Outside of strings JSON text has none of these characters, so they may be replaced wherever they stand. */
function escapeLineEnds(text: string): string {
  if (!/[\u0085\u2028\u2029]/.test(text)) return text;
  return text.replaceAll("\u0085", "\\u0085").replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}

/**
 * Records of a JSON Lines object, in batches. A record is one line, ended by byte 0x0A alone; blank lines are passed over.
 * `number` is the 1-based line. A line that is no strict JSON object becomes a problem and decoding goes on; the member types are
 * not looked at here. Throws WaybillError RESOURCE_TOO_LARGE past `maxRows` or `maxDecodedBytes`.
 */
export async function* decodeJsonl(
  chunks: AsyncIterable<Uint8Array>,
  limits: DecodeLimits,
): AsyncIterable<readonly DecodedRecord[]> {
  let line = 0;
  let rows = 0;
  for await (const block of textBlocks(chunks, limits)) {
    const batch: DecodedRecord[] = [];
    if (block.tooLong) {
      line += 1;
      batch.push(tooLong(line, limits));
    }
    const { text, invalid } = block;
    let damaged = 0;
    for (let start = 0; start < text.length; ) {
      const feed = text.indexOf("\n", start);
      const end = feed < 0 ? text.length : feed;
      line += 1;
      const range: TextRange | undefined = invalid[damaged];
      if (range !== undefined && range.start === start) {
        damaged += 1;
        batch.push(problem(line, "INVALID_UTF8", "is not UTF-8"));
      } else {
        const record = decodeLine(text.slice(start, end), line, limits);
        if (record !== undefined) batch.push(record);
      }
      start = end + 1;
    }
    rows += batch.length;
    if (rows > limits.maxRows) throw tooLarge("rows", `${limits.maxRows} rows`);
    if (batch.length > 0) yield batch;
  }
}

function decodeLine(text: string, line: number, limits: DecodeLimits): DecodedRecord | undefined {
  if (isBlank(text)) return undefined;
  if (isLongerThan(limits.maxRecordBytes, text)) return tooLong(line, limits);
  if (line === 1 && text.startsWith("\uFEFF")) {
    return problem(line, "BYTE_ORDER_MARK", "starts with a byte order mark; JSON Lines has none");
  }
  let value: JsonValue;
  try {
    value = parseJson(text, { maxDepth: limits.maxDepth });
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return problem(line, error.code, `${error.message} (character ${error.offset + 1})`);
  }
  if (!isObject(value)) return problem(line, "NOT_AN_OBJECT", "is JSON but not an object");
  return { number: line, row: value };
}

function isBlank(text: string): boolean {
  return text.length === 0 || (text.length < 256 && /^[ \t\r]*$/.test(text));
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function tooLong(line: number, limits: DecodeLimits): DecodedRecord {
  const limit = `${limits.maxRecordBytes} bytes`;
  return {
    number: line,
    problem: { code: "RECORD_TOO_LONG", message: `row ${line} is longer than ${limit}`, row: line, limit },
  };
}

function problem(line: number, code: string, what: string): DecodedRecord {
  return { number: line, problem: { code, message: `row ${line} ${what}`, row: line } };
}
