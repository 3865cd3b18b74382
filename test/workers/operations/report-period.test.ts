import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { WaybillError } from "../../../core/errors.ts";
import { usToInstant } from "../../../core/model/instant.ts";
import type { Schedule } from "../../../core/model/records.ts";
import { isPeriodOf, periodOfDays, periodOfFlags, scheduleOf } from "../../../workers/operations/report-period.ts";

const zones = ["UTC", "America/New_York", "Europe/Berlin", "Asia/Kathmandu", "Pacific/Apia", "America/Sao_Paulo"];

function scheduleOfDays(first: string, last: string, timezone: string): Schedule {
  return scheduleOf(periodOfDays(first, last, timezone));
}

describe("the period of a lone report", () => {
  it("runs from the first moment of its first day to the end of its last, by its own clock", () => {
    expect(periodOfDays("2026-03-08", "2026-03-08", "UTC")).toEqual({
      start: "2026-03-08T00:00:00Z",
      end: "2026-03-09T00:00:00Z",
      source_timezone: "UTC",
    });
    // 23 hours: New York's clocks go forward that day.
    expect(periodOfDays("2026-03-08", "2026-03-08", "America/New_York")).toMatchObject({
      start: "2026-03-08T05:00:00Z",
      end: "2026-03-09T04:00:00Z",
    });
  });

  it("ends where the next day starts in a zone that skipped a day", () => {
    // Apia had no 2011-12-30.
    expect(periodOfDays("2011-12-29", "2011-12-29", "Pacific/Apia").end).toBe("2011-12-30T10:00:00Z");
    expect(periodOfDays("2011-12-29", "2011-12-30", "Pacific/Apia").end).toBe("2011-12-30T10:00:00Z");
  });

  it("is taken from flags as days or instants; every wrong flag is named at once", () => {
    expect(periodOfFlags("2026-03-08", "2026-03-09", "Europe/Berlin").start).toBe("2026-03-07T23:00:00Z");
    expect(periodOfFlags("2026-03-08T00:00:00+01:00", "2026-03-09", "UTC").start).toBe("2026-03-08T00:00:00+01:00");
    const fields = (...flags: [string, string, string]): readonly (string | undefined)[] => {
      try {
        periodOfFlags(...flags);
        return [];
      } catch (error) {
        return error instanceof WaybillError ? error.problems.map((problem) => problem.field) : [];
      }
    };
    expect(fields("2026-02-30", "tomorrow", "UTC")).toEqual(["--period-start", "--period-end"]);
    expect(fields("2026-03-08", "2026-03-08", "UTC")).toEqual(["--period-end"]);
    expect(fields("2026-03-08", "2026-03-09", "+01:00")).toEqual(["--timezone"]);
  });
});

describe("the schedule of a lone report", () => {
  it("is daily, hourly or monthly where that fits, by the period's clock", () => {
    expect(scheduleOfDays("2026-03-08", "2026-03-08", "UTC")).toEqual({
      period_duration: "P1D",
      alignment: "utc",
      delivery_sla: "PT4H",
    });
    expect(scheduleOfDays("2026-03-08", "2026-03-08", "America/New_York")).toMatchObject({
      period_duration: "P1D",
      alignment: "source_timezone",
      period_timezone: "America/New_York",
    });
    expect(scheduleOfDays("2026-02-01", "2026-02-28", "Europe/Berlin").period_duration).toBe("P1M");
    expect(scheduleOf(periodOfFlags("2026-03-08T05:00:00Z", "2026-03-08T06:00:00Z", "UTC")).period_duration).toBe(
      "PT1H",
    );
  });

  it("is the same for every week that starts on the same day of the week", () => {
    const first = scheduleOfDays("2026-03-02", "2026-03-08", "America/New_York");
    expect(first.period_duration).toBe("P7D");
    expect(scheduleOfDays("2026-03-09", "2026-03-15", "America/New_York")).toEqual(first);
    expect(scheduleOfDays("2026-11-02", "2026-11-08", "America/New_York")).toEqual(first);
    expect(scheduleOfDays("2026-03-03", "2026-03-09", "America/New_York")).not.toEqual(first);
  });

  it("has the period as one of its own, whatever period it is", () => {
    const second = 1_000_000n;
    fc.assert(
      fc.property(
        fc.integer({ min: -1_000_000_000, max: 4_000_000_000 }),
        fc.oneof(
          fc.integer({ min: 1, max: 90 * 86_400 }),
          fc.integer({ min: 1, max: 60 }).map((days) => days * 86_400),
        ),
        fc.constantFrom(...zones),
        (start, seconds, source_timezone) => {
          const startUs = BigInt(start) * second;
          const end = usToInstant(startUs + BigInt(seconds) * second);
          const period = { start: usToInstant(startUs), end, source_timezone };
          return isPeriodOf(period, scheduleOf(period));
        },
      ),
    );
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 30_000 }),
        fc.integer({ min: 0, max: 45 }),
        fc.constantFrom(...zones),
        (day, more, zone) => {
          const text = (number: number): string => new Date(number * 86_400_000).toISOString().slice(0, 10);
          const period = periodOfDays(text(day), text(day + more), zone);
          return isPeriodOf(period, scheduleOf(period));
        },
      ),
    );
  });
});
