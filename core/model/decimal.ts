/**
 * value * 10^scale of a canonical decimal text: `-?(0|[1-9]\d*)(\.\d+)?` with at most `scale` fraction digits, and no minus
 * before zero. Undefined for anything else. A number when it is a safe integer, else a bigint; both are exact.
 */
export function decimalToScaled(text: string, scale: number): number | bigint | undefined {
  const length = text.length;
  const negative = text.charCodeAt(0) === 0x2d;
  const from = negative ? 1 : 0;
  let point = -1;
  let value = 0;
  for (let index = from; index < length; index++) {
    const code = text.charCodeAt(index);
    if (code >= 0x30 && code <= 0x39) value = value * 10 + (code - 0x30);
    else if (code === 0x2e && point < 0) point = index;
    else return undefined;
  }
  const integerEnd = point < 0 ? length : point;
  const fraction = point < 0 ? 0 : length - point - 1;
  if (integerEnd === from || (point >= 0 && fraction === 0) || fraction > scale) return undefined;
  if (text.charCodeAt(from) === 0x30 && integerEnd - from > 1) return undefined;
  if (length - from + (scale - fraction) > 15) return large(text, point, scale - fraction, negative);
  for (let digit = fraction; digit < scale; digit++) value *= 10;
  if (!negative) return value;
  return value === 0 ? undefined : -value;
}

function large(text: string, point: number, zeros: number, negative: boolean): bigint | undefined {
  const digits = point < 0 ? text : text.slice(0, point) + text.slice(point + 1);
  const value = BigInt(digits + "0".repeat(zeros));
  return negative && value === 0n ? undefined : value;
}

/** The canonical text of scaled / 10^scale with exactly `scale` fraction digits; zero has no sign. */
export function scaledToDecimal(scaled: bigint, scale: number): string {
  if (scale === 0) return scaled.toString();
  const negative = scaled < 0n;
  const digits = (negative ? -scaled : scaled).toString().padStart(scale + 1, "0");
  const point = digits.length - scale;
  return `${negative ? "-" : ""}${digits.slice(0, point)}.${digits.slice(point)}`;
}
