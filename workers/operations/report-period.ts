import { WaybillError } from "../../core/errors.ts";
import { daysFromCivil, instantToUs, isDate, parseInstant, usToInstant } from "../../core/model/instant.ts";
import { isTimeZone } from "../../core/model/period.ts";
import type { Period, Schedule } from "../../core/model/records.ts";
import { periodAt, periodContaining } from "../../core/schedule/calendar.ts";

const deliverySla = "PT4H";

/** The period from the start of `firstDay` to the end of `lastDay` (both YYYY-MM-DD) by the clock of a zone. */
export function periodOfDays(firstDay: string, lastDay: string, timezone: string): Period {
  return {
    start: dayBoundary(firstDay, 0, timezone),
    end: dayBoundary(lastDay, 1, timezone),
    source_timezone: timezone,
  };
}

/**
 * A period from what a person typed: instants with an offset, or days, which mean their first moment in the zone. The end is exclusive.
 * WaybillError `usage` with all problems, each naming its flag.
 */
export function periodOfFlags(start: string, end: string, timezone: string): Period {
  if (!isTimeZone(timezone)) {
    const message = "--timezone must be a name of the IANA time zone database, such as Europe/Berlin or UTC";
    throw new WaybillError("usage", [{ code: "INVALID_TIMEZONE", field: "--timezone", message }]);
  }
  const flags = { "--period-start": start, "--period-end": end };
  const problems = Object.entries(flags).flatMap(([field, text]) =>
    isDate(text) || parseInstant(text) !== undefined
      ? []
      : [
          {
            code: "INVALID_INSTANT",
            field,
            message: `${field} must be a day such as 2026-03-08 or an instant such as 2026-03-08T05:00:00Z`,
          },
        ],
  );
  if (problems.length > 0) throw new WaybillError("usage", problems);
  const period = { start: boundary(start, timezone), end: boundary(end, timezone), source_timezone: timezone };
  if (instantToUs(period.end) > instantToUs(period.start)) return period;
  const message =
    "--period-end must be after --period-start; it is the first moment that no longer belongs to the period";
  throw new WaybillError("usage", [{ code: "INVALID_PERIOD", field: "--period-end", message }]);
}

function boundary(text: string, timezone: string): string {
  return isDate(text) ? dayBoundary(text, 0, timezone) : text;
}

/** First moment of the day that lies `later` days after `day`. */
function dayBoundary(day: string, later: number, timezone: string): string {
  const period = periodAt(daily(timezone), dayNumber(day) + later, timezone);
  if (period !== undefined) return period.start;
  // A zone that skipped a whole day: it starts when the next one does.
  return dayBoundary(day, later + 1, timezone);
}

function dayNumber(day: string): number {
  const [year, month, date] = day.split("-").map(Number);
  const number = daysFromCivil(year ?? 0, month ?? 0, date ?? 0);
  if (number === undefined) throw new RangeError("not a day");
  return number;
}

function daily(timezone: string): Schedule {
  return aligned("P1D", timezone);
}

function aligned(period_duration: string, timezone: string): Schedule {
  if (timezone === "UTC") return { period_duration, alignment: "utc", delivery_sla: deliverySla };
  return { period_duration, alignment: "source_timezone", period_timezone: timezone, delivery_sla: deliverySla };
}

/**
 * The schedule that a lone period is one period of: hourly, daily or monthly where it fits, else cycles of its own length. Equal
 * lengths with the same phase share a schedule, so that weekly reports are one feed. The SLA is PT4H. WaybillError `usage` when the
 * length is not whole seconds.
 */
export function scheduleOf(period: Period): Schedule {
  const { source_timezone: timezone } = period;
  const found = [...["P1D", "PT1H", "P1M"].map((duration) => aligned(duration, timezone)), ...cyclesOf(period)].find(
    (schedule) => isPeriodOf(period, schedule),
  );
  if (found !== undefined) return found;
  const message = "the period must be a whole number of seconds long";
  throw new WaybillError("usage", [{ code: "INVALID_PERIOD", field: "--period-end", message }]);
}

/** Whole days by the zone's clock first, then plain seconds. */
function cyclesOf(period: Period): readonly Schedule[] {
  const { source_timezone: timezone } = period;
  const daySeconds = 86_400;
  const startUs = instantToUs(period.start);
  const lengthUs = instantToUs(period.end) - startUs;
  const seconds = Number(lengthUs / 1_000_000n);
  const days = Math.round(seconds / daySeconds);
  const firstDay = Math.floor(Number(startUs / 1_000_000n) / daySeconds);
  const cycle = (period_duration: string, period_anchor: string, period_timezone: string): Schedule => ({
    period_duration,
    alignment: "billing_cycle",
    period_anchor,
    period_timezone,
    delivery_sla: deliverySla,
  });
  const dayCycles = [firstDay, firstDay + 1, firstDay - 1].flatMap((day) => {
    const anchor = days < 1 ? undefined : periodAt(daily(timezone), ((day % days) + days) % days, timezone);
    return anchor === undefined ? [] : [cycle(`P${days}D`, anchor.start, timezone)];
  });
  return seconds < 1 ? dayCycles : [...dayCycles, cycle(`PT${seconds}S`, usToInstant(startUs), "UTC")];
}

/** Whether the period is one of the schedule's own, by its instants. */
export function isPeriodOf(period: Period, schedule: Schedule): boolean {
  const found = periodContaining(schedule, period.start, period.source_timezone);
  return instantToUs(found.start) === instantToUs(period.start) && instantToUs(found.end) === instantToUs(period.end);
}
