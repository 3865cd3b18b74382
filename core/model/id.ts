import type { Hasher } from "../digest/hasher.ts";
import { WaybillError } from "../errors.ts";

/** The rule of every AdCP id: 1 to 255 characters of `A-Z a-z 0-9 _ . : -`. `..` is a legal id, so never use one as a file name. */
export function isId(text: string): boolean {
  return /^[A-Za-z0-9_.:-]{1,255}$/.test(text);
}

/** Returns `text` if it is an id; else a WaybillError `usage` (INVALID_ID) that names `field`, not the value. */
export function assertId(text: string, field: string): string {
  if (isId(text)) return text;
  const message = `${field} must be 1 to 255 characters of A-Z a-z 0-9 _ . : -`;
  throw new WaybillError("usage", [{ code: "INVALID_ID", message, field }]);
}

const base32 = "abcdefghijklmnopqrstuvwxyz234567";
/** 26 base32 characters carry 130 bits. */
const segmentBytes = 17;

/** A fresh random id `<prefix>_` + 26 lower-case base32 characters. */
export function newId(prefix: string): string {
  return `${prefix}_${base32Text(crypto.getRandomValues(new Uint8Array(segmentBytes)))}`;
}

/**
 * The only form in which an id becomes part of a path or SQL name: `r_` (revision) or `m_` (materialization) + the first
 * 26 base32 characters of sha256(id). `hasher` is a fresh SHA-256.
 */
export function pathSegment(kind: "r" | "m", id: string, hasher: Hasher): string {
  hasher.update(new TextEncoder().encode(id));
  const hex = hasher.hex();
  const bytes = Uint8Array.from({ length: segmentBytes }, (_, index) =>
    Number.parseInt(hex.slice(index * 2, index * 2 + 2), 16),
  );
  return `${kind}_${base32Text(bytes)}`;
}

function base32Text(bytes: Uint8Array): string {
  let bits = 0;
  let width = 0;
  let text = "";
  for (const byte of bytes) {
    bits = ((bits & 0x1f) << 8) | byte;
    width += 8;
    for (; width >= 5 && text.length < 26; width -= 5) text += base32.charAt((bits >> (width - 5)) & 0x1f);
  }
  return text;
}

/** Orders texts by Unicode code point, which the wire demands of id sets; JavaScript's own order is by UTF-16 unit. */
export function compareCodePoints(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index++) {
    const a = left.charCodeAt(index);
    const b = right.charCodeAt(index);
    if (a !== b) return codePointRank(a) - codePointRank(b);
  }
  return left.length - right.length;
}

/** Surrogates stand for code points above U+FFFF, so they rank after U+E000..U+FFFF. */
function codePointRank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** A set of ids in wire form: each once, in code point order. */
export function idSet(ids: Iterable<string>): readonly string[] {
  return [...new Set(ids)].sort(compareCodePoints);
}
