import { JsonError } from "./strict-json.ts";

/** Deepest value that is encoded; also what a cyclic value runs into. */
const maxDepth = 1000;

/**
 * RFC 8785 text of a JSON value: members by UTF-16 code units, ECMAScript numbers, minimal escapes, no white space.
 * Nothing is dropped or converted: undefined, holes, non-finite numbers, bigint, lone surrogates and objects that are not
 * plain (Map, Date, class instances) are JsonErrors. -0 becomes 0, as the RFC says.
 */
export function canonicalJson(value: unknown): string {
  switch (typeof value) {
    case "string":
      return quote(value);
    case "number":
      return numberText(value);
    default:
      return encode(value, 0);
  }
}

const utf8 = new TextEncoder();

/** UTF-8 bytes of canonicalJson. */
export function canonicalBytes(value: unknown): Uint8Array {
  return utf8.encode(canonicalJson(value));
}

function encode(value: unknown, depth: number): string {
  switch (typeof value) {
    case "string":
      return quote(value);
    case "number":
      return numberText(value);
    case "boolean":
      return value ? "true" : "false";
    case "object":
      if (value === null) return "null";
      if (depth === maxDepth) throw new JsonError("TOO_DEEP", `a value is nested deeper than ${maxDepth}`);
      return Array.isArray(value) ? encodeArray(value, depth + 1) : encodeObject(value, depth + 1);
    default:
      throw new JsonError("NOT_JSON", `${typeof value} has no JSON form`);
  }
}

function encodeArray(items: readonly unknown[], depth: number): string {
  let text = "[";
  // By index, not by iteration method: a hole must be seen as undefined and refused.
  for (let index = 0; index < items.length; index++) {
    if (index > 0) text += ",";
    text += encode(items[index], depth);
  }
  return `${text}]`;
}

function encodeObject(value: object, depth: number): string {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw new JsonError("NOT_JSON", "an object that is not plain has no JSON form");
  }
  const members = value as { readonly [name: string]: unknown };
  const names = Object.keys(members);
  if (!ascending(names)) names.sort();
  let text = "{";
  for (let index = 0; index < names.length; index++) {
    const name = names[index] as string;
    try {
      text +=
        index > 0
          ? `,${quote(name)}:${encode(members[name], depth)}`
          : `${quote(name)}:${encode(members[name], depth)}`;
    } catch (error) {
      if (depth === 1 && error instanceof JsonError && error.member === undefined) {
        throw new JsonError(error.code, error.message, { member: name });
      }
      throw error;
    }
  }
  return `${text}}`;
}

function ascending(names: readonly string[]): boolean {
  for (let index = 1; index < names.length; index++) {
    if ((names[index - 1] as string) > (names[index] as string)) return false;
  }
  return true;
}

function numberText(value: number): string {
  if (!Number.isFinite(value)) throw new JsonError("NOT_JSON", "a number that is not finite has no JSON form");
  return String(value);
}

function quote(text: string): string {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < 0x20 || code === 0x22 || code === 0x5c || (code >= 0xd800 && code <= 0xdfff)) {
      refuseLoneSurrogates(text, index);
      // For well-formed text JSON.stringify escapes exactly what RFC 8785 escapes.
      return JSON.stringify(text);
    }
  }
  return `"${text}"`;
}

function refuseLoneSurrogates(text: string, from: number): void {
  for (let index = from; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < 0xd800 || code > 0xdfff) continue;
    const low = text.charCodeAt(++index);
    if (code > 0xdbff || !(low >= 0xdc00 && low <= 0xdfff)) {
      throw new JsonError("LONE_SURROGATE", "a string holds a lone surrogate");
    }
  }
}
