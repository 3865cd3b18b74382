import { type Problem, WaybillError } from "../errors.ts";
import type { JsonValue } from "../json.ts";
import type { ControlTotalRule, LogicalRow } from "../rows/profile.ts";
import { decimalToScaled, scaledToDecimal } from "./decimal.ts";
import type { ControlTotal } from "./records.ts";

/** Exact running sums of a report's control totals. */
export interface Totals {
  /**
   * Adds one row. Missing and null members add nothing. When a member cannot be summed exactly (not a number, more fraction
   * digits than the total, not canonical text) nothing of the row is added and a WaybillError `content` names every such member.
   */
  add(row: LogicalRow): void;
  /** The totals so far, in rule order, each with exactly the rule's fraction digits. */
  result(): readonly ControlTotal[];
}

/** Sums by scaled integers, so no value passes through a float. */
export function createTotals(rules: readonly ControlTotalRule[]): Totals {
  const sums = rules.map(() => new Sum());
  const values: (number | bigint)[] = rules.map(() => 0);
  return {
    add(row) {
      const problems: Problem[] = [];
      for (let index = 0; index < rules.length; index++) {
        const rule = rules[index] as ControlTotalRule;
        const value = Object.hasOwn(row, rule.member) ? row[rule.member] : null;
        const scaled = value === null ? 0 : scaledValue(value, rule.scale);
        if (scaled === undefined) problems.push(notSummable(rule));
        else values[index] = scaled;
      }
      if (problems.length > 0) throw new WaybillError("content", problems);
      for (let index = 0; index < sums.length; index++) (sums[index] as Sum).add(values[index] as number | bigint);
    },
    result: () => rules.map((rule, index) => controlTotal(rule, (sums[index] as Sum).total())),
  };
}

function controlTotal(rule: ControlTotalRule, scaled: bigint): ControlTotal {
  const { name, value_type, scale, unit } = rule;
  const value = scaledToDecimal(scaled, scale);
  return unit === undefined ? { name, value, value_type } : { name, value, value_type, unit };
}

function scaledValue(value: JsonValue | undefined, scale: number): number | bigint | undefined {
  if (typeof value === "string") return decimalToScaled(value, scale);
  if (typeof value !== "number") return undefined;
  if (scale === 0) return Number.isSafeInteger(value) ? value : undefined;
  return decimalToScaled(String(value), scale);
}

function notSummable(rule: ControlTotalRule): Problem {
  return {
    code: "NOT_SUMMABLE",
    message: `${rule.member} is not an exact number with at most ${rule.scale} fraction digits, so the control total ${rule.name} cannot include it`,
    member: rule.member,
  };
}

/** Small values gather in a double that stays exact and reach the bigint rarely; bigint additions would dominate otherwise. */
class Sum {
  private exact = 0n;
  private small = 0;

  add(value: number | bigint): void {
    if (typeof value === "bigint") {
      this.exact += value;
      return;
    }
    const next = this.small + value;
    // Both operands are safe integers, so an unsafe result can at worst round here and is then not used.
    if (Number.isSafeInteger(next)) this.small = next;
    else {
      this.exact += BigInt(this.small) + BigInt(value);
      this.small = 0;
    }
  }

  total(): bigint {
    return this.exact + BigInt(this.small);
  }
}

/** What differs between two sets of control totals. Values compare as text: `8.0` is not `8.00`. */
export interface TotalDifference {
  readonly name: string;
  /** `presence`: one side lacks the name or has it twice. */
  readonly aspect: "presence" | "value" | "value_type" | "unit";
  readonly expected: string | undefined;
  readonly actual: string | undefined;
}

/** Compares totals as sets keyed by name; order carries no meaning. Empty when equal. */
export function totalDifferences(
  expected: readonly ControlTotal[],
  actual: readonly ControlTotal[],
): readonly TotalDifference[] {
  const differences: TotalDifference[] = [];
  const found = byName(actual);
  const wanted = byName(expected);
  for (const name of new Set([...wanted.keys(), ...found.keys()])) {
    const left = wanted.get(name) ?? [];
    const right = found.get(name) ?? [];
    const [want] = left;
    const [have] = right;
    if (left.length !== 1 || right.length !== 1 || want === undefined || have === undefined) {
      differences.push({ name, aspect: "presence", expected: left[0]?.value, actual: right[0]?.value });
      continue;
    }
    for (const aspect of ["value", "value_type", "unit"] as const) {
      if (want[aspect] !== have[aspect]) {
        differences.push({ name, aspect, expected: want[aspect], actual: have[aspect] });
      }
    }
  }
  return differences;
}

function byName(totals: readonly ControlTotal[]): ReadonlyMap<string, readonly ControlTotal[]> {
  const named = new Map<string, ControlTotal[]>();
  for (const total of totals) named.set(total.name, [...(named.get(total.name) ?? []), total]);
  return named;
}

/** What is wrong with declared control totals by themselves: a name twice, or a value that is not canonical text (`-0`, `01`, `1e3`). */
export function controlTotalProblems(totals: readonly ControlTotal[], field = "control_totals"): readonly Problem[] {
  const problems: Problem[] = [];
  const seen = new Set<string>();
  totals.forEach((total, index) => {
    const at = `${field}[${index}]`;
    if (!/^[A-Za-z][A-Za-z0-9_.:-]{0,127}$/.test(total.name)) {
      problems.push({
        code: "INVALID_CONTROL_TOTAL",
        message: `${at}.name is not a control total name`,
        field: `${at}.name`,
      });
    }
    if (seen.has(total.name)) {
      problems.push({
        code: "INVALID_CONTROL_TOTAL",
        message: `${at} repeats the name ${total.name}`,
        field: `${at}.name`,
      });
    }
    seen.add(total.name);
    const scale = total.value_type === "integer" ? 0 : fractionDigits(total.value);
    if (decimalToScaled(total.value, scale) === undefined) {
      const message = `${at}.value is not a canonical ${total.value_type}`;
      problems.push({ code: "INVALID_CONTROL_TOTAL", message, field: `${at}.value` });
    }
  });
  return problems;
}

/** Digits after the point of a decimal text. */
export function fractionDigits(text: string): number {
  const point = text.indexOf(".");
  return point < 0 ? 0 : text.length - point - 1;
}
