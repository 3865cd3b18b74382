import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { jsonlEncoder } from "../../../core/encoding/jsonl.ts";
import { DeliveryError, WaybillError } from "../../../core/errors.ts";

describe("JSONL text", () => {
  it("is one RFC 8785 text per line, exact values as strings (B34)", () => {
    const line = Buffer.from(jsonlEncoder.encode({ spend: "12.340000", id: "9007199254740993" }, 1));
    expect(line.toString()).toBe('{"id":"9007199254740993","spend":"12.340000"}\n');
    expect(createHash("sha256").update(line).digest("hex")).toBe(
      "830b3273268e2d9d5973d9aa3f2ec9d1b761210eb5308ce77d204da25dbf275c",
    );
  });

  it("B33 escapes the characters that line readers of others split on, in values and in names", () => {
    const line = jsonlEncoder.encode({ "a\u2028": "b\u0085c\u2029", n: ["\u2028"] }, 1);
    expect(line).toBe('{"a\\u2028":"b\\u0085c\\u2029","n":["\\u2028"]}\n');
    expect(JSON.parse(line)).toEqual({ "a\u2028": "b\u0085c\u2029", n: ["\u2028"] });
  });

  it("B39 refuses a lone surrogate by row and member", () => {
    try {
      jsonlEncoder.encode({ id: "a", note: "\uD800" }, 4);
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(DeliveryError);
      const cause = (error as DeliveryError).cause;
      expect(cause).toBeInstanceOf(WaybillError);
      expect((cause as WaybillError).problems).toMatchObject([{ code: "ROW_NOT_ENCODABLE", row: 4, member: "note" }]);
    }
  });
});
