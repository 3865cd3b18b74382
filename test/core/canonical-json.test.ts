import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalBytes, canonicalJson } from "../../core/canonical-json.ts";
import { JsonError, parseJson } from "../../core/strict-json.ts";

function digest(value: unknown): { bytes: number; sha256: string } {
  const bytes = canonicalBytes(value);
  return { bytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") };
}

function refusal(value: unknown): JsonError {
  try {
    canonicalJson(value);
  } catch (error) {
    if (error instanceof JsonError) return error;
    throw error;
  }
  throw new Error("accepted");
}

describe("canonicalJson", () => {
  it("B34 encodes exact values as the strings they are", () => {
    const row = canonicalJson({ id: "9007199254740993", spend: "12.340000" });
    expect(createHash("sha256").update(`${row}\n`).digest("hex")).toBe(
      "830b3273268e2d9d5973d9aa3f2ec9d1b761210eb5308ce77d204da25dbf275c",
    );
  });

  it("B37 orders members by UTF-16 code unit", () => {
    const value = { "\u{1F600}": 1, "\uFB33": 2, a: 3 };
    expect(canonicalJson(value)).toBe('{"a":3,"\u{1F600}":1,"\uFB33":2}');
    expect(digest(value)).toEqual({
      bytes: 24,
      sha256: "5f53f9e5bfabd882a5023df271e6e68a16836872ba174de6d778b38dfca6b983",
    });
  });

  it("B38 prints numbers as ECMAScript does", () => {
    expect(digest({ spend: 0.1 + 0.2, impressions: 1200, ctr: 1e-7 })).toEqual({
      bytes: 59,
      sha256: "ce4b8f84c7c1d91080c16ed1756f439218554bfe917e18b1bd975a79da5cc4e3",
    });
  });

  it("prints the number samples of RFC 8785 appendix B", () => {
    const samples: readonly (readonly [string, string])[] = [
      ["0000000000000000", "0"],
      ["8000000000000000", "0"],
      ["0000000000000001", "5e-324"],
      ["8000000000000001", "-5e-324"],
      ["7fefffffffffffff", "1.7976931348623157e+308"],
      ["4340000000000000", "9007199254740992"],
      ["4430000000000000", "295147905179352830000"],
      ["44b52d02c7e14af5", "9.999999999999997e+22"],
      ["44b52d02c7e14af6", "1e+23"],
      ["444b1ae4d6e2ef4f", "999999999999999900000"],
      ["444b1ae4d6e2ef50", "1e+21"],
      ["3eb0c6f7a0b5ed8c", "9.999999999999997e-7"],
      ["3eb0c6f7a0b5ed8d", "0.000001"],
      ["41b3de4355555553", "333333333.3333332"],
      ["41b3de4355555557", "333333333.33333343"],
      ["becbf647612f3696", "-0.0000033333333333333333"],
      ["43143ff3c1cb0959", "1424953923781206.2"],
    ];
    for (const [hex, text] of samples) {
      const value = new DataView(new Uint8Array(hex.match(/../g)?.map((byte) => parseInt(byte, 16)) ?? []).buffer);
      expect(canonicalJson(value.getFloat64(0))).toBe(text);
    }
  });

  it("B39 refuses lone surrogates in values and names, and keeps pairs and U+FFFD", () => {
    expect(refusal("\uD800").code).toBe("LONE_SURROGATE");
    expect(refusal({ "\uDC00": 1 }).code).toBe("LONE_SURROGATE");
    expect(refusal({ note: ["a\uDC00\uD800"] })).toMatchObject({ code: "LONE_SURROGATE", member: "note" });
    expect(refusal("\uD83D").code).toBe("LONE_SURROGATE");
    expect(canonicalJson("\uFFFD\u{1F600}")).toBe('"\uFFFD\u{1F600}"');
  });

  it("B40 escapes only what must be escaped", () => {
    const value = {
      campaign_id: "c-1",
      date: "2026-03-08",
      impressions: "9007199254740993",
      spend: "12.340000",
      note: null,
      name: 'Caf\u00e9 "A", B\nline2',
    };
    expect(digest(value)).toEqual({
      bytes: 137,
      sha256: "7a3bb0242eef010b7a0ec1542032f492ca10ae60c258af0ddeaf117cdc8ed998",
    });
    expect(canonicalJson('\u2028\u2029\u0085\u007f\u0000\u001f\b\t\n\f\r"\\/')).toBe(
      '"\u2028\u2029\u0085\u007f\\u0000\\u001f\\b\\t\\n\\f\\r\\"\\\\/"',
    );
  });

  it("B40 refuses what JSON.stringify would drop or convert", () => {
    const holes: unknown[] = [1];
    holes.length = 3;
    const values: unknown[] = [
      undefined,
      { a: 1, note: undefined },
      new Map(),
      { at: new Date(0) },
      holes,
      [undefined],
      1n,
      { b: () => 1 },
    ];
    values.push(Number.NaN, Number.POSITIVE_INFINITY, Symbol("s"), new Uint8Array(1), new (class A {})(), Object(1));
    for (const value of values) expect(refusal(value).code).toBe("NOT_JSON");
    expect(refusal({ a: 1, note: undefined }).member).toBe("note");
  });

  it("refuses a value that contains itself", () => {
    const cyclic: { self?: unknown } = {};
    cyclic.self = cyclic;
    expect(refusal(cyclic).code).toBe("TOO_DEEP");
  });

  it("parses back to the same value and encodes to the same text again, whatever the member order", () => {
    const value = fc.jsonValue({ noUnicodeString: false, depthSize: "medium" });
    fc.assert(
      fc.property(value, (original) => {
        const text = canonicalJson(original);
        const parsed = parseJson(text);
        expect(canonicalJson(parsed)).toBe(text);
        expect(parsed).toEqual(JSON.parse(JSON.stringify(original)));
        expect(canonicalJson(reversed(original))).toBe(text);
      }),
      { numRuns: 500 },
    );
  });
});

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, member]) => [name, reversed(member)]),
  );
}
