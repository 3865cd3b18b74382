import type { JsonObject, JsonValue } from "./json.ts";

/** Why a text is not JSON that we accept, or why a value has no canonical form. */
export type JsonErrorCode =
  | "SYNTAX"
  | "TRAILING_TEXT"
  | "CONTROL_CHARACTER"
  | "DUPLICATE_MEMBER"
  | "LONE_SURROGATE"
  | "INEXACT_NUMBER"
  | "NUMBER_OUT_OF_RANGE"
  | "NEGATIVE_ZERO"
  | "TOO_DEEP"
  | "BYTE_ORDER_MARK"
  | "INVALID_UTF8"
  | "NOT_JSON";

/** Thrown by parseJson, parseJsonBytes, canonicalJson and canonicalBytes. The message names the place, never the value. */
export class JsonError extends Error {
  override readonly name = "JsonError";
  readonly code: JsonErrorCode;
  /** Where reading stopped: UTF-16 index of the text; byte index for INVALID_UTF8; 0 when a value was encoded. */
  readonly offset: number;
  /** Member of the outermost object in which the error lies, once its name was read. */
  readonly member: string | undefined;
  constructor(code: JsonErrorCode, message: string, place: { offset?: number; member?: string | undefined } = {}) {
    super(place.offset === undefined ? message : `${message} at offset ${place.offset}`);
    this.code = code;
    this.offset = place.offset ?? 0;
    this.member = place.member;
  }
}

export interface JsonLimits {
  /** Deepest nesting of arrays and objects. Default 64, at most 1000. */
  readonly maxDepth?: number;
}

const hasOwn = Object.prototype.hasOwnProperty;

/**
 * Reads one JSON text and loses nothing: duplicate members (also by escape), lone surrogates (raw or escaped), a number
 * whose double denotes another decimal value than was written, -0, control characters, a byte order mark, text after the
 * value and nesting beyond `maxDepth` are JsonErrors. 1.50 and 1E2 are fine: they denote exactly what 1.5 and 100 denote.
 */
export function parseJson(text: string, limits: JsonLimits = {}): JsonValue {
  return new Reader(text, limits.maxDepth ?? 64).document();
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** parseJson over UTF-8 bytes. Bytes that are not UTF-8 are INVALID_UTF8, a leading byte order mark is BYTE_ORDER_MARK. */
export function parseJsonBytes(bytes: Uint8Array, limits: JsonLimits = {}): JsonValue {
  return parseJson(decodeUtf8(bytes), limits);
}

/** Text of UTF-8 bytes, a leading U+FEFF kept. JsonError INVALID_UTF8 with the byte offset if they are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new JsonError("INVALID_UTF8", "bytes are not UTF-8", { offset: validPrefix(bytes) });
  }
}

function validPrefix(bytes: Uint8Array): number {
  let valid = 0;
  let invalid = bytes.length;
  while (valid < invalid) {
    const middle = (valid + invalid + 1) >> 1;
    try {
      new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, middle), { stream: true });
      valid = middle;
    } catch {
      invalid = middle - 1;
    }
  }
  return valid;
}

class Reader {
  private readonly text: string;
  private readonly maxDepth: number;
  private position = 0;
  private depth = 0;
  private member: string | undefined;

  constructor(text: string, maxDepth: number) {
    if (!(maxDepth >= 1 && maxDepth <= 1000)) throw new RangeError("maxDepth must be within 1..1000");
    this.text = text;
    this.maxDepth = maxDepth;
  }

  document(): JsonValue {
    if (this.text.charCodeAt(0) === 0xfeff) this.fail("BYTE_ORDER_MARK", "a byte order mark precedes the JSON text");
    const value = this.value(this.skip());
    this.skip();
    if (this.position < this.text.length) {
      this.member = undefined;
      this.fail("TRAILING_TEXT", "text follows the JSON value");
    }
    return value;
  }

  /** Moves past white space and returns the code there, NaN at the end. */
  private skip(): number {
    const { text } = this;
    let position = this.position;
    let code = text.charCodeAt(position);
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) code = text.charCodeAt(++position);
    this.position = position;
    return code;
  }

  private value(code: number): JsonValue {
    switch (code) {
      case 0x22:
        return this.string();
      case 0x7b:
        return this.object();
      case 0x5b:
        return this.array();
      case 0x74:
        return this.word("true", true);
      case 0x66:
        return this.word("false", false);
      case 0x6e:
        return this.word("null", null);
      default:
        if (code === 0x2d || (code >= 0x30 && code <= 0x39)) return this.number();
        return this.unexpected();
    }
  }

  private word<T extends boolean | null>(word: string, value: T): T {
    if (!this.text.startsWith(word, this.position)) this.unexpected();
    this.position += word.length;
    return value;
  }

  private enter(): void {
    if (++this.depth > this.maxDepth) this.fail("TOO_DEEP", `JSON is nested deeper than ${this.maxDepth}`);
    this.position++;
  }

  private array(): JsonValue {
    this.enter();
    const items: JsonValue[] = [];
    let code = this.skip();
    if (code === 0x5d) {
      this.position++;
      this.depth--;
      return items;
    }
    for (;;) {
      items.push(this.value(code));
      code = this.skip();
      if (code !== 0x2c && code !== 0x5d) this.unexpected();
      this.position++;
      if (code === 0x5d) break;
      code = this.skip();
    }
    this.depth--;
    return items;
  }

  private object(): JsonObject {
    this.enter();
    const members: { [name: string]: JsonValue } = {};
    let code = this.skip();
    if (code === 0x7d) {
      this.position++;
      this.depth--;
      return members;
    }
    for (;;) {
      if (code !== 0x22) this.unexpected();
      const start = this.position;
      const name = this.string();
      if (this.depth === 1) this.member = name;
      if (hasOwn.call(members, name)) {
        this.position = start;
        this.fail("DUPLICATE_MEMBER", "a member is repeated");
      }
      if (this.skip() !== 0x3a) this.unexpected();
      this.position++;
      const value = this.value(this.skip());
      // Assignment to __proto__ would set the prototype instead of a member.
      if (name === "__proto__") {
        Object.defineProperty(members, name, { value, enumerable: true, configurable: true, writable: true });
      } else members[name] = value;
      code = this.skip();
      if (code !== 0x2c && code !== 0x7d) this.unexpected();
      this.position++;
      if (code === 0x7d) break;
      code = this.skip();
    }
    this.depth--;
    return members;
  }

  private string(): string {
    const { text } = this;
    const start = this.position + 1;
    let position = start;
    for (;;) {
      const code = text.charCodeAt(position);
      if (code === 0x22) {
        this.position = position + 1;
        return text.slice(start, position);
      }
      if (code === 0x5c) return this.escapedString(start, position);
      position = this.plainCharacter(code, position);
    }
  }

  /** Checks the unescaped character at `position` and returns where the next one starts. */
  private plainCharacter(code: number, position: number): number {
    if (code >= 0x20 && (code < 0xd800 || code > 0xdfff)) return position + 1;
    this.position = position;
    if (code < 0x20) this.fail("CONTROL_CHARACTER", "a control character stands unescaped in a string");
    if (code <= 0xdbff) {
      const low = this.text.charCodeAt(position + 1);
      if (low >= 0xdc00 && low <= 0xdfff) return position + 2;
    }
    if (code >= 0xd800) this.fail("LONE_SURROGATE", "a string holds a lone surrogate");
    return this.unexpected();
  }

  private escapedString(start: number, firstEscape: number): string {
    const { text } = this;
    let result = "";
    let plainFrom = start;
    let position = firstEscape;
    for (;;) {
      const code = text.charCodeAt(position);
      if (code === 0x22) {
        this.position = position + 1;
        return result + text.slice(plainFrom, position);
      }
      if (code !== 0x5c) {
        position = this.plainCharacter(code, position);
        continue;
      }
      result += text.slice(plainFrom, position);
      this.position = position;
      const kind = text.charCodeAt(position + 1);
      if (kind === 0x75) {
        const unit = this.hex4(position + 2);
        position += 6;
        if (unit < 0xd800 || unit > 0xdfff) result += String.fromCharCode(unit);
        else {
          const paired = unit <= 0xdbff && text.charCodeAt(position) === 0x5c && text.charCodeAt(position + 1) === 0x75;
          const low = paired ? this.hex4(position + 2) : 0;
          if (low < 0xdc00 || low > 0xdfff) this.fail("LONE_SURROGATE", "a string holds an escaped lone surrogate");
          result += String.fromCharCode(unit, low);
          position += 6;
        }
      } else {
        const character = simpleEscapes.get(kind);
        if (character === undefined) return this.unexpected();
        result += character;
        position += 2;
      }
      plainFrom = position;
    }
  }

  private hex4(from: number): number {
    let unit = 0;
    for (let index = from; index < from + 4; index++) {
      const code = this.text.charCodeAt(index);
      const lower = code | 0x20;
      if (code >= 0x30 && code <= 0x39) unit = unit * 16 + (code - 0x30);
      else if (lower >= 0x61 && lower <= 0x66) unit = unit * 16 + (lower - 0x57);
      else this.unexpected();
    }
    return unit;
  }

  private number(): number {
    const { text } = this;
    const start = this.position;
    let position = start;
    let code = text.charCodeAt(position);
    const negative = code === 0x2d;
    if (negative) code = text.charCodeAt(++position);
    const integerFrom = position;
    let small = 0;
    while (code >= 0x30 && code <= 0x39) {
      small = small * 10 + (code - 0x30);
      code = text.charCodeAt(++position);
    }
    const digits = position - integerFrom;
    this.position = position;
    if (digits === 0 || (digits > 1 && text.charCodeAt(integerFrom) === 0x30)) this.unexpected();
    if (code !== 0x2e && code !== 0x65 && code !== 0x45 && digits <= 15) {
      if (negative && small === 0) this.failAt(start, "NEGATIVE_ZERO", "-0 has no exact counterpart");
      return negative ? -small : small;
    }
    if (code === 0x2e) code = this.digits();
    if (code === 0x65 || code === 0x45) {
      const sign = text.charCodeAt(this.position + 1);
      if (sign === 0x2b || sign === 0x2d) this.position++;
      this.digits();
    }
    return this.exact(text.slice(start, this.position), start);
  }

  /** Skips the character at hand and the digits that must follow it; returns the code after them. */
  private digits(): number {
    const from = ++this.position;
    let code = this.text.charCodeAt(from);
    while (code >= 0x30 && code <= 0x39) code = this.text.charCodeAt(++this.position);
    if (this.position === from) this.unexpected();
    return code;
  }

  private exact(literal: string, start: number): number {
    const value = Number(literal);
    if (!Number.isFinite(value)) this.failAt(start, "NUMBER_OUT_OF_RANGE", "a number is beyond the range of a double");
    if (value === 0 && literal.startsWith("-")) this.failAt(start, "NEGATIVE_ZERO", "-0 has no exact counterpart");
    if (!sameDecimal(literal, String(value))) {
      this.failAt(start, "INEXACT_NUMBER", "a number has more digits than a double keeps; write it as a string");
    }
    return value;
  }

  private unexpected(): never {
    if (this.position >= this.text.length) this.fail("SYNTAX", "JSON ends too early");
    this.fail("SYNTAX", "JSON has an unexpected character");
  }

  private failAt(offset: number, code: JsonErrorCode, message: string): never {
    this.position = offset;
    this.fail(code, message);
  }

  private fail(code: JsonErrorCode, message: string): never {
    throw new JsonError(code, message, { offset: this.position, member: this.member });
  }
}

const simpleEscapes: ReadonlyMap<number, string> = new Map([
  [0x22, '"'],
  [0x5c, "\\"],
  [0x2f, "/"],
  [0x62, "\b"],
  [0x66, "\f"],
  [0x6e, "\n"],
  [0x72, "\r"],
  [0x74, "\t"],
]);

/** Whether two number literals denote the same decimal value. */
function sameDecimal(left: string, right: string): boolean {
  if (left === right) return true;
  const a = significant(left);
  const b = significant(right);
  return a.digits === b.digits && (a.digits === "" || (a.exponent === b.exponent && a.negative === b.negative));
}

/** value = 0.digits * 10^exponent, digits without zeros at either end. */
function significant(literal: string): { digits: string; exponent: number; negative: boolean } {
  const negative = literal.charCodeAt(0) === 0x2d;
  const exponentAt = literal.search(/[eE]/);
  const mantissa = literal.slice(negative ? 1 : 0, exponentAt < 0 ? undefined : exponentAt);
  const point = mantissa.indexOf(".");
  const all = point < 0 ? mantissa : mantissa.slice(0, point) + mantissa.slice(point + 1);
  let first = 0;
  while (first < all.length && all.charCodeAt(first) === 0x30) first++;
  let end = all.length;
  while (end > first && all.charCodeAt(end - 1) === 0x30) end--;
  const written = exponentAt < 0 ? 0 : Number(literal.slice(exponentAt + 1));
  return { digits: all.slice(first, end), exponent: (point < 0 ? all.length : point) - first + written, negative };
}
