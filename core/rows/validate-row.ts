import type { Problem } from "../errors.ts";
import type { JsonValue } from "../json.ts";
import { isDate } from "../model/instant.ts";
import type { ColumnType, LogicalRow, ProfileMember, RowProfile } from "./profile.ts";

/** Checks one row; `rowNumber` is what problems carry. Empty when the row is right. */
export type RowValidator = (row: LogicalRow, rowNumber: number) => readonly Problem[];

/** Deepest nesting of a json member, so that every decoder with default limits can read the row again. */
export const maxJsonDepth = 60;

/**
 * Compiles the rules of a profile. A row that passes survives typed columns byte for byte of its canonical form. Codes:
 * UNKNOWN_MEMBER, MISSING_MEMBER, NULL_MEMBER, WRONG_TYPE, OUT_OF_RANGE, NOT_CANONICAL_TEXT, LONE_SURROGATE, NEGATIVE_ZERO, TOO_DEEP.
 * Pure; values never appear in messages.
 */
export function createRowValidator(profile: RowProfile): RowValidator {
  const members = profile.members.map((member) => ({ ...member, check: valueCheck(member.type) }));
  const names = new Set(members.map(({ name }) => name));
  return (row, rowNumber) => {
    let problems: Problem[] | undefined;
    let present = 0;
    for (const member of members) {
      const value = Object.hasOwn(row, member.name) ? row[member.name] : undefined;
      if (value !== undefined) present++;
      const fault = value === undefined || value === null ? missingFault(member, value) : member.check(value);
      if (fault !== undefined) {
        problems ??= [];
        problems.push(problem(fault, rowNumber, member.name));
      }
    }
    if (present !== Object.keys(row).length) {
      for (const name of Object.keys(row)) {
        if (names.has(name) && row[name] !== undefined) continue;
        problems ??= [];
        problems.push(problem(names.has(name) ? undefinedMember : unknownMember, rowNumber, name));
      }
    }
    return problems ?? none;
  };
}

const none: readonly Problem[] = [];

interface Fault {
  readonly code: string;
  readonly what: string;
}

const unknownMember: Fault = { code: "UNKNOWN_MEMBER", what: "is no member of the definition" };
const undefinedMember: Fault = { code: "WRONG_TYPE", what: "is undefined, which JSON has not" };

function problem({ code, what }: Fault, row: number, member: string): Problem {
  return { code, message: `row ${row}: ${member}: ${what}`, row, member };
}

const missingMember: Fault = { code: "MISSING_MEMBER", what: "is missing" };
const nullMember: Fault = { code: "NULL_MEMBER", what: "is null but must have a value" };
const nullNotAbsent: Fault = { code: "NULL_MEMBER", what: "is null; a row without a value leaves the member out" };
const absentNotNull: Fault = { code: "MISSING_MEMBER", what: "is left out; a row without a value has null here" };

function missingFault({ missing }: ProfileMember, value: null | undefined): Fault | undefined {
  switch (missing) {
    case "forbidden":
      return value === null ? nullMember : missingMember;
    case "null":
      return value === null ? undefined : absentNotNull;
    case "absent":
      return value === null ? nullNotAbsent : undefined;
    case "null-or-absent":
      return undefined;
  }
}

type Check = (value: JsonValue) => Fault | undefined;

const wrongType = (wanted: string): Fault => ({ code: "WRONG_TYPE", what: `must be ${wanted}` });
const outOfRange = (what: string): Fault => ({ code: "OUT_OF_RANGE", what });
const notCanonical = (what: string): Fault => ({ code: "NOT_CANONICAL_TEXT", what });
const loneSurrogate: Fault = { code: "LONE_SURROGATE", what: "holds a lone surrogate, which UTF-8 cannot carry" };
const negativeZero: Fault = { code: "NEGATIVE_ZERO", what: "is -0, which its canonical form cannot keep" };
const notFinite: Fault = { code: "OUT_OF_RANGE", what: "is not a finite number" };

function valueCheck(type: ColumnType): Check {
  switch (type.kind) {
    case "string":
      return stringCheck;
    case "integer":
      return integerCheck;
    case "number":
      return numberCheck;
    case "integer-string":
      return type.column === "int64" ? int64Check : decimal38Check;
    case "decimal-string":
      return decimalCheck(type.precision, type.scale);
    case "boolean":
      return (value) => (typeof value === "boolean" ? undefined : aBoolean);
    case "date":
      return dateCheck;
    case "timestamp":
      return timestampCheck(type.fraction);
    case "json":
      return (value) => jsonFault(value, 1);
  }
}

const aString = wrongType("a string");
const aBoolean = wrongType("true or false");

function stringCheck(value: JsonValue): Fault | undefined {
  if (typeof value !== "string") return aString;
  return hasLoneSurrogate(value) ? loneSurrogate : undefined;
}

/** With the u flag a pair is one character, so only lone ones match. */
const surrogate = /\p{Surrogate}/u;

function hasLoneSurrogate(text: string): boolean {
  return surrogate.test(text);
}

const anInteger = wrongType("a whole JSON number");
const beyondSafe = outOfRange("is beyond 2^53 - 1, where doubles skip integers; use the type integer-string");

function integerCheck(value: JsonValue): Fault | undefined {
  if (typeof value !== "number") return anInteger;
  if (!Number.isFinite(value)) return notFinite;
  if (!Number.isInteger(value)) return anInteger;
  if (!Number.isSafeInteger(value)) return beyondSafe;
  return Object.is(value, -0) ? negativeZero : undefined;
}

const aNumber = wrongType("a JSON number");

function numberCheck(value: JsonValue): Fault | undefined {
  if (typeof value !== "number") return aNumber;
  if (!Number.isFinite(value)) return notFinite;
  return Object.is(value, -0) ? negativeZero : undefined;
}

const integerText = /^(?:0|-?[1-9][0-9]*)$/;
const anIntegerText = wrongType("a whole number as a JSON string");
const notIntegerText = notCanonical("is not a whole number without plus sign, leading zeros or -0");
const beyondInt64 = outOfRange("is beyond the 64-bit range");
const beyond38 = outOfRange("has more than 38 digits");

function int64Check(value: JsonValue): Fault | undefined {
  if (typeof value !== "string") return anIntegerText;
  if (!integerText.test(value)) return notIntegerText;
  if (value.length < 19) return undefined;
  return value.length > 20 || BigInt.asIntN(64, BigInt(value)) !== BigInt(value) ? beyondInt64 : undefined;
}

function decimal38Check(value: JsonValue): Fault | undefined {
  if (typeof value !== "string") return anIntegerText;
  if (!integerText.test(value)) return notIntegerText;
  return value.length - (value.startsWith("-") ? 1 : 0) > 38 ? beyond38 : undefined;
}

function decimalCheck(precision: number, scale: number): Check {
  const aDecimal = wrongType("a decimal as a JSON string");
  const text = new RegExp(`^-?(?:0|[1-9][0-9]*)\\.[0-9]{${scale}}$`);
  const zero = new RegExp(`^-0\\.0{${scale}}$`);
  const notDecimal = notCanonical(
    `is not a decimal with exactly ${scale} fraction digits and no plus sign or leading zeros`,
  );
  const beyond = outOfRange(`has more than ${precision - scale} digits before the point`);
  return (value) => {
    if (typeof value !== "string") return aDecimal;
    if (!text.test(value)) return notDecimal;
    const from = value.startsWith("-") ? 1 : 0;
    if (from === 1 && zero.test(value)) return negativeZero;
    const digits = value.length - from - scale - 1;
    return digits > precision - scale && value.charCodeAt(from) !== 0x30 ? beyond : undefined;
  };
}

const aDate = wrongType("a day as a JSON string YYYY-MM-DD");
const notDate = notCanonical("is not a day that exists, as YYYY-MM-DD from 0001 on");

function dateCheck(value: JsonValue): Fault | undefined {
  if (typeof value !== "string") return aDate;
  return isDate(value) && !value.startsWith("0000") ? undefined : notDate;
}

function timestampCheck(fraction: 0 | 3 | 6): Check {
  const shape = fraction === 0 ? "YYYY-MM-DDTHH:MM:SSZ" : `YYYY-MM-DDTHH:MM:SS.${"f".repeat(fraction)}Z`;
  const aTimestamp = wrongType(`an instant as a JSON string ${shape}`);
  const notTimestamp = notCanonical(`is not a UTC instant that exists, as ${shape} from year 0001 on`);
  const digits = fraction === 0 ? "" : `\\.[0-9]{${fraction}}`;
  const text = new RegExp(`^[0-9-]{10}T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]${digits}Z$`);
  return (value) => {
    if (typeof value !== "string") return aTimestamp;
    return text.test(value) && dateCheck(value.slice(0, 10)) === undefined ? undefined : notTimestamp;
  };
}

const tooDeep: Fault = { code: "TOO_DEEP", what: `is nested deeper than ${maxJsonDepth}` };
const notJson = wrongType("JSON");

function jsonFault(value: unknown, depth: number): Fault | undefined {
  if (value === null || typeof value === "boolean") return undefined;
  if (typeof value === "string") return hasLoneSurrogate(value) ? loneSurrogate : undefined;
  if (typeof value === "number") return numberCheck(value);
  if (typeof value !== "object") return notJson;
  if (depth > maxJsonDepth) return tooDeep;
  if (Array.isArray(value)) {
    // By index: a hole is undefined and refused.
    for (let index = 0; index < value.length; index++) {
      const fault = jsonFault(value[index], depth + 1);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return notJson;
  for (const [name, member] of Object.entries(value)) {
    const fault = hasLoneSurrogate(name) ? loneSurrogate : jsonFault(member, depth + 1);
    if (fault !== undefined) return fault;
  }
  return undefined;
}
