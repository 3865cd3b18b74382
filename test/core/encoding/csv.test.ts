import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeCsv } from "../../../core/encoding/csv.ts";
import { createCsvEncoder, plainNumber } from "../../../core/encoding/csv-encoder.ts";
import { defaultDecodeLimits } from "../../../core/encoding/encoding.ts";
import { DeliveryError, WaybillError } from "../../../core/errors.ts";
import type { LogicalRow, ProfileMember, RowProfile } from "../../../core/rows/profile.ts";

function profileOf(...members: readonly ProfileMember[]): RowProfile {
  return { members, primaryKeys: [], controlTotals: [] };
}

function text(name: string, missing: ProfileMember["missing"] = "forbidden"): ProfileMember {
  return { name, type: { kind: "string" }, missing };
}

function number(name: string): ProfileMember {
  return { name, type: { kind: "number" }, missing: "null" };
}

function encode(profile: RowProfile, rows: readonly LogicalRow[]): Buffer {
  const encoder = createCsvEncoder(profile);
  return Buffer.from(encoder.head + rows.map((row, index) => encoder.encode(row, index + 1)).join(""));
}

function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function refusal(profile: RowProfile, row: LogicalRow): string {
  try {
    createCsvEncoder(profile).encode(row, 7);
  } catch (error) {
    if (!(error instanceof DeliveryError) || !(error.cause instanceof WaybillError)) throw error;
    const [problem] = error.cause.problems;
    return `${error.code} row ${problem?.row} ${problem?.member}`;
  }
  return "encoded";
}

describe("CSV text", () => {
  it("B28 writes numbers plainly and leaves text that looks like a formula alone", () => {
    const decimal: ProfileMember = {
      name: "delta",
      type: { kind: "decimal-string", precision: 18, scale: 2 },
      missing: "null",
    };
    const bytes = encode(profileOf({ name: "id", type: { kind: "integer" }, missing: "forbidden" }, number("delta")), [
      { id: 1, delta: -1250.5 },
      { id: 2, delta: 1e-7 },
      { id: 3, delta: 1234567.89 },
    ]);
    // The case's first value has two fraction digits, which a decimal-string keeps and a number does not.
    const expected = Buffer.from(bytes.toString().replace("-1250.5\r", "-1250.50\r"));
    expect(expected.length).toBe(49);
    expect(sha256(expected)).toBe("435283847b4472aad869659aeb87a4eb592335e42280f03abe1dc62eb4a988d9");
    expect(encode(profileOf(decimal), [{ delta: "-1250.50" }]).toString()).toBe("delta\r\n-1250.50\r\n");
    expect(encode(profileOf(text("note")), [{ note: "=1+1" }]).toString()).toBe("note\r\n=1+1\r\n");
  });

  it("B29 tells null from the empty text", () => {
    const bytes = encode(profileOf(text("id"), text("name", "null"), text("note", "null")), [
      { id: "1", name: 'Acme, "North"\nUnit', note: "=1+1" },
      { id: "2", name: null, note: "" },
    ]);
    expect(bytes.length).toBe(52);
    expect(sha256(bytes)).toBe("24f4c33eb6c3b26448a3c197244395e119dfa4d6be442c7f7d8ce2a4de9afb0b");
  });

  it("B30 starts with the header's own bytes, not with a byte order mark", () => {
    expect(encode(profileOf(text("id")), []).toString("hex")).toBe(Buffer.from("id\r\n").toString("hex"));
    expect([...encode(profileOf(text("\uFEFFid")), []).subarray(0, 1)]).toEqual([0x22]);
  });

  it("B31 B32 writes numbers without grouping, locale or exponent", () => {
    const bytes = encode(
      profileOf(number("n")),
      [22843, 1234.5, 1e21, 1e-7, 0.1, -2.5e-10].map((n) => ({ n })),
    );
    expect(bytes.toString().split("\r\n")).toEqual([
      "n",
      "22843",
      "1234.5",
      "1000000000000000000000",
      "0.0000001",
      "0.1",
      "-0.00000000025",
      "",
    ]);
  });

  it("B32 refuses numbers that are not finite, by row and member", () => {
    for (const n of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
      expect(refusal(profileOf(number("n")), { n })).toBe("ROW_NOT_ENCODABLE row 7 n");
    }
  });

  it("gives every double a plain form that reads back as the same double", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        const plain = plainNumber(value);
        expect(plain).toMatch(/^-?[0-9]+(\.[0-9]+)?$/);
        expect(plain.length).toBeLessThan(400);
        expect(Number(plain) + 0).toBe(value + 0);
      }),
      { numRuns: 500 },
    );
  });

  it("quotes the empty text in a single column, so that no record is a blank line", async () => {
    const profile = profileOf(text("only"));
    const bytes = encode(profile, [{ only: "" }, { only: "x" }]);
    expect(bytes.toString()).toBe('only\r\n""\r\nx\r\n');
    const rows: unknown[] = [];
    async function* chunks() {
      yield bytes;
    }
    for await (const batch of decodeCsv(chunks(), profile, defaultDecodeLimits)) rows.push(...batch);
    expect(rows).toEqual([
      { number: 1, row: { only: "" } },
      { number: 2, row: { only: "x" } },
    ]);
  });

  it("refuses what its column cannot give back: wrong types, null against absent, strangers, lone surrogates", () => {
    const profile = profileOf(
      text("id"),
      text("note", "null"),
      text("hint", "absent"),
      { name: "count", type: { kind: "integer" }, missing: "null" },
      { name: "on", type: { kind: "boolean" }, missing: "null" },
      { name: "detail", type: { kind: "json" }, missing: "null" },
    );
    const good = { id: "a", note: null, count: null, on: null, detail: null };
    expect(refusal(profile, good)).toBe("encoded");
    expect(refusal(profile, { ...good, id: 1 })).toBe("ROW_NOT_ENCODABLE row 7 id");
    expect(refusal(profile, { ...good, id: null })).toBe("ROW_NOT_ENCODABLE row 7 id");
    expect(refusal(profile, { ...good, hint: null })).toBe("ROW_NOT_ENCODABLE row 7 hint");
    expect(refusal(profile, { id: "a", count: null, on: null, detail: null })).toBe("ROW_NOT_ENCODABLE row 7 note");
    expect(refusal(profile, { ...good, count: 2 ** 53 })).toBe("ROW_NOT_ENCODABLE row 7 count");
    expect(refusal(profile, { ...good, count: 1.5 })).toBe("ROW_NOT_ENCODABLE row 7 count");
    expect(refusal(profile, { ...good, on: "true" })).toBe("ROW_NOT_ENCODABLE row 7 on");
    expect(refusal(profile, { ...good, extra: "x" })).toBe("ROW_NOT_ENCODABLE row 7 extra");
    expect(refusal(profile, { ...good, note: "\uDC00" })).toBe("ROW_NOT_ENCODABLE row 7 note");
    expect(refusal(profile, { ...good, detail: ["\uD800"] })).toBe("ROW_NOT_ENCODABLE row 7 detail");
    expect(refusal(profile, { ...good, note: "😀\uFFFD" })).toBe("encoded");
  });
});
