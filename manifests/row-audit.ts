import { canonicalJson } from "../core/canonical-json.ts";
import type { DecodedRecord } from "../core/encoding/encoding.ts";
import { type Problem, WaybillError } from "../core/errors.ts";
import type { JsonValue } from "../core/json.ts";
import type { ControlTotal } from "../core/model/records.ts";
import { createTotals, type Totals } from "../core/model/totals.ts";
import { createRowCanonicalizer } from "../core/rows/canonical-row.ts";
import type { ColumnType, LogicalRow, ProfileMember, RowProfile } from "../core/rows/profile.ts";
import { sortKey } from "../core/rows/sort-key.ts";
import { createRowValidator, type RowValidator } from "../core/rows/validate-row.ts";
import type { KeyedRow } from "./digest-rows.ts";
import type { FindingList } from "./finding-list.ts";
import type { SchemaCheck } from "./platform.ts";
import { shortText } from "./short-text.ts";

const none: readonly KeyedRow[] = [];

/** Judges rows one by one, sums them, and hands on the right ones with their keys. */
export class RowAudit {
  private readonly profile: RowProfile;
  private readonly validate: RowValidator;
  private readonly schema: SchemaCheck | undefined;
  private readonly totals: Totals;
  private readonly members: ReadonlyMap<string, ProfileMember>;
  private readonly wantsKeys: boolean;
  private readonly canonical: (row: LogicalRow) => string;
  private summed = true;
  private digestible = true;

  /** `schema`: a check of the row schema itself, for schemas that say more than the profile. */
  constructor(profile: RowProfile, schema: SchemaCheck | undefined, wantsKeys: boolean) {
    this.profile = profile;
    this.validate = createRowValidator(profile);
    this.schema = schema;
    this.totals = createTotals(profile.controlTotals);
    this.members = new Map(profile.members.map((member) => [member.name, member]));
    this.wantsKeys = wantsKeys;
    this.canonical = createRowCanonicalizer(profile);
  }

  /** Every row could be part of the digest. */
  get isDigestible(): boolean {
    return this.digestible;
  }

  /** Totals over all rows; undefined when one of them could not be summed. */
  result(): readonly ControlTotal[] | undefined {
    return this.summed ? this.totals.result() : undefined;
  }

  add(records: readonly DecodedRecord[], objectRef: string, findings: FindingList): readonly KeyedRow[] {
    const keyed: KeyedRow[] = [];
    for (const { number, row, problem } of records) {
      if (row === undefined) {
        this.summed = false;
        this.digestible = false;
        this.report(problem, undefined, objectRef, number, findings);
        continue;
      }
      const problems =
        this.schema === undefined ? this.validate(row, number) : this.bothChecks(row, number, this.schema);
      for (const one of problems) this.report(one, row, objectRef, number, findings);
      this.sum(row, problems.length > 0, objectRef, number, findings);
      if (problems.length > 0) this.digestible = false;
      else if (this.wantsKeys) {
        const key = sortKey(row, this.profile.primaryKeys);
        keyed.push({ key, canonical: this.canonical(row), objectRef, number });
      }
    }
    return this.wantsKeys ? keyed : none;
  }

  private bothChecks(row: LogicalRow, number: number, schema: SchemaCheck): readonly Problem[] {
    const own = this.validate(row, number);
    return own.length > 0 ? own : schema.check(row, number);
  }

  private sum(row: LogicalRow, isBad: boolean, objectRef: string, number: number, findings: FindingList): void {
    try {
      this.totals.add(row);
    } catch (error) {
      if (!(error instanceof WaybillError)) throw error;
      this.summed = false;
      // A row that breaks its schema was reported for that.
      if (isBad) return;
      for (const { message, member } of error.problems) {
        const place = { object_ref: objectRef, row: number, key: keyText(row, this.profile), column: member ?? null };
        findings.add({ code: "CONTROL_TOTAL_MISMATCH", message, ...place, actual: valueText(row, member) });
      }
    }
  }

  private report(
    problem: Problem,
    row: LogicalRow | undefined,
    objectRef: string,
    number: number,
    findings: FindingList,
  ): void {
    const { code, message, member, limit } = problem;
    const rule = member === undefined ? undefined : this.members.get(member);
    findings.add({
      code: code === "RECORD_TOO_LONG" ? "RESOURCE_TOO_LARGE" : "ROW_SCHEMA_INVALID",
      message,
      object_ref: objectRef,
      row: number,
      key: row === undefined ? null : keyText(row, this.profile),
      column: member ?? null,
      expected: rule === undefined ? (limit ?? null) : ruleText(rule),
      actual: row === undefined ? null : valueText(row, member),
    });
  }
}

/** The key values as a JSON array; null when the row has no proper key. */
function keyText(row: LogicalRow, profile: RowProfile): string | null {
  const values = profile.primaryKeys.map((name) => (Object.hasOwn(row, name) ? (row[name] ?? null) : null));
  return values.every((value) => value === null) ? null : shortText(canonicalJson(values));
}

function valueText(row: LogicalRow, member: string | undefined): string | null {
  if (member === undefined || !Object.hasOwn(row, member)) return null;
  const value: JsonValue | undefined = row[member];
  return value === undefined ? null : shortText(canonicalJson(value));
}

/** What a member must be, in the words of definition files. */
function ruleText({ type, missing }: ProfileMember): string {
  const optional = { forbidden: "", null: " or null", absent: " or absent", "null-or-absent": ", null or absent" }[
    missing
  ];
  return typeText(type) + optional;
}

function typeText(type: ColumnType): string {
  switch (type.kind) {
    case "integer-string":
      return type.column === "int64" ? "integer-string of 64 bits" : "integer-string of 38 digits";
    case "decimal-string":
      return `decimal-string(${type.precision},${type.scale})`;
    case "timestamp":
      return `timestamp with ${type.fraction} fraction digits`;
    default:
      return type.kind;
  }
}
