import { describe, expect, it } from "vitest";
import type { JsonValue } from "../../../core/json.ts";
import type { ColumnType, ProfileMember } from "../../../core/rows/profile.ts";
import { createRowValidator, maxJsonDepth } from "../../../core/rows/validate-row.ts";

function codeOf(type: ColumnType, value: unknown): string | undefined {
  const profile = { members: [{ name: "m", type, missing: "forbidden" as const }], primaryKeys: [], controlTotals: [] };
  const problems = createRowValidator(profile)({ m: value as JsonValue }, 1);
  return problems[0]?.code;
}

function nested(depth: number): JsonValue {
  return depth === 0 ? 1 : [nested(depth - 1)];
}

const int64: ColumnType = { kind: "integer-string", column: "int64" };
const decimal38: ColumnType = { kind: "integer-string", column: "decimal38" };
const decimal: ColumnType = { kind: "decimal-string", precision: 5, scale: 2 };
const fraction: ColumnType = { kind: "decimal-string", precision: 2, scale: 2 };
const milli: ColumnType = { kind: "timestamp", fraction: 3 };

const accepted: readonly (readonly [ColumnType, readonly unknown[]])[] = [
  [{ kind: "string" }, ["", "\ufeff", "\u0000", "\u{1f600}", "\ufffd"]],
  [{ kind: "integer" }, [0, -1, 2 ** 53 - 1, -(2 ** 53 - 1), 1e3]],
  [{ kind: "number" }, [0, -1.5, 5e-324, 1.7976931348623157e308]],
  [int64, ["0", "-1", "9223372036854775807", "-9223372036854775808", "9007199254740993"]],
  [decimal38, ["9".repeat(38), `-${"9".repeat(38)}`]],
  [decimal, ["0.00", "-0.01", "999.99", "-999.99"]],
  [fraction, ["0.99", "-0.01"]],
  [{ kind: "boolean" }, [true, false]],
  [{ kind: "date" }, ["0001-01-01", "2024-02-29", "9999-12-31"]],
  [milli, ["2026-03-08T07:00:00.123Z", "0001-01-01T00:00:00.000Z"]],
  [{ kind: "timestamp", fraction: 0 }, ["1969-12-31T23:59:59Z"]],
  [{ kind: "json" }, [0, "", false, [], {}, { a: [null] }, nested(maxJsonDepth)]],
];

const refused: readonly (readonly [ColumnType, string, readonly unknown[]])[] = [
  [{ kind: "string" }, "WRONG_TYPE", [1, true, [], {}, 1n]],
  [{ kind: "string" }, "LONE_SURROGATE", ["\ud800", "a\udc00b", "\udc00\ud800"]],
  [{ kind: "integer" }, "WRONG_TYPE", ["1", 1.5, true]],
  [{ kind: "integer" }, "OUT_OF_RANGE", [2 ** 53, -(2 ** 53), Number.NaN, Number.POSITIVE_INFINITY]],
  [{ kind: "integer" }, "NEGATIVE_ZERO", [-0]],
  [{ kind: "number" }, "WRONG_TYPE", ["1.5"]],
  [{ kind: "number" }, "OUT_OF_RANGE", [Number.NaN, Number.NEGATIVE_INFINITY]],
  [{ kind: "number" }, "NEGATIVE_ZERO", [-0]],
  [int64, "WRONG_TYPE", [1, 1n]],
  [int64, "NOT_CANONICAL_TEXT", ["", "01", "+1", "-0", "1.0", "1e3", " 1", "1,000", "\u0661"]],
  [int64, "OUT_OF_RANGE", ["9223372036854775808", "-9223372036854775809", "1".repeat(40)]],
  [decimal38, "OUT_OF_RANGE", ["1".repeat(39)]],
  [decimal, "WRONG_TYPE", [1.5]],
  [decimal, "NOT_CANONICAL_TEXT", ["1", "1.5", "1.500", "01.50", "+1.50", ".50", "1,50", "1.50 ", "NaN"]],
  [decimal, "OUT_OF_RANGE", ["1000.00", "-1000.00"]],
  [decimal, "NEGATIVE_ZERO", ["-0.00"]],
  [fraction, "OUT_OF_RANGE", ["1.00"]],
  [{ kind: "boolean" }, "WRONG_TYPE", ["true", 1]],
  [{ kind: "date" }, "WRONG_TYPE", [20260308]],
  [
    { kind: "date" },
    "NOT_CANONICAL_TEXT",
    ["2026-02-29", "2026-13-01", "0000-01-01", "2026-3-8", "2026-03-08T00:00:00Z"],
  ],
  [milli, "WRONG_TYPE", [1772953200123]],
  [
    milli,
    "NOT_CANONICAL_TEXT",
    [
      "2026-03-08T07:00:00Z",
      "2026-03-08T07:00:00.123456Z",
      "2026-03-08T07:00:00.123+00:00",
      "2026-03-08T24:00:00.000Z",
      "2026-03-08T23:59:60.000Z",
      "2026-02-30T00:00:00.000Z",
    ],
  ],
  [{ kind: "json" }, "LONE_SURROGATE", [{ "\ud800": 1 }, ["\udfff"]]],
  [{ kind: "json" }, "WRONG_TYPE", [[undefined], { a: undefined }, new Map(), new Date(0), 1n, new Array(2)]],
  [{ kind: "json" }, "OUT_OF_RANGE", [[Number.NaN]]],
  [{ kind: "json" }, "TOO_DEEP", [nested(maxJsonDepth + 1)]],
];

describe("row validator", () => {
  for (const [type, values] of accepted) {
    it(`accepts ${JSON.stringify(type)} at its edges`, () => {
      expect(values.map((value) => codeOf(type, value))).toEqual(values.map(() => undefined));
    });
  }

  for (const [type, code, values] of refused) {
    it(`B34 B39: refuses ${JSON.stringify(type)} with ${code}`, () => {
      expect(values.map((value) => codeOf(type, value))).toEqual(values.map(() => code));
    });
  }

  const member = (missing: ProfileMember["missing"]): ProfileMember => ({
    name: missing,
    type: { kind: "string" },
    missing,
  });
  const validate = createRowValidator({
    members: [member("forbidden"), member("null"), member("absent"), member("null-or-absent")],
    primaryKeys: [],
    controlTotals: [],
  });

  it("B21: null and absent are each legal only where the profile says so", () => {
    expect(validate({ forbidden: "", null: null }, 1)).toEqual([]);
    expect(validate({ forbidden: "", null: "", absent: "", "null-or-absent": null }, 1)).toEqual([]);
    expect(validate({ forbidden: null, absent: null }, 7).map(({ code, member }) => [code, member])).toEqual([
      ["NULL_MEMBER", "forbidden"],
      ["MISSING_MEMBER", "null"],
      ["NULL_MEMBER", "absent"],
    ]);
  });

  it("names row and member of every problem, never the value", () => {
    const problems = validate({ forbidden: 4711 as never, null: null, stranger: "secret", toString: "x" }, 12);
    expect(problems.map(({ code, row, member }) => [code, row, member])).toEqual([
      ["WRONG_TYPE", 12, "forbidden"],
      ["UNKNOWN_MEMBER", 12, "stranger"],
      ["UNKNOWN_MEMBER", 12, "toString"],
    ]);
    expect(JSON.stringify(problems)).not.toMatch(/4711|secret/);
    expect(problems[0]?.message).toBe("row 12: forbidden: must be a string");
  });

  it("members of Object.prototype are not taken for the row's own", () => {
    const inherited = createRowValidator({
      members: [{ name: "constructor", type: { kind: "string" }, missing: "forbidden" }],
      primaryKeys: [],
      controlTotals: [],
    });
    expect(inherited({}, 1).map(({ code }) => code)).toEqual(["MISSING_MEMBER"]);
    expect(inherited(JSON.parse('{"constructor":"x","__proto__":1}'), 1).map(({ member }) => member)).toEqual([
      "__proto__",
    ]);
  });
});
