import { WaybillError } from "../errors.ts";
import type { DecodeLimits } from "./encoding.ts";

/** Whole lines of an object as text. A block ends with a line feed, except the last one of an object that lacks it. */
export interface TextBlock {
  readonly text: string;
  /** Lines that are not UTF-8, as half-open ranges of `text` (U+FFFD stands there), in order. Empty almost always. */
  readonly invalid: readonly TextRange[];
  /** This block is one line longer than `maxRecordBytes`; its text was dropped. */
  readonly tooLong: boolean;
}

export interface TextRange {
  readonly start: number;
  readonly end: number;
}

const lineFeed = 0x0a;
const blockBytes = 64 * 1024;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const lossyUtf8 = new TextDecoder("utf-8", { ignoreBOM: true });
const encoder = new TextEncoder();

/**
 * Cuts a byte stream into blocks of whole lines. Only byte 0x0A ends a line: U+2028, U+2029, U+0085 and CR are text.
 * Memory: one block plus one unfinished line. Throws WaybillError RESOURCE_TOO_LARGE past `maxDecodedBytes`.
 */
export async function* textBlocks(chunks: AsyncIterable<Uint8Array>, limits: DecodeLimits): AsyncIterable<TextBlock> {
  let pending: Uint8Array[] = [];
  let pendingBytes = 0;
  /** Bytes of `pending` up to and including its last line feed; 0 when it has none. */
  let linesBytes = 0;
  let seenBytes = 0;
  let dropping = false;
  for await (const chunk of chunks) {
    seenBytes += chunk.length;
    if (seenBytes > limits.maxDecodedBytes) throw tooLarge("decoded bytes", `${limits.maxDecodedBytes} bytes`);
    for (let offset = 0; offset < chunk.length; offset += blockBytes) {
      let piece = chunk.slice(offset, offset + blockBytes);
      if (dropping) {
        const feed = piece.indexOf(lineFeed);
        if (feed < 0) continue;
        dropping = false;
        piece = piece.subarray(feed + 1);
      }
      const feed = piece.lastIndexOf(lineFeed);
      if (feed >= 0) linesBytes = pendingBytes + feed + 1;
      pending.push(piece);
      pendingBytes += piece.length;
      if (linesBytes > 0 && pendingBytes >= blockBytes) {
        const bytes = join(pending, pendingBytes);
        yield decode(bytes.subarray(0, linesBytes));
        pending = [bytes.subarray(linesBytes)];
        pendingBytes -= linesBytes;
        linesBytes = 0;
      }
      if (linesBytes === 0 && pendingBytes > limits.maxRecordBytes) {
        pending = [];
        pendingBytes = 0;
        dropping = true;
        yield { text: "", invalid: [], tooLong: true };
      }
    }
  }
  if (pendingBytes > 0) yield decode(join(pending, pendingBytes));
}

/** The error that ends a stream at one of its bounds. */
export function tooLarge(what: string, limit: string): WaybillError {
  return new WaybillError("content", [{ code: "RESOURCE_TOO_LARGE", message: `more ${what} than ${limit}`, limit }]);
}

/** True when `text` takes more than `limit` bytes as UTF-8; counts only when it is not plain from the length. */
export function isLongerThan(limit: number, text: string): boolean {
  if (text.length > limit) return true;
  return text.length * 3 > limit && encoder.encode(text).length > limit;
}

function join(parts: readonly Uint8Array[], length: number): Uint8Array {
  const [first] = parts;
  if (first !== undefined && parts.length === 1) return first;
  const all = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function decode(bytes: Uint8Array): TextBlock {
  try {
    return { text: utf8.decode(bytes), invalid: [], tooLong: false };
  } catch {
    return decodeLineByLine(bytes);
  }
}

function decodeLineByLine(bytes: Uint8Array): TextBlock {
  const invalid: TextRange[] = [];
  const lines: string[] = [];
  let length = 0;
  for (let start = 0; start < bytes.length; ) {
    const feed = bytes.indexOf(lineFeed, start);
    const end = feed < 0 ? bytes.length : feed + 1;
    let line: string;
    try {
      line = utf8.decode(bytes.subarray(start, end));
    } catch {
      line = lossyUtf8.decode(bytes.subarray(start, end));
      invalid.push({ start: length, end: length + line.length });
    }
    lines.push(line);
    length += line.length;
    start = end;
  }
  return { text: lines.join(""), invalid, tooLong: false };
}
