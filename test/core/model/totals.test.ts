import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { WaybillError } from "../../../core/errors.ts";
import type { JsonValue } from "../../../core/json.ts";
import { decimalToScaled, scaledToDecimal } from "../../../core/model/decimal.ts";
import type { ControlTotal } from "../../../core/model/records.ts";
import { controlTotalProblems, createTotals, totalDifferences } from "../../../core/model/totals.ts";
import type { ControlTotalRule } from "../../../core/rows/profile.ts";

const spend = (scale: number): ControlTotalRule => ({
  name: "spend",
  member: "spend",
  value_type: "decimal",
  scale,
  unit: "USD",
});
const clicks: ControlTotalRule = { name: "clicks", member: "clicks", value_type: "integer", scale: 0 };

function sum(values: readonly JsonValue[], scale: number): string | undefined {
  const totals = createTotals([spend(scale)]);
  for (const value of values) totals.add({ spend: value });
  return totals.result()[0]?.value;
}

/** School addition on decimal texts, digit by digit: slow, and shares nothing with the code under test. */
function schoolSum(values: readonly string[], scale: number): string {
  const column = (sign: string): string =>
    values.filter((text) => text.startsWith("-") === (sign === "-")).reduce(plus, "0");
  const pad = (text: string): string => {
    const [whole = "0", fraction = ""] = text.replace("-", "").split(".");
    return whole + fraction.padEnd(scale, "0");
  };
  function plus(left: string, right: string): string {
    const a = [...left].reverse();
    const b = [...pad(right)].reverse();
    let carry = 0;
    let digits = "";
    for (let place = 0; place < Math.max(a.length, b.length) || carry > 0; place++) {
      const digit = Number(a[place] ?? 0) + Number(b[place] ?? 0) + carry;
      digits = String(digit % 10) + digits;
      carry = Math.floor(digit / 10);
    }
    return digits;
  }
  const difference = BigInt(column("+")) - BigInt(column("-"));
  const digits = String(difference)
    .replace("-", "")
    .padStart(scale + 1, "0");
  const text = scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
  return difference < 0n ? `-${text}` : text;
}

describe("createTotals", () => {
  it("B32 sums decimals exactly and keeps the scale", () => {
    expect(
      sum(
        Array.from({ length: 10 }, () => "0.1"),
        1,
      ),
    ).toBe("1.0");
    expect(sum(["3.50", "4.50"], 2)).toBe("8.00");
    expect(sum([], 2)).toBe("0.00");
    expect(sum(["-0.01", "0.01"], 2)).toBe("0.00");
    expect(sum(["-0.01"], 2)).toBe("-0.01");
    expect(sum(["0.1", "0.2"], 1)).toBe("0.3");
  });

  it("stays exact beyond 2^53 and 2^63, in both directions", () => {
    expect(sum(["9007199254740993", "9007199254740993"], 0)).toBe("18014398509481986");
    expect(sum(["9223372036854775807", "1", "-9223372036854775808"], 0)).toBe("0");
    expect(sum(["99999999999999999999999999999999.999999", "0.000001"], 6)).toBe(
      "100000000000000000000000000000000.000000",
    );
    expect(sum([9007199254740991, 9007199254740991, 9007199254740991], 0)).toBe("27021597764222973");
    expect(sum([-9007199254740991, -9007199254740991, 1], 0)).toBe("-18014398509481981");
  });

  it("equals school addition, for any decimals of up to 30 digits", () => {
    const decimal = fc
      .tuple(fc.boolean(), fc.bigInt({ min: 0n, max: 10n ** 24n }), fc.integer({ min: 0, max: 6 }))
      .map(([negative, digits, scale]) => scaledToDecimal(negative ? -digits : digits, scale));
    const small = fc.integer({ min: -1_000_000, max: 1_000_000 }).map((cents) => scaledToDecimal(BigInt(cents), 2));
    fc.assert(
      fc.property(fc.array(fc.oneof(decimal, small), { maxLength: 60 }), (values) => {
        expect(sum(values, 6)).toBe(schoolSum(values, 6));
      }),
      { numRuns: 500 },
    );
  });

  it("adds nothing for null and missing members and sums JSON numbers by their text", () => {
    const totals = createTotals([spend(2), clicks]);
    totals.add({ spend: null, clicks: 3 });
    totals.add({ clicks: "4" });
    totals.add({ spend: 0.1, clicks: -0 });
    totals.add({ spend: 0.2 });
    expect(totals.result()).toEqual([
      { name: "spend", value: "0.30", value_type: "decimal", unit: "USD" },
      { name: "clicks", value: "7", value_type: "integer" },
    ]);
  });

  it("refuses what is no exact number, names every such member and adds nothing of that row", () => {
    const totals = createTotals([spend(2), clicks]);
    totals.add({ spend: "1.00", clicks: 1 });
    const refusedBy = (row: { readonly [name: string]: JsonValue }): readonly (string | undefined)[] => {
      try {
        totals.add(row);
      } catch (error) {
        if (error instanceof WaybillError) return error.problems.map(({ member }) => member);
      }
      return [];
    };
    expect(refusedBy({ spend: "x", clicks: 1.5 })).toEqual(["spend", "clicks"]);
    for (const text of [
      "-0",
      "-0.00",
      "01",
      "1.",
      ".5",
      "1e3",
      "+1",
      "",
      " 1",
      "1.001",
      "0x1",
      "1_000",
      "--1",
      "1.2.3",
    ]) {
      expect([text, refusedBy({ spend: text, clicks: 1 })]).toEqual([text, ["spend"]]);
    }
    expect(refusedBy({ clicks: 9007199254740992 })).toEqual(["clicks"]);
    expect(refusedBy({ spend: 1e21 })).toEqual(["spend"]);
    expect(refusedBy({ spend: true, clicks: {} })).toEqual(["spend", "clicks"]);
    expect(totals.result().map(({ value }) => value)).toEqual(["1.00", "1"]);
  });
});

describe("decimals", () => {
  it("round trip through scaled integers", () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: -(10n ** 38n), max: 10n ** 38n }),
        fc.integer({ min: 0, max: 20 }),
        (scaled, scale) => {
          const text = scaledToDecimal(scaled, scale);
          expect(BigInt(decimalToScaled(text, scale) ?? "x")).toBe(scaled);
          expect(text).not.toMatch(/^-0(\.0*)?$/);
        },
      ),
      { numRuns: 1000 },
    );
  });

  it("take fewer fraction digits than the scale, never more", () => {
    expect(decimalToScaled("1.5", 3)).toBe(1500);
    expect(decimalToScaled("999999999999999", 3)).toBe(999999999999999000n);
    expect(decimalToScaled("1.500", 2)).toBeUndefined();
  });
});

describe("totalDifferences", () => {
  const total = (change: Partial<ControlTotal> = {}): ControlTotal => ({
    name: "spend",
    value: "8.00",
    value_type: "decimal",
    unit: "USD",
    ...change,
  });

  it("compares as a set keyed by name", () => {
    const other: ControlTotal = { name: "clicks", value: "1", value_type: "integer" };
    expect(totalDifferences([total(), other], [other, total()])).toEqual([]);
  });

  it("tells value, unit and type apart; 8.0 is not 8.00", () => {
    const unitless: ControlTotal = { name: "spend", value: "8.00", value_type: "decimal" };
    expect(totalDifferences([total()], [total({ value: "8.0" })])).toEqual([
      { name: "spend", aspect: "value", expected: "8.00", actual: "8.0" },
    ]);
    expect(totalDifferences([total()], [unitless])).toEqual([
      { name: "spend", aspect: "unit", expected: "USD", actual: undefined },
    ]);
    expect(totalDifferences([total()], [total({ value_type: "integer", value: "8" })])).toHaveLength(2);
  });

  it("reports names that one side lacks or has twice", () => {
    expect(totalDifferences([total()], [])).toEqual([
      { name: "spend", aspect: "presence", expected: "8.00", actual: undefined },
    ]);
    expect(totalDifferences([], [total()])).toMatchObject([{ aspect: "presence", expected: undefined }]);
    expect(totalDifferences([total()], [total(), total()])).toMatchObject([{ aspect: "presence" }]);
  });

  it("declared totals are refused for a repeated name, a bad name or text that is not canonical", () => {
    expect(controlTotalProblems([total(), total({ name: "x", value: "-1.50" })])).toEqual([]);
    expect(controlTotalProblems([total(), total()]).map(({ field }) => field)).toEqual(["control_totals[1].name"]);
    for (const value of ["-0", "-0.00", "01", "1e3", "", "1.", "٣"]) {
      expect(controlTotalProblems([total({ value })])).toMatchObject([{ field: "control_totals[0].value" }]);
    }
    expect(controlTotalProblems([total({ value_type: "integer", value: "1.0" })])).toHaveLength(1);
    expect(controlTotalProblems([total({ name: "1st" })])).toHaveLength(1);
  });
});
