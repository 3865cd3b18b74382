import type { Problem } from "../core/errors.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import { isId } from "../core/model/id.ts";
import type { ControlTotal, FileCompression, FileEntry, FileFormat, Manifest, Period } from "../core/model/records.ts";
import { controlTotalProblems } from "../core/model/totals.ts";

/** A manifest as anybody may write it: the contract also knows formats that we do not read. */
export interface AnyManifest extends Omit<Manifest, "format"> {
  readonly format: FileFormat | "avro" | "orc";
}

export type ShapeResult =
  | { readonly manifest: AnyManifest; readonly problems: readonly [] }
  | { readonly manifest?: undefined; readonly problems: readonly Problem[] };

type Check = (value: JsonValue, at: string, report: Report) => void;
type Report = (field: string, message: string) => void;
interface Shape {
  readonly required: { readonly [member: string]: Check };
  readonly optional?: { readonly [member: string]: Check };
}

/** Reporting-file-manifest, member for member: nothing missing, nothing extra, every value in its own form. All problems at once. */
export function manifestShape(value: JsonValue): ShapeResult {
  const problems: Problem[] = [];
  object(manifest)(value, "", (field, message) => {
    problems.push({ code: "INVALID_MANIFEST", message: `manifest: ${field} ${message}`, field });
  });
  if (problems.length > 0) return { problems };
  const { control_totals } = value as unknown as AnyManifest;
  const totals = controlTotalProblems(control_totals);
  if (totals.length > 0) return { problems: totals.map((problem) => ({ ...problem, code: "INVALID_MANIFEST" })) };
  return { manifest: value as unknown as AnyManifest, problems: [] };
}

function object(shape: Shape): Check {
  const known: { readonly [member: string]: Check } = { ...shape.required, ...shape.optional };
  return (value, at, report) => {
    if (!isObject(value)) {
      report(at === "" ? "document" : at, "must be an object");
      return;
    }
    const inside = (name: string): string => (at === "" ? name : `${at}.${name}`);
    for (const name of Object.keys(shape.required)) if (!Object.hasOwn(value, name)) report(inside(name), "is missing");
    for (const [name, member] of Object.entries(value)) {
      const check = Object.hasOwn(known, name) ? known[name] : undefined;
      if (check === undefined) report(at === "" ? "document" : at, "has a member that manifests do not have");
      else check(member, inside(name), report);
    }
  };
}

function list(item: Check, least: number): Check {
  return (value, at, report) => {
    if (!Array.isArray(value)) report(at, "must be a list");
    else if (value.length < least) report(at, "must not be empty");
    else for (const [index, entry] of value.entries()) item(entry, `${at}[${index}]`, report);
  };
}

function constant(wanted: JsonValue): Check {
  return (value, at, report) => {
    if (value !== wanted) report(at, `must be ${JSON.stringify(wanted)}`);
  };
}

function oneOf(words: readonly string[]): Check {
  return (value, at, report) => {
    if (typeof value !== "string" || !words.includes(value)) report(at, `must be one of ${words.join(", ")}`);
  };
}

/** Characters, as the wire counts them: code points. */
function text(least: number, most: number): Check {
  return (value, at, report) => {
    const length = typeof value === "string" ? [...value].length : -1;
    if (length < least || length > most) report(at, `must be a string of ${least} to ${most} characters`);
  };
}

function matching(isRight: (value: string) => boolean, wanted: string): Check {
  return (value, at, report) => {
    if (typeof value !== "string" || !isRight(value)) report(at, `must be ${wanted}`);
  };
}

const count: Check = (value, at, report) => {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return;
  report(at, "must be a whole number from 0 to 2^53 - 1");
};

const partition: Check = (value, at, report) => {
  if (!isObject(value)) return report(at, "must be an object");
  const names = Object.keys(value);
  if (names.length > 32) report(at, "must not have more than 32 members");
  for (const name of names) text(0, 512)(value[name] ?? null, `${at}.${name}`, report);
};

const controlTotal: Check = (value, at, report) => {
  object({
    required: { name: text(1, 128), value: text(1, 4096), value_type: oneOf(["integer", "decimal"]) },
    optional: { unit: text(1, 32) },
  })(value, at, report);
};

const id = matching(isId, "1 to 255 characters of A-Z a-z 0-9 _ . : -");
const sha256 = matching((value) => /^[A-Fa-f0-9]{64}$/.test(value), "64 hex digits");
const instant = matching(isDateTime, "an RFC 3339 date-time with an offset");

const period: { readonly [member in keyof Period]: Check } = {
  start: instant,
  end: instant,
  source_timezone: text(1, Number.MAX_SAFE_INTEGER),
};

type Members<T> = { readonly [member in keyof T as undefined extends T[member] ? never : member]-?: Check };

const fileEntry: Members<FileEntry> = {
  object_ref: text(1, 1024),
  size_bytes: count,
  sha256,
  row_count: count,
};

const manifestMembers: Members<AnyManifest> = {
  manifest_version: constant("1.0"),
  complete: constant(true),
  reporting_revision_id: id,
  reporting_obligation_id: id,
  reporting_materialization_id: id,
  period: object({ required: period }),
  format: oneOf(["jsonl", "csv", "parquet", "avro", "orc"] satisfies AnyManifest["format"][]),
  compression: oneOf(["none", "gzip", "zstd", "snappy"] satisfies FileCompression[]),
  files: list(object({ required: fileEntry, optional: { native_version_ref: text(1, 1024), partition } }), 1),
  total_size_bytes: count,
  row_count: count,
  control_totals: list(controlTotal, 0),
  created_at: instant,
};

const manifest: Shape = { required: manifestMembers };

/** Wire form of control totals, for side files that carry them. */
export function areControlTotals(value: JsonValue | undefined): value is readonly (ControlTotal & JsonObject)[] {
  let right = true;
  list(controlTotal, 0)(value ?? null, "", () => {
    right = false;
  });
  return right && controlTotalProblems(value as unknown as readonly ControlTotal[]).length === 0;
}

/** A time of day may be a leap second and finer than a microsecond: the wire allows both and nothing is computed from it here. */
function isDateTime(value: string): boolean {
  const match =
    /^\d{4}-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.\d{1,32})?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/.exec(value);
  if (match === null) return false;
  const [month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1).map(Number);
  return month >= 1 && month <= 12 && day >= 1 && day <= 31 && hour <= 23 && minute <= 59 && second <= 60;
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
