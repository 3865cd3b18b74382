import { describe, expect, it } from "vitest";
import { instantToUs } from "../../../core/model/instant.ts";
import { isTimeZone, periodContains, periodProblems, samePeriod } from "../../../core/model/period.ts";
import type { Period } from "../../../core/model/records.ts";

const day: Period = { start: "2026-03-08T05:00:00Z", end: "2026-03-09T04:00:00Z", source_timezone: "America/New_York" };

describe("periods", () => {
  it("are half-open", () => {
    expect(periodContains(day, instantToUs(day.start))).toBe(true);
    expect(periodContains(day, instantToUs(day.end) - 1n)).toBe(true);
    expect(periodContains(day, instantToUs(day.end))).toBe(false);
    expect(periodContains(day, instantToUs(day.start) - 1n)).toBe(false);
  });

  it("B47 are identified by their instants and zone, not by how these are spelled", () => {
    expect(samePeriod(day, { ...day, start: "2026-03-08T00:00:00.000-05:00" })).toBe(true);
    expect(samePeriod(day, { ...day, start: "2026-03-08T05:00:00.000001Z" })).toBe(false);
    expect(samePeriod(day, { ...day, source_timezone: "UTC" })).toBe(false);
  });

  it("name everything that is wrong at once", () => {
    expect(periodProblems(day)).toEqual([]);
    expect(periodProblems({ ...day, end: day.start })).toMatchObject([{ code: "INVALID_PERIOD", field: "period.end" }]);
    const wrong: Period = { start: "2026-03-08", end: "tomorrow", source_timezone: "EST+5" };
    expect(periodProblems(wrong, "p").map(({ field }) => field)).toEqual(["p.start", "p.end", "p.source_timezone"]);
  });
});

describe("isTimeZone", () => {
  it("takes IANA zones and links in their own spelling only", () => {
    for (const name of ["UTC", "America/New_York", "US/Eastern", "Etc/GMT+5", "Asia/Kathmandu", "Etc/UTC"]) {
      expect([name, isTimeZone(name)]).toEqual([name, true]);
    }
    for (const name of ["", "utc", "america/new_york", "+01:00", "-05", "Mars/Olympus", "local", "UTC+1"]) {
      expect([name, isTimeZone(name)]).toEqual([name, false]);
    }
  });
});
