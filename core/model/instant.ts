const usPerSecond = 1_000_000n;
const secondsPerDay = 86_400;

/**
 * Microseconds since 1970-01-01T00:00:00Z of an RFC 3339 date-time with any offset; negative before 1970.
 * RangeError when the text is not one, names a day or time that does not exist, or is finer than a microsecond.
 */
export function instantToUs(text: string): bigint {
  const us = parseInstant(text);
  if (us === undefined) throw new RangeError("not an RFC 3339 date-time to the microsecond with an offset");
  return us;
}

/** Like instantToUs, but undefined instead of an error. A leap second (`:60`) is refused: it has no microsecond of its own. */
export function parseInstant(text: string): bigint | undefined {
  const match = dateTime.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second, fraction = "", sign, offsetHour = "0", offsetMinute = "0"] = match;
  const days = daysFromCivil(Number(year), Number(month), Number(day));
  if (days === undefined) return undefined;
  const time = secondsOfDay(Number(hour), Number(minute), Number(second));
  const offset = secondsOfDay(Number(offsetHour), Number(offsetMinute), 0);
  if (time === undefined || offset === undefined) return undefined;
  const seconds = days * secondsPerDay + time - (sign === "-" ? -offset : offset);
  return BigInt(seconds) * usPerSecond + BigInt(fraction.padEnd(6, "0"));
}

const dateTime = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,6})0*)?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

function secondsOfDay(hour: number, minute: number, second: number): number | undefined {
  return hour > 23 || minute > 59 || second > 59 ? undefined : hour * 3600 + minute * 60 + second;
}

/** UTC text `YYYY-MM-DDTHH:MM:SS[.fff[fff]]Z` with 0, 3 or 6 fraction digits, whichever is the fewest that keep the value. RangeError beyond years 0000..9999. */
export function usToInstant(us: bigint): string {
  let micros = Number(us % usPerSecond);
  let seconds = Number(us / usPerSecond);
  if (micros < 0) {
    micros += 1_000_000;
    seconds -= 1;
  }
  const days = Math.floor(seconds / secondsPerDay);
  const time = seconds - days * secondsPerDay;
  const date = dateOfDays(days);
  const clock = `${two(Math.floor(time / 3600))}:${two(Math.floor(time / 60) % 60)}:${two(time % 60)}`;
  return `${date}T${clock}${fractionText(micros)}Z`;
}

function fractionText(micros: number): string {
  if (micros === 0) return "";
  const digits = String(micros).padStart(6, "0");
  return digits.endsWith("000") ? `.${digits.slice(0, 3)}` : `.${digits}`;
}

const two = (value: number): string => (value < 10 ? `0${value}` : String(value));

/** Days since 1970-01-01 of a proleptic Gregorian date, or undefined if there is no such day. */
export function daysFromCivil(year: number, month: number, day: number): number | undefined {
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return undefined;
  // Years that start in March put the leap day last, which makes day-of-year a linear formula.
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

function daysInMonth(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/** `YYYY-MM-DD` of a day counted from 1970-01-01. RangeError beyond years 0000..9999. */
export function dateOfDays(days: number): string {
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1;
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  if (!(year >= 0 && year <= 9999)) throw new RangeError("the instant lies outside the years 0000..9999");
  return `${String(year).padStart(4, "0")}-${two(month)}-${two(day)}`;
}

/** Whether `YYYY-MM-DD` names a day that exists. */
export function isDate(text: string): boolean {
  const match = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text);
  return match !== null && daysFromCivil(Number(match[1]), Number(match[2]), Number(match[3])) !== undefined;
}
