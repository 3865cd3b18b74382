import type { LogicalRow, RowProfile } from "../../core/rows/profile.ts";
import { inKeyOrder, type ProfiledRows } from "./arbitrary-rows.ts";

const profile: RowProfile = {
  members: [
    { name: "id", type: { kind: "string" }, missing: "forbidden" },
    { name: "note", type: { kind: "string" }, missing: "null" },
    { name: "hint", type: { kind: "string" }, missing: "absent" },
    { name: "impressions", type: { kind: "integer-string", column: "int64" }, missing: "null" },
    { name: "huge", type: { kind: "integer-string", column: "decimal38" }, missing: "absent" },
    { name: "spend", type: { kind: "decimal-string", precision: 18, scale: 6 }, missing: "null" },
    { name: "clicks", type: { kind: "integer" }, missing: "null" },
    { name: "rate", type: { kind: "number" }, missing: "null" },
    { name: "viewable", type: { kind: "boolean" }, missing: "null" },
    { name: "report_date", type: { kind: "date" }, missing: "forbidden" },
    { name: "window_end", type: { kind: "timestamp", fraction: 6 }, missing: "null" },
    { name: "seen_at", type: { kind: "timestamp", fraction: 3 }, missing: "absent" },
    { name: "detail", type: { kind: "json" }, missing: "null" },
  ],
  primaryKeys: ["id", "report_date"],
  controlTotals: [
    { name: "impressions", member: "impressions", value_type: "integer", scale: 0 },
    { name: "spend", member: "spend", value_type: "decimal", scale: 6 },
  ],
};

const nothing: LogicalRow = {
  id: "nothing",
  note: null,
  impressions: null,
  spend: null,
  clicks: null,
  rate: null,
  viewable: null,
  report_date: "2026-03-08",
  window_end: null,
  detail: null,
};

function row(id: string, values: LogicalRow): LogicalRow {
  return { ...nothing, id, ...values };
}

const rows: readonly LogicalRow[] = [
  nothing,
  row("empty text", { note: "", hint: "", detail: "" }),
  row("int64 above 2^53", { impressions: "9007199254740993", huge: "9007199254740993" }),
  row("int64 ends", { impressions: "-9223372036854775808" }),
  row("int64 end", { impressions: "9223372036854775807", huge: "99999999999999999999999999999999999999" }),
  row("decimals", { spend: "12.340000", huge: "-99999999999999999999999999999999999999" }),
  row("smallest decimal", { spend: "-0.000001", huge: "0" }),
  row("zero decimal", { spend: "0.000000" }),
  row("largest decimal", { spend: "999999999999.999999" }),
  row("numbers", { clicks: -9007199254740991, rate: 1e21 }),
  row("small number", { clicks: 9007199254740991, rate: 1e-7 }),
  row("least number", { clicks: 0, rate: 5e-324 }),
  row("greatest number", { rate: -1.7976931348623157e308 }),
  row("tenth", { rate: 0.1 }),
  row("microseconds", { window_end: "2026-03-08T07:00:00.123456Z", seen_at: "2026-03-08T07:00:00.123Z" }),
  row("before 1970", { window_end: "1969-12-31T23:59:59.999999Z", seen_at: "1969-12-31T23:59:59.999Z" }),
  row("1900", { window_end: "1900-01-01T00:00:00.000000Z", report_date: "1900-01-01", viewable: true }),
  row("dst gap", { window_end: "2026-03-08T02:30:00.000000Z", report_date: "2024-02-29", viewable: false }),
  row('quotes "", comma', { note: 'Acme, "North"\nUnit', hint: '"', detail: { 'a"b': [1, null, "x\r\n"] } }),
  row("line ends", { note: "a\u0085b\u2028c\u2029d\r\ne\rf\ng", detail: ["\u2028"] }),
  row("formula", { note: "=1+1", hint: "-1250.50" }),
  row("controls", { note: "\u0000\u0001\u001f\u007f", hint: "\t" }),
  row("\uFEFFbyte order mark", { note: "\uFEFF", hint: "\uFEFFx", detail: { "\uFEFF": "\uFEFF" } }),
  row("composed é", { note: "Café" }),
  row("decomposed e\u0301", { note: "Cafe\u0301", hint: "\uFFFD" }),
  row("emoji 😀", { note: "😀", hint: "\uFB33", detail: { "\u{1F600}": 1, "\uFB33": 2, a: 3 } }),
  row("a", { note: "the closing quote sorts" }),
  row("a!", { note: "before the other" }),
  row("spaces", { note: " leading and trailing ", hint: "  " }),
  row("null word", { note: "null", hint: "NULL" }),
  row("long", { note: "x".repeat(70_000), hint: "é".repeat(40_000) }),
];

/** Values that break encoders, in key order: 64-bit ends, exact decimals, early instants, odd text, empty against missing. */
export const hardRows: ProfiledRows = { profile, rows: inKeyOrder(rows, profile.primaryKeys) };
