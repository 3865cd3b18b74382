import type { Problem } from "../errors.ts";
import { instantToUs, parseInstant } from "./instant.ts";
import type { Period } from "./records.ts";

/** What is wrong with a period: unreadable instants, an end that is not after the start, or a zone that is not IANA. */
export function periodProblems(period: Period, field = "period"): readonly Problem[] {
  const problems: Problem[] = [];
  const start = parseInstant(period.start);
  const end = parseInstant(period.end);
  const notInstant = (at: string): Problem => ({
    code: "INVALID_INSTANT",
    message: `${at} must be an RFC 3339 date-time with an offset, e.g. 2026-03-08T05:00:00Z`,
    field: at,
  });
  if (start === undefined) problems.push(notInstant(`${field}.start`));
  if (end === undefined) problems.push(notInstant(`${field}.end`));
  if (start !== undefined && end !== undefined && end <= start) {
    problems.push({
      code: "INVALID_PERIOD",
      message: `${field}.end must be after ${field}.start`,
      field: `${field}.end`,
    });
  }
  if (!isTimeZone(period.source_timezone)) {
    const message = `${field}.source_timezone must be a name of the IANA time zone database, e.g. Europe/Berlin or UTC`;
    problems.push({ code: "INVALID_TIMEZONE", message, field: `${field}.source_timezone` });
  }
  return problems;
}

/** Whether the text names an IANA zone or link in its own spelling. Numeric offsets are not zones: they know no DST. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    const resolved = new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone;
    // Intl ignores case, other readers of the wire do not.
    return resolved === name || resolved.toLowerCase() !== name.toLowerCase();
  } catch {
    return false;
  }
}

/** Whether two periods are one period: the same instants, however they are spelled, under the same zone name. */
export function samePeriod(left: Period, right: Period): boolean {
  return periodKey(left) === periodKey(right);
}

/** Text that is equal for equal periods: microseconds of both ends and the zone. RangeError if an instant is unreadable. */
export function periodKey(period: Period): string {
  return `${instantToUs(period.start)}/${instantToUs(period.end)}/${period.source_timezone}`;
}

/** Whether an instant lies in [start, end). */
export function periodContains(period: Period, us: bigint): boolean {
  return instantToUs(period.start) <= us && us < instantToUs(period.end);
}
