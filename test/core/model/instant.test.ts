import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  dateOfDays,
  daysFromCivil,
  instantToUs,
  isDate,
  parseInstant,
  usToInstant,
} from "../../../core/model/instant.ts";

const firstUs = instantToUs("0000-01-01T00:00:00Z");
const lastUs = instantToUs("9999-12-31T23:59:59.999999Z");

describe("instants", () => {
  it("keep microseconds, also before 1970 and across offsets", () => {
    expect(instantToUs("1970-01-01T00:00:00Z")).toBe(0n);
    expect(instantToUs("1969-12-31T23:59:59.999999Z")).toBe(-1n);
    expect(instantToUs("2026-03-08T05:00:00.185645Z")).toBe(1_772_946_000_185_645n);
    expect(instantToUs("2026-03-08T00:00:00-05:00")).toBe(instantToUs("2026-03-08T05:00:00.000Z"));
    expect(instantToUs("2026-06-15T00:15:00+05:45")).toBe(instantToUs("2026-06-14T18:30:00z"));
    expect(instantToUs("2026-01-01t00:00:00.1230000Z")).toBe(instantToUs("2026-01-01T00:00:00.123Z"));
  });

  it("print the fewest of 0, 3 or 6 fraction digits", () => {
    expect(usToInstant(0n)).toBe("1970-01-01T00:00:00Z");
    expect(usToInstant(-1n)).toBe("1969-12-31T23:59:59.999999Z");
    expect(usToInstant(1_000n)).toBe("1970-01-01T00:00:00.001Z");
    expect(usToInstant(1_100n)).toBe("1970-01-01T00:00:00.001100Z");
    expect(usToInstant(firstUs)).toBe("0000-01-01T00:00:00Z");
    expect(usToInstant(lastUs)).toBe("9999-12-31T23:59:59.999999Z");
    expect(() => usToInstant(lastUs + 1n)).toThrow(RangeError);
    expect(() => usToInstant(firstUs - 1n)).toThrow(RangeError);
  });

  it("round trip, and agree with Date on whole milliseconds", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: firstUs, max: lastUs }), (us) => {
        expect(instantToUs(usToInstant(us))).toBe(us);
        const ms = us / 1000n;
        expect(instantToUs(new Date(Number(ms)).toISOString())).toBe(ms * 1000n);
      }),
      { numRuns: 1000 },
    );
  });

  it("refuse what is no instant", () => {
    const texts = ["", "2026-03-08", "2026-03-08T05:00:00", "2026-03-08 05:00:00Z", "2026-02-29T00:00:00Z"];
    texts.push("2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-01T24:00:00Z");
    texts.push("2026-01-01T00:60:00Z", "2026-12-31T23:59:60Z", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00+0500");
    texts.push(
      "2026-01-01T00:00:00.0000001Z",
      "2026-01-01T00:00:00+24:00",
      "+2026-01-01T00:00:00Z",
      "2026-01-01T00:00:00Z\n",
    );
    for (const text of texts) {
      expect([text, parseInstant(text)]).toEqual([text, undefined]);
      expect(() => instantToUs(text)).toThrow(RangeError);
    }
  });
});

describe("dates", () => {
  it("count the same days as Date, for every day of 1600 to 2400 and around year 0", () => {
    const wrong: number[] = [];
    for (let days = -135_140; days < 157_060; days++) {
      const text = dateOfDays(days);
      const back = daysFromCivil(Number(text.slice(0, 4)), Number(text.slice(5, 7)), Number(text.slice(8)));
      if (back !== days || text !== new Date(days * 86_400_000).toISOString().slice(0, 10)) wrong.push(days);
    }
    expect(wrong).toEqual([]);
    expect(daysFromCivil(0, 2, 29)).toBe(-719_469);
    expect(dateOfDays(-719_469)).toBe("0000-02-29");
  });

  it("know leap years", () => {
    expect(["2024-02-29", "2000-02-29", "2026-12-31"].every(isDate)).toBe(true);
    expect(["2026-02-29", "1900-02-29", "2026-04-31", "2026-1-01", "26-01-01", "2026-01-01Z"].some(isDate)).toBe(false);
  });
});
