import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { WaybillError } from "../../../core/errors.ts";
import { instantToUs, usToInstant } from "../../../core/model/instant.ts";
import { periodContains } from "../../../core/model/period.ts";
import type { Period, Schedule } from "../../../core/model/records.ts";
import {
  addDuration,
  assertSchedule,
  expectedAt,
  ordinalAt,
  periodAt,
  periodContaining,
} from "../../../core/schedule/calendar.ts";

function inZone(period_duration: string, period_timezone: string): Schedule {
  return { period_duration, alignment: "source_timezone", period_timezone, delivery_sla: "PT4H" };
}

function billing(period_anchor: string, period_duration: string, period_timezone = "UTC"): Schedule {
  return { period_duration, alignment: "billing_cycle", period_anchor, period_timezone, delivery_sla: "PT0S" };
}

function span(schedule: Schedule, instant: string, accountTimezone = "UTC"): readonly [string, string, number] {
  const { start, end } = periodContaining(schedule, instant, accountTimezone);
  return [start, end, Number(instantToUs(end) - instantToUs(start)) / 3.6e9];
}

const newYorkDay = inZone("P1D", "America/New_York");

describe("civil days", () => {
  it("B46 have 23 and 25 hours when New York changes its clocks, and abut their neighbours", () => {
    expect(span(newYorkDay, "2026-03-07T12:00:00Z")).toEqual(["2026-03-07T05:00:00Z", "2026-03-08T05:00:00Z", 24]);
    expect(span(newYorkDay, "2026-03-08T12:00:00Z")).toEqual(["2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z", 23]);
    expect(span(newYorkDay, "2026-03-09T12:00:00Z")).toEqual(["2026-03-09T04:00:00Z", "2026-03-10T04:00:00Z", 24]);
    expect(span(newYorkDay, "2026-10-31T12:00:00Z")).toEqual(["2026-10-31T04:00:00Z", "2026-11-01T04:00:00Z", 24]);
    expect(span(newYorkDay, "2026-11-01T12:00:00Z")).toEqual(["2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z", 25]);
    expect(span(newYorkDay, "2026-11-02T12:00:00Z")).toEqual(["2026-11-02T05:00:00Z", "2026-11-03T05:00:00Z", 24]);
    // Both instants read 01:30 on a wall clock in New York.
    expect(span(newYorkDay, "2026-11-01T05:30:00Z")).toEqual(span(newYorkDay, "2026-11-01T06:30:00Z"));
  });

  it("are due a fixed time after they end", () => {
    const due = (instant: string): string => expectedAt(periodContaining(newYorkDay, instant, "UTC"), newYorkDay);
    expect(due("2026-11-01T12:00:00Z")).toBe("2026-11-02T09:00:00Z");
    expect(due("2026-03-08T12:00:00Z")).toBe("2026-03-09T08:00:00Z");
  });

  it("B47 follow half-hour shifts of Lord Howe", () => {
    const day = inZone("P1D", "Australia/Lord_Howe");
    expect(span(day, "2026-04-04T20:00:00Z")).toEqual(["2026-04-04T13:00:00Z", "2026-04-05T13:30:00Z", 24.5]);
    expect(span(day, "2026-10-03T20:00:00Z")).toEqual(["2026-10-03T13:30:00Z", "2026-10-04T13:00:00Z", 23.5]);
  });

  it("B47 start at the zone's own offset, and hours do too", () => {
    expect(span(inZone("P1D", "Asia/Kolkata"), "2026-06-15T00:00:00Z")[0]).toBe("2026-06-14T18:30:00Z");
    expect(span(inZone("P1D", "Asia/Kathmandu"), "2026-06-15T00:00:00Z")[0]).toBe("2026-06-14T18:15:00Z");
    expect(span(inZone("PT1H", "Asia/Kolkata"), "2026-06-15T00:00:00Z")).toEqual([
      "2026-06-14T23:30:00Z",
      "2026-06-15T00:30:00Z",
      1,
    ]);
    expect(span(inZone("PT1H", "Asia/Kathmandu"), "2026-06-15T00:00:00Z")).toEqual([
      "2026-06-14T23:15:00Z",
      "2026-06-15T00:15:00Z",
      1,
    ]);
  });

  it("a day that the calendar of Samoa skipped has no period", () => {
    const day = inZone("P1D", "Pacific/Apia");
    const before = ordinalAt(day, instantToUs("2011-12-29T22:00:00Z"), "UTC");
    expect(periodAt(day, before, "UTC")).toMatchObject({ start: "2011-12-29T10:00:00Z", end: "2011-12-30T10:00:00Z" });
    expect(periodAt(day, before + 1, "UTC")).toBeUndefined();
    expect(periodAt(day, before + 2, "UTC")).toMatchObject({
      start: "2011-12-30T10:00:00Z",
      end: "2011-12-31T10:00:00Z",
    });
  });
});

describe("periods below a day", () => {
  it("a repeated wall-clock hour belongs to the period that starts with it; a skipped one has none", () => {
    const hour = inZone("PT1H", "America/New_York");
    expect(span(hour, "2026-11-01T06:30:00Z")).toEqual(["2026-11-01T05:00:00Z", "2026-11-01T07:00:00Z", 2]);
    const skipped = ordinalAt(hour, instantToUs("2026-03-08T06:30:00Z"), "UTC") + 1;
    expect(periodAt(hour, skipped, "UTC")).toBeUndefined();
    expect(periodAt(hour, skipped + 1, "UTC")).toMatchObject({ start: "2026-03-08T07:00:00Z" });
  });

  it("quarter and odd hours around a gap still abut and never end before they start", () => {
    for (const duration of ["PT15M", "PT30M", "PT45M", "PT25M", "PT7H"]) {
      const schedule = inZone(duration, "America/New_York");
      const first = ordinalAt(schedule, instantToUs("2026-03-08T04:00:00Z"), "UTC");
      const periods = Array.from({ length: 40 }, (_, index) => periodAt(schedule, first + index, "UTC"));
      const real = periods.filter((period) => period !== undefined);
      expect(real.every(({ start, end }) => instantToUs(start) < instantToUs(end))).toBe(true);
      expect(real.slice(1).map(({ start }) => start)).toEqual(real.slice(0, -1).map(({ end }) => end));
    }
  });
});

describe("months", () => {
  it("B48 clamp to the last day and return to the anchor's day", () => {
    const starts = (schedule: Schedule, count: number): readonly (string | undefined)[] =>
      Array.from({ length: count }, (_, index) => periodAt(schedule, index, "UTC")?.start.slice(0, 10));
    expect(starts(billing("2026-01-31T00:00:00Z", "P1M"), 6)).toEqual([
      "2026-01-31",
      "2026-02-28",
      "2026-03-31",
      "2026-04-30",
      "2026-05-31",
      "2026-06-30",
    ]);
    expect(starts(billing("2028-01-31T00:00:00Z", "P1M"), 3)).toEqual(["2028-01-31", "2028-02-29", "2028-03-31"]);
    expect(starts(billing("2024-02-29T00:00:00Z", "P1Y1M"), 2)).toEqual(["2024-02-29", "2025-03-29"]);
  });

  it("B48 of a billing calendar in New York have 743 and 721 hours", () => {
    const month = billing("2026-01-01T05:00:00Z", "P1M", "America/New_York");
    expect(span(month, "2026-03-15T00:00:00Z")).toEqual(["2026-03-01T05:00:00Z", "2026-04-01T04:00:00Z", 743]);
    expect(span(month, "2026-11-15T00:00:00Z")[2]).toBe(721);
  });

  it("reach back before the anchor", () => {
    const month = billing("2026-03-31T06:30:00.5Z", "P1M");
    expect(span(month, "2026-03-01T00:00:00Z").slice(0, 2)).toEqual([
      "2026-02-28T06:30:00.500Z",
      "2026-03-31T06:30:00.500Z",
    ]);
    expect(periodAt(month, -1, "UTC")?.end).toBe("2026-03-31T06:30:00.500Z");
  });
});

describe("alignment", () => {
  it("takes the zone from UTC, the account or the schedule, and echoes it", () => {
    const utc: Schedule = { period_duration: "P1D", alignment: "utc", delivery_sla: "PT0S" };
    const account: Schedule = { ...utc, alignment: "account_timezone" };
    expect(periodContaining(utc, "2026-03-08T12:00:00Z", "Asia/Tokyo")).toEqual({
      start: "2026-03-08T00:00:00Z",
      end: "2026-03-09T00:00:00Z",
      source_timezone: "UTC",
    });
    expect(periodContaining(account, "2026-03-08T12:00:00Z", "Asia/Tokyo")).toEqual({
      start: "2026-03-07T15:00:00Z",
      end: "2026-03-08T15:00:00Z",
      source_timezone: "Asia/Tokyo",
    });
    expect(periodContaining(newYorkDay, "2026-03-08T12:00:00Z", "Asia/Tokyo").source_timezone).toBe("America/New_York");
  });

  it("counts from 1970", () => {
    const quarter: Schedule = { period_duration: "PT15M", alignment: "utc", delivery_sla: "PT0S" };
    expect(ordinalAt(quarter, 0n, "UTC")).toBe(0);
    expect(ordinalAt(quarter, -1n, "UTC")).toBe(-1);
    expect(periodAt(quarter, -1, "UTC")?.start).toBe("1969-12-31T23:45:00Z");
  });

  it("an ill-formed schedule is refused and names its field", () => {
    const day: Schedule = { period_duration: "P1D", alignment: "utc", delivery_sla: "PT0S" };
    const zone: Schedule = { ...day, alignment: "source_timezone" };
    const cases: readonly (readonly [Schedule, string, string])[] = [
      [{ ...day, period_duration: "P1W" }, "UTC", "schedule.period_duration"],
      [{ ...day, period_duration: "PT0S" }, "UTC", "schedule.period_duration"],
      [{ ...day, period_duration: "PT1.5H" }, "UTC", "schedule.period_duration"],
      [{ ...day, period_duration: "P" }, "UTC", "schedule.period_duration"],
      [{ ...day, period_duration: "P1DT" }, "UTC", "schedule.period_duration"],
      [{ ...day, delivery_sla: "soon" }, "UTC", "schedule.delivery_sla"],
      [zone, "UTC", "schedule.period_timezone"],
      [{ ...zone, period_timezone: "+01:00" }, "UTC", "schedule.period_timezone"],
      [{ ...zone, period_timezone: "Mars/Olympus" }, "UTC", "schedule.period_timezone"],
      [{ ...day, alignment: "billing_cycle", period_timezone: "UTC" }, "UTC", "schedule.period_anchor"],
    ];
    for (const [schedule, account, field] of cases) {
      try {
        assertSchedule(schedule, account);
        throw new Error(`accepted: ${field}`);
      } catch (error) {
        if (!(error instanceof WaybillError)) throw error;
        expect(error.problems).toMatchObject([{ code: "INVALID_SCHEDULE", field }]);
      }
    }
    expect(() => assertSchedule(day, "UTC")).not.toThrow();
  });
});

describe("addDuration", () => {
  it("elapses in UTC", () => {
    expect(addDuration("2026-03-08T05:00:00Z", "P1D")).toBe("2026-03-09T05:00:00Z");
    expect(addDuration("2026-01-31T00:00:00Z", "P1M")).toBe("2026-02-28T00:00:00Z");
    expect(addDuration("2026-01-31T00:00:00.123456Z", "PT1H1M1S")).toBe("2026-01-31T01:01:01.123456Z");
    expect(addDuration("2026-01-31T00:00:00-05:00", "PT0S")).toBe("2026-01-31T05:00:00Z");
  });
});

describe("any schedule", () => {
  const schedule = fc
    .record({
      period_duration: fc.constantFrom("PT15M", "PT30M", "PT1H", "PT6H", "P1D", "P7D", "P1M", "P3M", "P1Y", "P1M3DT5H"),
      period_timezone: fc.constantFrom(
        "UTC",
        "America/New_York",
        "Australia/Lord_Howe",
        "Asia/Kathmandu",
        "Africa/Casablanca",
        "Pacific/Apia",
        "America/St_Johns",
        "Europe/Dublin",
      ),
      anchor: fc.option(
        fc.bigInt({ min: instantToUs("1990-01-01T00:00:00Z"), max: instantToUs("2035-01-01T00:00:00Z") }),
      ),
    })
    .map(({ period_duration, period_timezone, anchor }): Schedule => {
      const zone = { period_duration, period_timezone, delivery_sla: "PT1H" };
      return anchor === null
        ? { ...zone, alignment: "source_timezone" }
        : { ...zone, alignment: "billing_cycle", period_anchor: usToInstant(anchor) };
    });
  const instant = fc.bigInt({ min: instantToUs("2000-01-01T00:00:00Z"), max: instantToUs("2040-01-01T00:00:00Z") });

  it("every instant lies in exactly one period, which abuts its neighbours", () => {
    fc.assert(
      fc.property(schedule, instant, (subject, us) => {
        const ordinal = ordinalAt(subject, us, "UTC");
        const period = periodAt(subject, ordinal, "UTC") as Period;
        expect(periodContains(period, us)).toBe(true);
        const next = ordinalAt(subject, instantToUs(period.end), "UTC");
        const previous = ordinalAt(subject, instantToUs(period.start) - 1n, "UTC");
        expect(previous).toBeLessThan(ordinal);
        expect(next).toBeGreaterThan(ordinal);
        expect(periodAt(subject, next, "UTC")?.start).toBe(period.end);
        expect(periodAt(subject, previous, "UTC")?.end).toBe(period.start);
        // Whatever lies between two real periods is empty.
        for (let skipped = ordinal + 1; skipped < next; skipped++)
          expect(periodAt(subject, skipped, "UTC")).toBeUndefined();
      }),
      { numRuns: 300 },
    );
  });

  it("ordinals follow time", () => {
    fc.assert(
      fc.property(schedule, instant, instant, (subject, one, other) => {
        const [early, late] = one <= other ? [one, other] : [other, one];
        expect(ordinalAt(subject, early, "UTC")).toBeLessThanOrEqual(ordinalAt(subject, late, "UTC"));
      }),
      { numRuns: 200 },
    );
  });
});
