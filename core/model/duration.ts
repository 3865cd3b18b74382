/** An ISO 8601 duration of the wire: whole components, no weeks, no fractions, no sign. */
export interface Duration {
  readonly years: number;
  readonly months: number;
  readonly days: number;
  readonly hours: number;
  readonly minutes: number;
  readonly seconds: number;
}

const pattern = /^P(?=\d|T)(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$/;

/** Reads `P1D`, `PT4H`, `P1M`, …; undefined for anything else and for components above 10^9. */
export function parseDuration(iso: string): Duration | undefined {
  const match = pattern.exec(iso);
  if (match === null) return undefined;
  const [years, months, days, hours, minutes, seconds] = match.slice(1).map((digits) => Number(digits ?? "0"));
  const all = [years, months, days, hours, minutes, seconds];
  if (all.some((component) => component === undefined || component > 1e9)) return undefined;
  return { years, months, days, hours, minutes, seconds } as Duration;
}

/** Whether a duration is longer than nothing. */
export function isPositive(duration: Duration): boolean {
  return Object.values(duration).some((component) => component > 0);
}
