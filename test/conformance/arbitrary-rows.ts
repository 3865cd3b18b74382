import fc from "fast-check";
import { canonicalJson } from "../../core/canonical-json.ts";
import type { JsonValue } from "../../core/json.ts";
import type { ColumnType, LogicalRow, ProfileMember, RowProfile } from "../../core/rows/profile.ts";
import { compareBytes, sortKey } from "../../core/rows/sort-key.ts";
import { parseJson } from "../../core/strict-json.ts";

/** Rows in key order under a profile. */
export interface ProfiledRows {
  readonly profile: RowProfile;
  readonly rows: readonly LogicalRow[];
}

const columnTypes: readonly ColumnType[] = [
  { kind: "string" },
  { kind: "integer" },
  { kind: "number" },
  { kind: "integer-string", column: "int64" },
  { kind: "integer-string", column: "decimal38" },
  { kind: "decimal-string", precision: 9, scale: 2 },
  { kind: "decimal-string", precision: 18, scale: 6 },
  { kind: "decimal-string", precision: 38, scale: 19 },
  { kind: "boolean" },
  { kind: "date" },
  { kind: "timestamp", fraction: 0 },
  { kind: "timestamp", fraction: 3 },
  { kind: "timestamp", fraction: 6 },
  { kind: "json" },
];

const troublesome = [
  "",
  " ",
  '"',
  '""',
  ",",
  "\r",
  "\n",
  "\r\n",
  "\0",
  "\u0085",
  "\u2028",
  "\u2029",
  "\uFEFF",
  "\uFEFFx",
]
  .concat(["=1+1", "NULL", "null", "NaN", "é", "e\u0301", "😀", "\uFFFD", "\uFB33", "a".repeat(13), "x,".repeat(300)])
  .concat(["-0", "1e5", "true", "{}", "\\", "\\u2028", "\u001f", "\u007f", "\uD7FF", "\uE000"]);

const text = fc.oneof(fc.string({ unit: "binary", maxLength: 20 }), fc.constantFrom(...troublesome));
const name = fc.oneof(
  fc.string({ unit: "binary", minLength: 1, maxLength: 8 }),
  fc.constantFrom("__proto__", "a,b", 'c"d', "1"),
);

/** Any profile over all column types with `names` to draw from, and up to `maxRows` rows for it. Keys are unique and in order. */
export function profiledRows(
  options: { readonly names?: fc.Arbitrary<string>; readonly maxRows?: number } = {},
): fc.Arbitrary<ProfiledRows> {
  const names = fc.uniqueArray(options.names ?? name, {
    minLength: 1,
    maxLength: 8,
    // Column stores fold case, so names that differ in case alone are no profile.
    selector: (value) => value.toLowerCase(),
  });
  const missing = fc.constantFrom("forbidden", "null", "absent");
  return names
    .chain((all) =>
      fc.tuple(...all.map((one, index) => member(one, index === 0 ? fc.constant("forbidden" as const) : missing))),
    )
    .chain((members) => {
      const keys = members.filter((one) => one.missing === "forbidden" && one.type.kind !== "json").slice(0, 3);
      const key: ProfileMember = { name: "row_key", type: { kind: "integer" }, missing: "forbidden" };
      const profile: RowProfile = {
        members: [...members.filter((one) => one.name !== key.name), key],
        primaryKeys: [...keys.map((one) => one.name).filter((one) => one !== key.name), key.name],
        controlTotals: [],
      };
      const row = fc.tuple(...profile.members.map(cell));
      return fc.array(row, { maxLength: options.maxRows ?? 20 }).map((cells) => ({
        profile,
        rows: inKeyOrder(
          cells.map((values, index) => rowOf(profile, values, index)),
          profile.primaryKeys,
        ),
      }));
    });
}

/** The rows sorted as a revision serves them. */
export function inKeyOrder(rows: readonly LogicalRow[], primaryKeys: readonly string[]): readonly LogicalRow[] {
  return rows
    .map((row) => ({ row, key: sortKey(row, primaryKeys) }))
    .sort((left, right) => compareBytes(left.key, right.key))
    .map(({ row }) => row);
}

function member(memberName: string, missing: fc.Arbitrary<ProfileMember["missing"]>): fc.Arbitrary<ProfileMember> {
  return fc.record({ name: fc.constant(memberName), type: fc.constantFrom(...columnTypes), missing });
}

function cell({ type, missing }: ProfileMember): fc.Arbitrary<JsonValue | undefined> {
  const value = valueArbitrary(type);
  switch (missing) {
    case "forbidden":
      return type.kind === "json" ? value.filter((present) => present !== null) : value;
    case "null":
      return fc.option(value, { nil: null, freq: 3 });
    case "absent":
    case "null-or-absent":
      return fc.option(
        value.filter((present) => present !== null),
        { nil: undefined, freq: 3 },
      );
  }
}

function rowOf(profile: RowProfile, values: readonly (JsonValue | undefined)[], index: number): LogicalRow {
  const entries = profile.members.map((one, at) => [one.name, one.name === "row_key" ? index : values[at]] as const);
  const present = entries.filter((entry): entry is readonly [string, JsonValue] => entry[1] !== undefined);
  return Object.fromEntries(present);
}

function valueArbitrary(type: ColumnType): fc.Arbitrary<JsonValue> {
  switch (type.kind) {
    case "string":
      return text;
    case "integer":
      return fc.maxSafeInteger();
    case "number":
      return fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);
    case "integer-string": {
      const bound = type.column === "int64" ? 2n ** 63n : 10n ** 38n;
      return fc.bigInt({ min: type.column === "int64" ? -bound : 1n - bound, max: bound - 1n }).map(String);
    }
    case "decimal-string": {
      const bound = 10n ** BigInt(type.precision) - 1n;
      return fc.bigInt({ min: -bound, max: bound }).map((unscaled) => decimalText(unscaled, type.scale));
    }
    case "boolean":
      return fc.boolean();
    case "date":
      return instant.map((value) => value.toISOString().slice(0, 10));
    case "timestamp":
      return fc.tuple(instant, fc.integer({ min: 0, max: 999 })).map(([value, micros]) => {
        const iso = value.toISOString();
        if (type.fraction === 0) return `${iso.slice(0, 19)}Z`;
        return type.fraction === 3 ? iso : `${iso.slice(0, 23)}${String(micros).padStart(3, "0")}Z`;
      });
    case "json":
      return fc.jsonValue({ stringUnit: "binary", maxDepth: 3 }).map((value) => parseJson(canonicalJson(value)));
  }
}

const instant = fc.date({
  min: new Date("1600-01-01T00:00:00.000Z"),
  max: new Date("2400-12-31T23:59:59.999Z"),
  noInvalidDate: true,
});

function decimalText(unscaled: bigint, scale: number): string {
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, "0");
  return `${unscaled < 0n ? "-" : ""}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}
