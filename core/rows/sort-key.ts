import { canonicalBytes } from "../canonical-json.ts";
import { type Problem, WaybillError } from "../errors.ts";
import type { JsonValue } from "../json.ts";
import type { LogicalRow } from "./profile.ts";

/**
 * Bytes that order rows under `adcp_jcs_rows_v1`: UTF-8 of the RFC 8785 array of the key values, compared unsigned.
 * So numbers sort by their text (10 before 2) and strings by their escaped text with the closing quote ("a!" before "a").
 * A key value that is missing or nested is a WaybillError `content` naming the member.
 */
export function sortKey(row: LogicalRow, primaryKeys: readonly string[]): Uint8Array {
  const values: JsonValue[] = [];
  for (const member of primaryKeys) {
    const value = Object.hasOwn(row, member) ? row[member] : undefined;
    if (value === undefined || (typeof value === "object" && value !== null)) throw keyError(member, value);
    values.push(value);
  }
  return canonicalBytes(values);
}

function keyError(member: string, value: JsonValue | undefined): WaybillError {
  const problem: Problem =
    value === undefined
      ? { code: "MISSING_MEMBER", message: `the row lacks its key member ${member}`, member }
      : { code: "WRONG_TYPE", message: `the key member ${member} holds an array or object; keys are scalar`, member };
  return new WaybillError("content", [problem]);
}

/** Unsigned lexicographic order; a prefix comes first. Negative, 0 or positive. */
export function compareBytes(left: Uint8Array, right: Uint8Array): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index++) {
    const difference = (left[index] as number) - (right[index] as number);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}
