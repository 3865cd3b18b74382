import { describe, expect, it } from "vitest";
import type { ControlTotal, VerificationProfile } from "../../core/model/records.ts";
import type { Observation } from "../../drivers/driver.ts";
import type { FindingCode } from "../../manifests/finding.ts";
import { type JudgedAgainst, judgeObservation } from "../../workers/judge-observation.ts";
import { aRevision } from "../conformance/ledger/records.ts";

type Read = Extract<Observation, { outcome: "read" }>;

const revision = aRevision();
const checksums = [{ object_ref: "part-00000.jsonl", algorithm: "sha256", value: "8".repeat(64) }] as const;

/** A read that saw exactly the revision, with all evidence there is. */
const fullRead: Read = {
  outcome: "read",
  rowCount: revision.row_count,
  controlTotals: revision.control_totals,
  canonicalDigest: "4".repeat(64),
  physicalChecksums: checksums,
  manifestSha256: "7".repeat(64),
  nativeVersionRef: "version-1",
  findings: [],
};
const against: JudgedAgainst = { revision, profile: "canonical_digest", path: "producer" };

function without(read: Read, ...names: readonly (keyof Read)[]): Read {
  return Object.fromEntries(Object.entries(read).filter(([name]) => !names.includes(name as keyof Read))) as Read;
}

function codesOf(read: Read, changes: Partial<JudgedAgainst> = {}): readonly FindingCode[] {
  const judged = judgeObservation(read, { ...against, ...changes });
  return judged.match ? [] : judged.findings.map(({ code }) => code);
}

const [impressions, spend] = revision.control_totals as readonly [ControlTotal, ControlTotal];

describe("a read that saw the revision", () => {
  it("is evidence with what it saw, in the revision's order", () => {
    const seen = { ...fullRead, controlTotals: [spend, impressions] };
    expect(judgeObservation(seen, against)).toEqual({
      match: true,
      verification: {
        verification_path: "producer",
        verification_profile: "canonical_digest",
        row_count: 2,
        control_totals: [impressions, spend],
        canonical_content_digest: revision.canonical_content_digest,
        physical_checksums: checksums,
      },
    });
  });

  it("[I3] names the native version only when it was seen as the consumer sees it", () => {
    const seen = (path: JudgedAgainst["path"]) => {
      const judged = judgeObservation(fullRead, { ...against, path });
      return judged.match ? judged.verification.native_commit_evidence : undefined;
    };
    expect(seen("producer")).toBeUndefined();
    expect(seen("representative_consumer")).toEqual({
      native_version_ref: "version-1",
      observed_through: "representative_consumer",
    });
  });

  it("needs no digest where the profile asks for none", () => {
    const read = without(fullRead, "canonicalDigest");
    expect(codesOf(read, { profile: "manifest_checksums" })).toEqual([]);
  });

  it("of a revision with zero rows is evidence like any other", () => {
    const empty = aRevision({ row_count: 0 });
    expect(codesOf({ ...fullRead, rowCount: 0 }, { revision: empty })).toEqual([]);
  });
});

describe("[I3] a read that saw anything else", () => {
  const wrong: readonly (readonly [string, FindingCode, Partial<Read>])[] = [
    ["one row less", "ROW_COUNT_MISMATCH", { rowCount: 1 }],
    ["one row more", "ROW_COUNT_MISMATCH", { rowCount: 3 }],
    ["a total off by one past 2^53", "CONTROL_TOTAL_MISMATCH", totals({ value: "9007199254740992" })],
    ["a total with another sign", "CONTROL_TOTAL_MISMATCH", totals({ value: "-9007199254740993" })],
    ["a total in another unit", "CONTROL_TOTAL_MISMATCH", totals({ unit: "clicks" })],
    ["a total without its unit", "CONTROL_TOTAL_MISMATCH", { controlTotals: [withoutUnit(impressions), spend] }],
    ["a total of another type", "CONTROL_TOTAL_MISMATCH", totals({ value_type: "decimal" })],
    ["a missing total", "CONTROL_TOTAL_MISMATCH", { controlTotals: [impressions] }],
    ["no totals", "CONTROL_TOTAL_MISMATCH", { controlTotals: [] }],
    [
      "a total too many",
      "CONTROL_TOTAL_MISMATCH",
      { controlTotals: [impressions, spend, { ...impressions, name: "clicks" }] },
    ],
    ["another digest", "CANONICAL_DIGEST_MISMATCH", { canonicalDigest: "5".repeat(64) }],
  ];

  it.each(wrong)("%s is no match: %s", (_what, code, changes) => {
    expect(new Set(codesOf({ ...fullRead, ...changes }))).toEqual(new Set([code]));
  });

  it("tells every difference at once", () => {
    const read = { ...fullRead, rowCount: 1, controlTotals: [impressions], canonicalDigest: "5".repeat(64) };
    expect(codesOf(read)).toEqual(["ROW_COUNT_MISMATCH", "CONTROL_TOTAL_MISMATCH", "CANONICAL_DIGEST_MISMATCH"]);
  });

  it("says what was expected and what was there", () => {
    const judged = judgeObservation({ ...fullRead, rowCount: 1 }, against);
    expect(judged).toMatchObject({ match: false, findings: [{ expected: "2", actual: "1" }] });
  });

  it("a finding inside the resource is no match although rows, totals and digest agree", () => {
    const found = {
      code: "OBJECT_DIGEST_MISMATCH",
      message: "the object has other bytes",
      object_ref: "part-00000.jsonl",
      row: null,
      key: null,
      column: null,
      expected: "8".repeat(64),
      actual: "9".repeat(64),
    } as const;
    expect(judgeObservation({ ...fullRead, findings: [found] }, against)).toEqual({ match: false, findings: [found] });
  });
});

describe("[I3] evidence that the profile needs and the read did not bring", () => {
  const needed: readonly (readonly [VerificationProfile, keyof Read, FindingCode])[] = [
    ["canonical_digest", "canonicalDigest", "CANONICAL_DIGEST_MISMATCH"],
    ["manifest_checksums", "physicalChecksums", "OBJECT_DIGEST_MISMATCH"],
    ["native_commit", "nativeVersionRef", "MATERIALIZATION_SCOPE_MISMATCH"],
  ];

  it.each(needed)("%s without %s is no match", (profile, evidence, code) => {
    expect(codesOf(without(fullRead, evidence), { profile })).toEqual([code]);
    expect(codesOf(fullRead, { profile })).toEqual([]);
  });

  it("a profile that wants a digest cannot be met by a revision that has none", () => {
    const { canonical_content_digest: _, ...undigested } = revision;
    expect(codesOf(fullRead, { revision: undigested })).toEqual(["CANONICAL_DIGEST_MISMATCH"]);
    expect(codesOf(without(fullRead, "canonicalDigest"), { revision: undigested })).toEqual([
      "CANONICAL_DIGEST_MISMATCH",
    ]);
  });
});

function totals(changes: Partial<ControlTotal>): Partial<Read> {
  return { controlTotals: [{ ...impressions, ...changes }, spend] };
}

function withoutUnit({ unit: _, ...total }: ControlTotal): ControlTotal {
  return total;
}
