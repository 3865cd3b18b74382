import { Temporal } from "temporal-polyfill";
import { WaybillError } from "../errors.ts";
import { type Duration, isPositive, parseDuration } from "../model/duration.ts";
import { instantToUs, usToInstant } from "../model/instant.ts";
import { isTimeZone } from "../model/period.ts";
import type { Period, Schedule } from "../model/records.ts";

/**
 * Period `ordinal` of a schedule; 0 starts at the schedule's origin, negative ones lie before it. Boundaries come from the
 * origin directly and in civil time, so days have 23, 24 or 25 hours, and months clamp without drifting. Undefined when the
 * whole period lies in wall-clock time that a DST gap skips. WaybillError `usage` if the schedule is not well-formed.
 */
export function periodAt(schedule: Schedule, ordinal: number, accountTimezone: string): Period | undefined {
  const clock = scheduleClock(schedule, accountTimezone);
  const start = clock.boundary(ordinal);
  const end = clock.boundary(ordinal + 1);
  return start < end
    ? { start: usToInstant(start), end: usToInstant(end), source_timezone: clock.timezone }
    : undefined;
}

/** Ordinal of the period that contains an instant. Every instant lies in exactly one. */
export function ordinalAt(schedule: Schedule, instantUs: bigint, accountTimezone: string): number {
  const clock = scheduleClock(schedule, accountTimezone);
  let low = Math.floor(clock.estimate(instantUs));
  let step = 1;
  while (clock.boundary(low) > instantUs) {
    low -= step;
    step *= 2;
  }
  let high = low + 1;
  step = 1;
  while (clock.boundary(high) <= instantUs) {
    low = high;
    high += step;
    step *= 2;
  }
  // boundary(low) <= instant < boundary(high), and boundaries never decrease.
  while (high - low > 1) {
    const middle = low + Math.floor((high - low) / 2);
    if (clock.boundary(middle) <= instantUs) low = middle;
    else high = middle;
  }
  return low;
}

/** The period that contains an instant. */
export function periodContaining(schedule: Schedule, instant: string, accountTimezone: string): Period {
  const ordinal = ordinalAt(schedule, instantToUs(instant), accountTimezone);
  const period = periodAt(schedule, ordinal, accountTimezone);
  if (period === undefined) throw new RangeError("no period contains the instant");
  return period;
}

/** An instant plus an ISO duration, elapsed in UTC: P1D is 24 hours, P1M a month of the UTC calendar. */
export function addDuration(instant: string, iso: string): string {
  const duration = requireDuration(iso, "duration");
  return usToInstant(fromZoned(toZoned(instantToUs(instant), "UTC").add(duration)));
}

/** When the revision of a period is due: its end plus the schedule's `delivery_sla`. */
export function expectedAt(period: Period, schedule: Schedule): string {
  return addDuration(period.end, schedule.delivery_sla);
}

/** What is wrong with a schedule, as one WaybillError `usage`; nothing when it is well-formed. */
export function assertSchedule(schedule: Schedule, accountTimezone: string): void {
  scheduleClock(schedule, accountTimezone);
  requireDuration(schedule.delivery_sla, "schedule.delivery_sla");
}

interface ScheduleClock {
  readonly timezone: string;
  /** Microseconds of boundary `ordinal`; never decreases. */
  boundary(ordinal: number): bigint;
  /** About which ordinal an instant falls into. */
  estimate(instantUs: bigint): number;
}

function scheduleClock(schedule: Schedule, accountTimezone: string): ScheduleClock {
  const timezone = timezoneOf(schedule, accountTimezone);
  if (!isTimeZone(timezone)) throw misuse("schedule.period_timezone", "must be a name of the IANA time zone database");
  const duration = requireDuration(schedule.period_duration, "schedule.period_duration");
  if (!isPositive(duration)) throw misuse("schedule.period_duration", "must be longer than nothing");
  const origin = originOf(schedule, timezone);
  const originUs = fromZoned(origin.toZonedDateTime(timezone));
  const averageUs = averageSeconds(duration) * 1e6;
  return {
    timezone,
    boundary: (ordinal) => boundaryAt(origin, duration, timezone, ordinal),
    estimate: (instantUs) => Number(instantUs - originUs) / averageUs,
  };
}

function timezoneOf(schedule: Schedule, accountTimezone: string): string {
  switch (schedule.alignment) {
    case "utc":
      return "UTC";
    case "account_timezone":
      return accountTimezone;
    case "source_timezone":
    case "billing_cycle":
      if (schedule.period_timezone === undefined) {
        throw misuse("schedule.period_timezone", `is required for alignment ${schedule.alignment}`);
      }
      return schedule.period_timezone;
  }
}

function originOf(schedule: Schedule, timezone: string): Temporal.PlainDateTime {
  if (schedule.alignment !== "billing_cycle") return new Temporal.PlainDateTime(1970, 1, 1);
  if (schedule.period_anchor === undefined)
    throw misuse("schedule.period_anchor", "is required for alignment billing_cycle");
  return toZoned(instantToUs(schedule.period_anchor), timezone).toPlainDateTime();
}

/**
 * The wall-clock boundary, resolved in its zone: a nonexistent time advances by the gap, an ambiguous one takes the earlier
 * offset. A boundary that was advanced past the next existing one would make a period end before it starts, so it yields
 * to that one and the swallowed periods become empty.
 */
function boundaryAt(origin: Temporal.PlainDateTime, duration: Duration, timezone: string, ordinal: number): bigint {
  const first = resolve(wallTime(origin, duration, ordinal), timezone);
  if (first.exists) return first.us;
  for (let later = ordinal + 1; ; later++) {
    const next = resolve(wallTime(origin, duration, later), timezone);
    if (next.exists && next.us < first.us) return next.us;
    if (next.exists) return first.us;
  }
}

function wallTime(origin: Temporal.PlainDateTime, duration: Duration, ordinal: number): Temporal.PlainDateTime {
  return origin.add({
    years: duration.years * ordinal,
    months: duration.months * ordinal,
    days: duration.days * ordinal,
    hours: duration.hours * ordinal,
    minutes: duration.minutes * ordinal,
    seconds: duration.seconds * ordinal,
  });
}

function resolve(wall: Temporal.PlainDateTime, timezone: string): { us: bigint; exists: boolean } {
  const zoned = wall.toZonedDateTime(timezone, { disambiguation: "compatible" });
  return { us: fromZoned(zoned), exists: zoned.toPlainDateTime().equals(wall) };
}

function toZoned(us: bigint, timezone: string): Temporal.ZonedDateTime {
  return new Temporal.ZonedDateTime(us * 1000n, timezone);
}

function fromZoned(zoned: Temporal.ZonedDateTime): bigint {
  return zoned.epochNanoseconds / 1000n;
}

function averageSeconds(duration: Duration): number {
  const days = duration.years * 365.2425 + duration.months * 30.436875 + duration.days;
  return days * 86_400 + duration.hours * 3600 + duration.minutes * 60 + duration.seconds;
}

function requireDuration(iso: string, field: string): Duration {
  const duration = parseDuration(iso);
  if (duration === undefined)
    throw misuse(field, "must be an ISO 8601 duration without weeks or fractions, e.g. PT4H or P1D");
  return duration;
}

function misuse(field: string, message: string): WaybillError {
  return new WaybillError("usage", [{ code: "INVALID_SCHEDULE", message: `${field} ${message}`, field }]);
}
