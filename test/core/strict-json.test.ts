import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JsonError, type JsonErrorCode, parseJson, parseJsonBytes } from "../../core/strict-json.ts";

function refusal(text: string | Uint8Array, maxDepth?: number): JsonError {
  const limits = maxDepth === undefined ? {} : { maxDepth };
  try {
    if (typeof text === "string") parseJson(text, limits);
    else parseJsonBytes(text, limits);
  } catch (error) {
    if (error instanceof JsonError) return error;
    throw error;
  }
  throw new Error(`accepted ${JSON.stringify(text)}`);
}

function refused(code: JsonErrorCode, texts: readonly string[]): void {
  for (const text of texts) expect([text, refusal(text).code]).toEqual([text, code]);
}

describe("parseJson", () => {
  it("reads what JSON.parse reads, for any JSON whose numbers are exact", () => {
    fc.assert(
      fc.property(fc.json({ noUnicodeString: false, depthSize: "medium" }), (text) => {
        const value: unknown = JSON.parse(text);
        if (/-0(?![.\d])|-0\.0*(?![\d])/.test(text)) return;
        expect(parseJson(text)).toEqual(value);
      }),
      { numRuns: 500 },
    );
  });

  it("accepts the shortest text of any double and returns that double", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        fc.pre(!Object.is(value, -0));
        expect(parseJson(String(value))).toBe(value);
        expect(parseJson(value.toExponential())).toBe(value);
      }),
      { numRuns: 1000 },
    );
  });

  it("accepts other spellings of a value that a double keeps", () => {
    const spellings: readonly (readonly [string, number])[] = [
      ["1.50", 1.5],
      ["1E2", 100],
      ["1.0", 1],
      ["100e-2", 1],
      ["0.10e+1", 1],
      ["0.1", 0.1],
      ["0.0", 0],
      ["0e999999999999999999", 0],
      ["9007199254740991", 9007199254740991],
      ["9007199254740994", 9007199254740994],
      ["1e21", 1e21],
      ["-12.500", -12.5],
      ["5e-324", 5e-324],
      [`1${"0".repeat(300)}e-300`, 1],
    ];
    for (const [text, value] of spellings) expect(parseJson(text)).toBe(value);
  });

  it("B34 refuses numbers that a double cannot hold as written", () => {
    refused("INEXACT_NUMBER", [
      "9007199254740993",
      "-9007199254740993",
      "12345678901234567890",
      "0.1000000000000000055",
      "0.1000000000000000055511151231257827021181583404541015625",
      "1e-400",
      "0.30000000000000004000001",
      "9007199254740993.0",
      "900719925474099.3e1",
    ]);
    refused("NUMBER_OUT_OF_RANGE", ["1e309", "-1e309", "1e99999999999999999999"]);
    refused("NEGATIVE_ZERO", ["-0", "-0.0", "-0e5", "[-0]"]);
    expect(refusal('{"spend":"1","id":9007199254740993}')).toMatchObject({ offset: 18, member: "id" });
  });

  it("B34 keeps exact values that travel as strings", () => {
    const text = '{"id":"9007199254740993","spend":"12.340000"}';
    expect(parseJson(text)).toEqual({ id: "9007199254740993", spend: "12.340000" });
  });

  it("B35 B36 refuses repeated members, nested ones and those that differ only by escape", () => {
    refused("DUPLICATE_MEMBER", [
      '{"row_count":1,"row_count":2}',
      '{"complete":false,"complete":true}',
      '{"control_totals":[{"name":"a","name":"b"}]}',
      '{"a":1,"\\u0061":2}',
      '{"__proto__":1,"__proto__":2}',
      '{"":1,"":1}',
    ]);
    expect(refusal('{"x":1,"t":{"a":1,"a":2}}').member).toBe("t");
    expect(parseJson('{"constructor":1,"toString":2,"hasOwnProperty":3}')).toEqual({
      constructor: 1,
      toString: 2,
      hasOwnProperty: 3,
    });
  });

  it("keeps a member named __proto__ as a member", () => {
    const value = parseJson('{"__proto__":{"x":1}}');
    expect(Object.keys(value as object)).toEqual(["__proto__"]);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  it("B39 refuses lone surrogates, raw and escaped, and keeps pairs and U+FFFD", () => {
    refused("LONE_SURROGATE", [
      '"\\uD800"',
      '{"\\uDC00":1}',
      '"\\uD83D\\n"',
      '"\\uD83D\\u0041"',
      '"\\uD83Dx"',
      '"\uD800"',
      '"\uDC00\uD800"',
      '"\\n\uD800"',
      '"\uD83D\\uDE00"',
      '"\\uD83D\uDE00"',
    ]);
    expect(parseJson('"\\uD83D\\uDE00 \u{1F600} \uFFFD \\ufffd"')).toBe("\u{1F600} \u{1F600} \uFFFD \uFFFD");
  });

  it("resolves every escape and refuses unknown ones", () => {
    expect(parseJson('"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00E9x"')).toBe('"\\/\b\f\n\r\t\u00e9x');
    refused("SYNTAX", ['"\\x"', '"\\u12"', '"\\u12G4"', '"\\']);
  });

  it("refuses what is not JSON", () => {
    refused("SYNTAX", [
      "",
      " ",
      "[1,]",
      '{"a":1,}',
      "{a:1}",
      "[1 2]",
      "01",
      "1.",
      ".5",
      "+1",
      "1e",
      "1e+",
      "--1",
      "-",
      "nul",
    ]);
    refused("SYNTAX", ["NaN", "Infinity", "'a'", '"a', "[", "{", '{"a"', '{"a":', "[1", "\u00a01", "tru", "]"]);
    refused("TRAILING_TEXT", ["1 2", "{}{}", "null,", '""\u0000', "1x"]);
    refused("CONTROL_CHARACTER", ['"\n"', '"\u0000"', '"\\n\t"', '{"\u001f":1}']);
    refused("BYTE_ORDER_MARK", ["\ufeff{}"]);
  });

  it("bounds nesting without overflowing the stack", () => {
    expect(parseJson("[".repeat(64) + "]".repeat(64))).toBeInstanceOf(Array);
    expect(refusal("[".repeat(65) + "]".repeat(65))).toMatchObject({ code: "TOO_DEEP", offset: 64 });
    expect(refusal('{"a":'.repeat(1_000_000)).code).toBe("TOO_DEEP");
    expect(refusal("[".repeat(1_000_000), 1000).code).toBe("TOO_DEEP");
    expect(refusal("[[1]]", 1).code).toBe("TOO_DEEP");
    expect(parseJson("[[],[],[]]", { maxDepth: 2 })).toEqual([[], [], []]);
    expect(() => parseJson("1", { maxDepth: 5000 })).toThrow(RangeError);
  });

  it("reads white space around every token", () => {
    expect(parseJson(' \t\r\n{ "a" : [ 1 , true , null ] , "b" : { } } \n')).toEqual({ a: [1, true, null], b: {} });
  });
});

describe("parseJsonBytes", () => {
  it("names the first byte that is not UTF-8", () => {
    expect(refusal(Uint8Array.of(0x22, 0x41, 0xff, 0x22))).toMatchObject({ code: "INVALID_UTF8", offset: 2 });
    // A surrogate encoded as UTF-8, and an overlong slash.
    expect(refusal(Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22)).code).toBe("INVALID_UTF8");
    expect(refusal(Uint8Array.of(0x22, 0xc0, 0xaf, 0x22)).code).toBe("INVALID_UTF8");
    expect(refusal(Uint8Array.of(0x22, 0xe2, 0x82)).code).toBe("INVALID_UTF8");
  });

  it("refuses a leading byte order mark and keeps U+FEFF inside a string", () => {
    expect(refusal(Uint8Array.of(0xef, 0xbb, 0xbf, 0x31)).code).toBe("BYTE_ORDER_MARK");
    expect(parseJsonBytes(new TextEncoder().encode('"\ufeffa"'))).toBe("\ufeffa");
  });
});
