import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { WaybillError } from "../../../core/errors.ts";
import type { JsonValue } from "../../../core/json.ts";
import { compareBytes, sortKey } from "../../../core/rows/sort-key.ts";

function ordered(values: readonly JsonValue[]): readonly JsonValue[] {
  return values
    .map((value) => ({ value, key: sortKey({ value }, ["value"]) }))
    .sort((left, right) => compareBytes(left.key, right.key))
    .map(({ value }) => value);
}

describe("sortKey", () => {
  it("orders numbers by their text and strings by their escaped text with the closing quote", () => {
    expect(ordered([2, 10, 1, -1])).toEqual([-1, 10, 1, 2]);
    expect(ordered(["a", "a!", "a#", "b", "A", ""])).toEqual(["", "A", "a!", "a", "a#", "b"]);
    expect(ordered(["a", "a!"])).toEqual(["a!", "a"]);
    expect(ordered(["\u{1F600}", "\uFB33"])).toEqual(["\uFB33", "\u{1F600}"]);
  });

  it("agrees with a byte comparison of the canonical arrays, for any scalars", () => {
    const scalar = fc.oneof(fc.string({ unit: "grapheme" }), fc.integer(), fc.double({ noNaN: true }), fc.boolean());
    const value = scalar.filter(
      (entry) => !Number.isNaN(entry) && Math.abs(Number(entry)) !== Number.POSITIVE_INFINITY,
    );
    fc.assert(
      fc.property(fc.tuple(value, value), fc.tuple(value, value), ([a, b], [c, d]) => {
        const left = sortKey({ x: a, y: b }, ["x", "y"]);
        const right = sortKey({ x: c, y: d }, ["x", "y"]);
        const reference = Buffer.compare(Buffer.from(JSON.stringify([a, b])), Buffer.from(JSON.stringify([c, d])));
        expect(Math.sign(compareBytes(left, right))).toBe(reference);
      }),
      { numRuns: 1000 },
    );
  });

  it("takes the members in key order, not in row order", () => {
    const key = sortKey({ b: "2", a: "1", c: null }, ["c", "b", "a"]);
    expect(new TextDecoder().decode(key)).toBe('[null,"2","1"]');
  });

  it("refuses a key value that is missing or nested and names the member", () => {
    const problemOf = (row: { readonly [name: string]: JsonValue }, keys: readonly string[]) => {
      try {
        sortKey(row, keys);
      } catch (error) {
        if (error instanceof WaybillError) return error.problems[0];
      }
      return undefined;
    };
    expect(problemOf({ a: 1 }, ["a", "b"])).toMatchObject({ code: "MISSING_MEMBER", member: "b" });
    expect(problemOf({ a: [1] }, ["a"])).toMatchObject({ code: "WRONG_TYPE", member: "a" });
    expect(problemOf({ a: {} }, ["a"])).toMatchObject({ code: "WRONG_TYPE", member: "a" });
    // An inherited property is not a member of the row.
    expect(problemOf({}, ["toString"])).toMatchObject({ code: "MISSING_MEMBER", member: "toString" });
  });
});

describe("compareBytes", () => {
  it("compares unsigned and puts a prefix first", () => {
    expect(compareBytes(Uint8Array.of(0x7f), Uint8Array.of(0x80))).toBeLessThan(0);
    expect(compareBytes(Uint8Array.of(1), Uint8Array.of(1, 0))).toBeLessThan(0);
    expect(compareBytes(Uint8Array.of(1, 2), Uint8Array.of(1, 2))).toBe(0);
  });
});
