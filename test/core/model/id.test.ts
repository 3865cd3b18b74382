import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nodeHasher } from "../../../core/digest/node-hasher.ts";
import { WaybillError } from "../../../core/errors.ts";
import { assertId, compareCodePoints, idSet, isId, newId, pathSegment } from "../../../core/model/id.ts";

describe("ids", () => {
  it("are 1 to 255 characters of the wire's alphabet", () => {
    for (const id of ["a", "..", "acct:1", "a_b.c:d-9", "x".repeat(255)]) expect(isId(id)).toBe(true);
    for (const id of ["", "a b", "a/b", "é", "x".repeat(256), "a\n", "a\u0000"]) expect(isId(id)).toBe(false);
  });

  it("name the field, not the value, when refused", () => {
    expect(assertId("rev.1", "revision")).toBe("rev.1");
    try {
      assertId("secret value", "--revision");
      throw new Error("accepted");
    } catch (error) {
      expect(error).toBeInstanceOf(WaybillError);
      expect(error).toMatchObject({ kind: "usage", problems: [{ code: "INVALID_ID", field: "--revision" }] });
      expect(String(error)).not.toContain("secret");
    }
  });

  it("new ones are fresh, legal and carry 130 bits in lower case", () => {
    const ids = new Set(Array.from({ length: 1000 }, () => newId("rev")));
    expect(ids.size).toBe(1000);
    for (const id of ids) expect(id).toMatch(/^rev_[a-z2-7]{26}$/);
  });
});

describe("pathSegment", () => {
  it("is base32 of sha256, never the id itself", () => {
    // Python: base64.b32encode(hashlib.sha256(b"..").digest())[:26].lower()
    expect(pathSegment("r", "..", nodeHasher("sha256"))).toBe("r_l3a7pzya6n6d2czjqhieqvp4gs");
    expect(pathSegment("m", "revision-august-official", nodeHasher("sha256"))).toBe("m_pguzkjzfrofuznw2gme5zzrgox");
  });
});

describe("id sets", () => {
  it("are distinct and sorted by code point, not by UTF-16 unit", () => {
    expect(idSet(["\u{1F600}", "\uFB33", "b", "a", "a", "B"])).toEqual(["B", "a", "b", "\uFB33", "\u{1F600}"]);
  });

  it("compare like the code points of the texts", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "\uFB33", "\uFFFF", "\u{1F600}", "\u{10FFFF}", "\uD7FF") });
    fc.assert(
      fc.property(text, text, (left, right) => {
        const a = [...left].map((character) => character.codePointAt(0) ?? 0);
        const b = [...right].map((character) => character.codePointAt(0) ?? 0);
        let expected = 0;
        for (let index = 0; expected === 0 && index < Math.max(a.length, b.length); index++) {
          expected = Math.sign((a[index] ?? -1) - (b[index] ?? -1));
        }
        expect(Math.sign(compareCodePoints(left, right))).toBe(expected);
      }),
    );
  });
});
