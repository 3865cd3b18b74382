import { canonicalJson } from "../../core/canonical-json.ts";
import type { JsonObject, JsonValue } from "../../core/json.ts";
import { decimalToScaled } from "../../core/model/decimal.ts";
import { isDate, parseInstant } from "../../core/model/instant.ts";
import { fractionDigits } from "../../core/model/totals.ts";
import type { ColumnType, ProfileMember } from "../../core/rows/profile.ts";

/** What the rows say about one member. */
export interface InferredMember extends ProfileMember {
  /** Why this type and what a person should look at; empty when the rows leave no doubt. */
  readonly notes: readonly string[];
}

/** Gathers what rows look like, in memory that does not grow with their number. */
export interface Inference {
  add(row: JsonObject): void;
  /** In the order in which members were first seen. */
  members(): readonly InferredMember[];
  readonly rowCount: number;
}

/** `untyped`: every value is text, so `true` and `false` are taken for booleans, as in CSV. Default false. */
export function createInference(options: { readonly untyped?: boolean } = {}): Inference {
  const seen = new Map<string, Values>();
  let rowCount = 0;
  return {
    get rowCount() {
      return rowCount;
    },
    add(row) {
      rowCount += 1;
      for (const [name, value] of Object.entries(row)) {
        const values = seen.get(name) ?? new Values();
        seen.set(name, values);
        values.add(value);
      }
    },
    members: () => [...seen].map(([name, values]) => inferMember(name, values, rowCount, options.untyped ?? false)),
  };
}

interface Hints {
  readonly isLabel: boolean;
  readonly untyped: boolean;
}

interface Guess {
  readonly type: ColumnType;
  readonly note?: string;
}

/** What to tell about a member of doubles. */
export const floatNote =
  'floating point: cannot be totalled exactly; for money send text with fixed decimals, such as "12.50"';

/** Names that stand for things; numbers in them are labels, and nobody sums them. */
const label = /(?:^|_)(?:ids?|codes?|zip|postcode|sku|ean|isbn|iban|phone|ref)$/i;

function inferMember(name: string, values: Values, rowCount: number, untyped: boolean): InferredMember {
  const { type, note } = values.type({ isLabel: label.test(name), untyped });
  const notes = note === undefined ? [] : [note];
  const absent = rowCount - values.count;
  if (absent > 0 && values.nulls > 0) {
    notes.push(`${absent} rows lack it and ${values.nulls} have null: settle on one before shipping`);
  }
  const missing = values.nulls > 0 ? "null" : absent > 0 ? "absent" : "forbidden";
  return { name, type, missing, notes };
}

/** Counts per kind of JSON value; strings are looked at further by TextShape. */
class Values {
  count = 0;
  nulls = 0;
  private booleans = 0;
  private integers = 0;
  private fractions = 0;
  private nested = 0;
  private readonly texts = new TextShape();

  add(value: JsonValue): void {
    this.count += 1;
    if (value === null) this.nulls += 1;
    else if (typeof value === "string") this.texts.add(value);
    else if (typeof value === "boolean") this.booleans += 1;
    else if (typeof value !== "number") this.nested += 1;
    else if (Number.isSafeInteger(value)) this.integers += 1;
    else this.fractions += 1;
  }

  type(hints: Hints): Guess {
    const numbers = this.integers + this.fractions;
    const kinds = [this.texts.count, this.booleans, numbers, this.nested].filter((count) => count > 0);
    if (kinds.length === 0) return { type: { kind: "string" }, note: "no row has a value: the type is a guess" };
    if (this.nested > 0 || kinds.length > 1) {
      const note = kinds.length > 1 ? "rows disagree about the kind of value; json keeps any" : undefined;
      return { type: { kind: "json" }, ...(note === undefined ? {} : { note }) };
    }
    if (this.booleans > 0) return { type: { kind: "boolean" } };
    if (this.texts.count > 0) return this.texts.type(hints);
    if (this.fractions === 0) return { type: { kind: "integer" } };
    return { type: { kind: "number" }, note: floatNote };
  }
}

const integerText = /^(?:0|-?[1-9][0-9]{0,37})$/;
const decimalText = /^-?(?:0|[1-9][0-9]*)\.[0-9]+$/;
const timestampText = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(\d{3}|\d{6}))?Z$/;
const maxInt64 = 2n ** 63n - 1n;

/** Which typed columns could hold every text seen so far and give it back character for character. */
class TextShape {
  count = 0;
  private dates = true;
  private booleans = true;
  private integers = true;
  private int64 = true;
  private decimals = true;
  private timestamps = true;
  private readonly scales = new Set<number>();
  private readonly fractions = new Set<number>();
  private wholeDigits = 1;

  add(text: string): void {
    this.count += 1;
    this.booleans &&= text === "true" || text === "false";
    this.dates &&= isDate(text);
    if (this.timestamps) this.addTimestamp(text);
    if (this.integers) {
      this.integers = integerText.test(text);
      if (this.integers && text.length > 18) this.int64 &&= isInt64(text);
    }
    if (this.decimals) this.addDecimal(text);
  }

  type({ isLabel, untyped }: Hints): Guess {
    const string: ColumnType = { kind: "string" };
    if (this.dates) return { type: { kind: "date" } };
    if (untyped && this.booleans) return { type: { kind: "boolean" } };
    if (this.timestamps) {
      const [fraction] = this.fractions;
      if (this.fractions.size === 1) return { type: { kind: "timestamp", fraction: (fraction ?? 0) as 0 | 3 | 6 } };
      return { type: string, note: "timestamps with differing fraction digits: fix 0, 3 or 6 to type them" };
    }
    if (this.integers) {
      if (isLabel) return { type: string, note: "digits only, kept as text because the name says it is a label" };
      return { type: { kind: "integer-string", column: this.int64 ? "int64" : "decimal38" } };
    }
    if (this.decimals) return isLabel ? { type: string } : this.decimalType();
    return { type: string };
  }

  private decimalType(): Guess {
    const [scale = 0] = this.scales;
    const digits = this.wholeDigits + scale;
    if (this.scales.size > 1) {
      const note = `decimals with ${Math.min(...this.scales)} to ${Math.max(...this.scales)} fraction digits: fix one to total them`;
      return { type: { kind: "string" }, note };
    }
    if (digits > 38) return { type: { kind: "string" }, note: "more than 38 digits: too wide for a decimal column" };
    return { type: { kind: "decimal-string", precision: digits <= 18 ? 18 : 38, scale } };
  }

  private addTimestamp(text: string): void {
    const match = timestampText.exec(text);
    this.timestamps = match !== null && parseInstant(text) !== undefined;
    if (match !== null) this.fractions.add(match[1]?.length ?? 0);
  }

  private addDecimal(text: string): void {
    const scale = fractionDigits(text);
    // decimalToScaled refuses "-0.00", which no decimal column gives back.
    this.decimals = decimalText.test(text) && decimalToScaled(text, scale) !== undefined;
    if (!this.decimals) return;
    this.scales.add(scale);
    this.wholeDigits = Math.max(this.wholeDigits, text.indexOf(".") - (text.startsWith("-") ? 1 : 0));
  }
}

function isInt64(text: string): boolean {
  const value = BigInt(text);
  return value <= maxInt64 && value >= -maxInt64 - 1n;
}

/** Finds the first two rows with one key, as far as `limit` different keys fit into memory. */
export interface KeyCheck {
  add(row: JsonObject, number: number): void;
  readonly duplicate: readonly [number, number] | undefined;
  /** Rows looked at; fewer than all when the limit was reached. */
  readonly checked: number;
}

export function createKeyCheck(keys: readonly string[], limit = 1_000_000): KeyCheck {
  const seen = new Map<string, number>();
  let duplicate: readonly [number, number] | undefined;
  return {
    get duplicate() {
      return duplicate;
    },
    get checked() {
      return seen.size;
    },
    add(row, number) {
      if (duplicate !== undefined || seen.size >= limit) return;
      const key = canonicalJson(keys.map((name) => row[name] ?? null));
      const first = seen.get(key);
      if (first === undefined) seen.set(key, number);
      else duplicate = [first, number];
    },
  };
}
