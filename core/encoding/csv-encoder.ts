import { canonicalJson } from "../canonical-json.ts";
import type { JsonValue } from "../json.ts";
import type { ColumnType, ProfileMember, RowProfile } from "../rows/profile.ts";
import { JsonError } from "../strict-json.ts";
import { notEncodable, type RowEncoder } from "./row-encoder.ts";

/**
 * CSV by RFC 4180: a header of the members in their order, CRLF, quotes only where a cell needs them. A missing value is an empty
 * cell, the empty text a pair of quotes; numbers are plain decimals without exponent or grouping; nested values are RFC 8785 text.
 * Cells that look like formulas are not touched.
 */
export function createCsvEncoder(profile: RowProfile): RowEncoder {
  const { members } = profile;
  const cells = members.map(cellEncoder);
  const names = new Set(members.map((member) => member.name));
  return {
    head: `${members.map((member) => headerCell(member.name)).join(",")}\r\n`,
    encode(row, number) {
      let line = "";
      let taken = 0;
      for (let i = 0; i < members.length; i++) {
        const member = members[i];
        const cell = cells[i];
        if (member === undefined || cell === undefined) continue;
        const { name, missing } = member;
        if (i > 0) line += ",";
        const value = Object.hasOwn(row, name) ? row[name] : undefined;
        if (value !== undefined) taken += 1;
        if (value === undefined || value === null) {
          // An empty cell reads as null where both are legal, so absent cannot be written there.
          const isEmptyCell =
            value === null ? missing === "null" || missing === "null-or-absent" : missing === "absent";
          if (!isEmptyCell) throw notEncodable(number, name, missingFault(value));
          continue;
        }
        try {
          line += cell(value);
        } catch (error) {
          if (!(error instanceof Unfit || error instanceof JsonError)) throw error;
          throw notEncodable(number, name, error.message);
        }
      }
      if (Object.keys(row).length !== taken) {
        const stranger = Object.keys(row).find((name) => !names.has(name));
        throw notEncodable(number, stranger, "has no column");
      }
      return `${line}\r\n`;
    },
  };
}

/** A value that does not fit its column; the message completes the sentence "row 3: spend …". */
class Unfit extends Error {}

function missingFault(value: null | undefined): string {
  return value === null ? "is null, which its column does not have" : "is absent, which its column does not have";
}

function cellEncoder(member: ProfileMember): (value: JsonValue) => string {
  const { kind }: ColumnType = member.type;
  switch (kind) {
    case "string":
    case "date":
    case "timestamp":
    case "integer-string":
    case "decimal-string":
      return (value) => {
        if (typeof value !== "string") throw new Unfit("is not text");
        // In Unicode mode only a surrogate without its other half has this property.
        if (/\p{Surrogate}/u.test(value)) throw new Unfit("holds a lone surrogate");
        return textCell(value);
      };
    case "integer":
      return (value) => {
        if (!Number.isSafeInteger(value)) throw new Unfit("is not a whole number within 2^53");
        return String(value);
      };
    case "number":
      return (value) => {
        if (typeof value !== "number" || !Number.isFinite(value)) throw new Unfit("is not a finite number");
        return plainNumber(value);
      };
    case "boolean":
      return (value) => {
        if (typeof value !== "boolean") throw new Unfit("is neither true nor false");
        return String(value);
      };
    case "json":
      return (value) => textCell(canonicalJson(value));
  }
}

function textCell(text: string): string {
  if (text === "") return '""';
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A name that starts with U+FEFF would lose it to readers that take it for a byte order mark. */
function headerCell(name: string): string {
  return name.startsWith("\uFEFF") ? `"${name.replaceAll('"', '""')}"` : textCell(name);
}

/** The ECMAScript digits of a double, written out: 1e21 and 1e-7 have no exponent here. At most 344 characters. */
export function plainNumber(value: number): string {
  const text = String(value);
  const mark = text.indexOf("e");
  if (mark < 0) return text;
  const exponent = Number(text.slice(mark + 1));
  const sign = value < 0 ? "-" : "";
  const mantissa = text.slice(sign.length, mark);
  const [whole = "", fraction = ""] = mantissa.split(".");
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${whole}${fraction}`;
  return `${sign}${whole}${fraction.padEnd(exponent, "0")}`;
}
