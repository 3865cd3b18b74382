import { WaybillError } from "../errors.ts";
import type { DecodeLimits } from "./encoding.ts";
import { isLongerThan, type TextRange, textBlocks } from "./text-blocks.ts";

/** One CSV record as cells, or why it is none. A cell is null when it is empty and unquoted, "" when it is a pair of quotes. */
export type CsvRecord =
  | { readonly cells: readonly (string | null)[]; readonly fault?: undefined }
  | { readonly cells?: undefined; readonly fault: CsvFault };

export interface CsvFault {
  readonly code: "INVALID_UTF8" | "BAD_QUOTE" | "BARE_CARRIAGE_RETURN" | "UNTERMINATED_QUOTE" | "RECORD_TOO_LONG";
  /** Completes the sentence "row 7 …". */
  readonly what: string;
}

/**
 * Records of RFC 4180 text, in batches: comma, CRLF or LF, doubled quotes; blank lines are passed over, a leading byte order mark is
 * taken off. After a bad record reading goes on at the next line. Throws WaybillError RECORD_TOO_LONG when the end of a record is
 * not found within `maxRecordBytes`: nothing after it can be framed.
 */
export async function* csvRecords(
  chunks: AsyncIterable<Uint8Array>,
  limits: DecodeLimits,
): AsyncIterable<readonly CsvRecord[]> {
  let pieces: string[] = [];
  let length = 0;
  /** An unfinished record is scanned again only when its text has doubled, so that a long one costs linear time. */
  let scanAtLength = 0;
  let invalid: TextRange[] = [];
  let started = false;
  for await (const block of textBlocks(chunks, limits)) {
    if (block.tooLong || length > limits.maxRecordBytes) throw endNotFound(limits);
    const skipped: number = !started && block.text.startsWith("\uFEFF") ? 1 : 0;
    started = true;
    const shift = length - skipped;
    for (const range of block.invalid) invalid.push({ start: range.start + shift, end: range.end + shift });
    pieces.push(skipped > 0 ? block.text.slice(skipped) : block.text);
    length += block.text.length - skipped;
    if (length < scanAtLength) continue;
    const text = pieces.join("");
    const scanner = new RecordScanner(text, invalid, limits, false);
    const records = scanner.scan();
    if (records.length > 0) yield records;
    invalid = invalid
      .filter((range) => range.end > scanner.end)
      .map((range) => ({ start: range.start - scanner.end, end: range.end - scanner.end }));
    pieces = [text.slice(scanner.end)];
    length -= scanner.end;
    scanAtLength = length * 2;
  }
  if (length === 0) return;
  const rest = new RecordScanner(pieces.join(""), invalid, limits, true).scan();
  if (rest.length > 0) yield rest;
}

function endNotFound(limits: DecodeLimits): WaybillError {
  const limit = `${limits.maxRecordBytes} bytes`;
  const message = `a record does not end within ${limit}; is a quote not closed?`;
  return new WaybillError("content", [{ code: "RECORD_TOO_LONG", message, limit }]);
}

const notFound = Number.MAX_SAFE_INTEGER;

class RecordScanner {
  /** Where the first record starts that has no end yet; everything before it was returned. */
  end = 0;
  private nextQuote = -1;
  private position = 0;
  private readonly text: string;
  private readonly invalid: readonly TextRange[];
  private readonly limits: DecodeLimits;
  private readonly isLast: boolean;

  constructor(text: string, invalid: readonly TextRange[], limits: DecodeLimits, isLast: boolean) {
    this.text = text;
    this.invalid = invalid;
    this.limits = limits;
    this.isLast = isLast;
  }

  scan(): readonly CsvRecord[] {
    const records: CsvRecord[] = [];
    while (this.end < this.text.length) {
      const record = this.next();
      if (record === "incomplete") break;
      if (record !== "blank") records.push(this.checked(record));
      this.end = this.position;
    }
    return records;
  }

  private next(): CsvRecord | "incomplete" | "blank" {
    const start = this.end;
    const feed = this.find("\n", start);
    if (feed === notFound && !this.isLast) return "incomplete";
    if (this.nextQuote < start) this.nextQuote = this.find('"', start);
    const lineEnd = Math.min(feed, this.text.length);
    this.position = Math.min(feed + 1, this.text.length);
    if (this.nextQuote < lineEnd) return this.quotedRecord(start);
    const line = this.text.slice(start, this.withoutReturn(start, lineEnd, feed));
    if (line === "") return "blank";
    if (line.includes("\r")) return bareReturn;
    const cells: (string | null)[] = line.split(",");
    for (let i = 0; i < cells.length; i++) if (cells[i] === "") cells[i] = null;
    return { cells };
  }

  /** A record with at least one quote in its first line; it may go over more lines. */
  private quotedRecord(start: number): CsvRecord | "incomplete" {
    const { text } = this;
    const cells: (string | null)[] = [];
    for (let at = start; ; ) {
      if (text[at] !== '"') {
        const feed = this.find("\n", at);
        const lineEnd = Math.min(feed, text.length);
        const comma = this.find(",", at);
        const end = comma < lineEnd ? comma : this.withoutReturn(at, lineEnd, feed);
        const cell = text.slice(at, end);
        this.position = Math.min(feed + 1, text.length);
        if (cell.includes('"')) return stray;
        if (cell.includes("\r")) return bareReturn;
        cells.push(cell === "" ? null : cell);
        if (comma >= lineEnd) return { cells };
        at = comma + 1;
        continue;
      }
      const close = this.closingQuote(at + 1);
      if (close === notFound) {
        this.position = text.length;
        return this.isLast ? unterminated : "incomplete";
      }
      cells.push(text.slice(at + 1, close).replaceAll('""', '"'));
      at = close + 1;
      if (text[at] === ",") {
        at += 1;
        continue;
      }
      const feed = text[at] === "\r" ? at + 1 : at;
      if (text[feed] === "\n" || at >= text.length) {
        this.position = Math.min(feed + 1, text.length);
        return { cells };
      }
      const next = this.find("\n", at);
      if (next === notFound && !this.isLast) return "incomplete";
      this.position = Math.min(next + 1, text.length);
      return afterQuote;
    }
  }

  private closingQuote(from: number): number {
    for (let at = from; ; at += 2) {
      at = this.find('"', at);
      if (at === notFound || this.text[at + 1] !== '"') return at;
    }
  }

  private checked(record: CsvRecord): CsvRecord {
    const { end: start, position, limits } = this;
    if (this.invalid.some((range) => range.start < position && range.end > start)) return notUtf8;
    if (isLongerThan(limits.maxRecordBytes, this.text.slice(start, position))) {
      return { fault: { code: "RECORD_TOO_LONG", what: `is longer than ${limits.maxRecordBytes} bytes` } };
    }
    return record;
  }

  private find(character: string, from: number): number {
    const at = this.text.indexOf(character, from);
    return at < 0 ? notFound : at;
  }

  /** The end of a line's text: CR belongs to the line end only in front of LF. */
  private withoutReturn(start: number, lineEnd: number, feed: number): number {
    return feed !== notFound && lineEnd > start && this.text[lineEnd - 1] === "\r" ? lineEnd - 1 : lineEnd;
  }
}

const notUtf8: CsvRecord = { fault: { code: "INVALID_UTF8", what: "is not UTF-8" } };
const stray: CsvRecord = { fault: { code: "BAD_QUOTE", what: "has a quote inside a cell that is not quoted" } };
const afterQuote: CsvRecord = { fault: { code: "BAD_QUOTE", what: "has text behind a closing quote" } };
const unterminated: CsvRecord = { fault: { code: "UNTERMINATED_QUOTE", what: "has a quote that is never closed" } };
const bareReturn: CsvRecord = {
  fault: { code: "BARE_CARRIAGE_RETURN", what: "has a carriage return that is neither quoted nor part of CRLF" },
};
