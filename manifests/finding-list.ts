import type { Finding, FindingCode } from "./finding.ts";

/** Order of the checks, which is the order of the report. */
const order: { readonly [code in FindingCode]: number } = {
  MATERIALIZATION_SCOPE_MISMATCH: 1,
  MATERIALIZATION_NOT_READY: 2,
  RESOURCE_EXPIRED: 3,
  RESOURCE_NOT_READY: 4,
  MANIFEST_DIGEST_MISMATCH: 5,
  INVALID_MANIFEST: 6,
  MANIFEST_IDENTITY_MISMATCH: 7,
  UNSAFE_RESOURCE: 8,
  SIDE_FILE_MISMATCH: 9,
  RESOURCE_READ_FAILED: 10,
  OBJECT_SIZE_MISMATCH: 11,
  OBJECT_DIGEST_MISMATCH: 12,
  UNSUPPORTED_FORMAT: 13,
  UNSUPPORTED_COMPRESSION: 14,
  RESOURCE_TOO_LARGE: 15,
  INVALID_CONTRACT: 16,
  ROW_SCHEMA_INVALID: 17,
  ROW_COUNT_MISMATCH: 18,
  CONTROL_TOTAL_MISMATCH: 19,
  CANONICAL_DIGEST_MISMATCH: 20,
};

export type FindingFacts = Pick<Finding, "code" | "message"> & Partial<Finding>;

/** Findings of one verification. Bounded per code, so that a million bad rows cannot hide one damaged object. */
export class FindingList {
  private readonly max: number;
  private readonly byCode = new Map<FindingCode, Finding[]>();
  private omitted = 0;

  constructor(max: number) {
    this.max = max;
  }

  add(facts: FindingFacts): void {
    const { code, message, object_ref = null, row = null, key = null, column = null } = facts;
    const finding = { code, message, object_ref, row, key, column };
    this.take({ ...finding, expected: facts.expected ?? null, actual: facts.actual ?? null });
  }

  addAll(other: FindingList): void {
    for (const findings of other.byCode.values()) for (const finding of findings) this.take(finding);
    this.omitted += other.omitted;
  }

  has(code: FindingCode): boolean {
    return this.byCode.has(code);
  }

  get isEmpty(): boolean {
    return this.byCode.size === 0;
  }

  /** At most `max`, in the order of the checks. What is too many is cut from the most frequent codes. */
  result(): { readonly findings: readonly Finding[]; readonly omitted: number } {
    const lists = [...this.byCode]
      .sort(([left], [right]) => order[left] - order[right])
      .map(([, findings]) => findings);
    let share = this.max;
    while (share > 1 && lists.reduce((total, list) => total + Math.min(list.length, share), 0) > this.max) share -= 1;
    const findings = lists.flatMap((list) => list.slice(0, share));
    const held = lists.reduce((total, list) => total + list.length, 0);
    return { findings, omitted: this.omitted + held - findings.length };
  }

  private take(finding: Finding): void {
    const findings = this.byCode.get(finding.code);
    if (findings === undefined) this.byCode.set(finding.code, [finding]);
    else if (findings.length < this.max) findings.push(finding);
    else this.omitted += 1;
  }
}
