import { describe, expect, it } from "vitest";
import {
  type CanonicalizationContract,
  type GoldenVector,
  readCanonicalizationContract,
} from "../../../core/digest/canonicalization-contract.ts";
import { goldenVector, runGoldenVectors } from "../../../core/digest/golden-vectors.ts";
import { nodeHasher } from "../../../core/digest/node-hasher.ts";
import { WaybillError } from "../../../core/errors.ts";
import type { JsonObject } from "../../../core/json.ts";

const hasher = () => nodeHasher("sha256");
const keys = ["day", "buy"];
const rows: readonly JsonObject[] = [
  { spend: "4.50", day: "2026-08-26", buy: "b" },
  { spend: "3.50", day: "2026-08-26", buy: "a" },
];

function contract(change: Partial<CanonicalizationContract["golden_vectors"]> = {}): CanonicalizationContract {
  return {
    contract_version: "1.0",
    media_type: "application/vnd.adcp.reporting-canonicalization+json",
    algorithm: "adcp_jcs_rows_v1",
    schema_sha256: "a".repeat(64),
    primary_keys: keys,
    golden_vectors: {
      empty_report: goldenVector("empty_report", "empty", [], keys, hasher),
      ordering_encoding: goldenVector("ordering_encoding", "ordering", rows, keys, hasher),
      ...change,
    },
  };
}

function changed(vector: GoldenVector, change: Partial<GoldenVector>): GoldenVector {
  return { ...vector, ...change };
}

function codes(subject: CanonicalizationContract): readonly string[] {
  return runGoldenVectors(subject, hasher).map(({ code }) => code);
}

describe("runGoldenVectors", () => {
  it("trusts a contract whose vectors are reproduced, whatever the case of its digests", () => {
    expect(codes(contract())).toEqual([]);
    const { ordering_encoding: ordering } = contract().golden_vectors;
    expect(
      codes(contract({ ordering_encoding: changed(ordering, { sha256: ordering.sha256.toUpperCase() }) })),
    ).toEqual([]);
  });

  it("refuses other bytes, another digest, loose base64 and an empty report with rows", () => {
    const { ordering_encoding: ordering, empty_report: empty } = contract().golden_vectors;
    const bad: readonly Partial<CanonicalizationContract["golden_vectors"]>[] = [
      { ordering_encoding: changed(ordering, { sha256: "0".repeat(64) }) },
      { ordering_encoding: changed(ordering, { canonical_utf8_base64: "W10=" }) },
      { empty_report: changed(empty, { canonical_utf8_base64: "W10" }) },
      { empty_report: changed(empty, { canonical_utf8_base64: "W10=\n" }) },
      { empty_report: goldenVector("empty_report", "empty", rows, keys, hasher) },
      { additional: [changed(ordering, { name: "third", input_rows: rows.slice(0, 1) })] },
    ];
    for (const change of bad) expect(codes(contract(change))).toEqual(["GOLDEN_VECTOR_MISMATCH"]);
  });

  it("refuses vectors whose rows lack a key, repeat one or have no canonical form", () => {
    const { ordering_encoding: ordering } = contract().golden_vectors;
    const bad: readonly (readonly JsonObject[])[] = [
      [{ day: "1" }],
      [...rows, ...rows],
      [{ day: "1", buy: "\uD800" }],
      [{ day: ["1"], buy: "a" }],
    ];
    for (const input_rows of bad) {
      expect(codes(contract({ ordering_encoding: changed(ordering, { input_rows }) }))).toEqual([
        "GOLDEN_VECTOR_MISMATCH",
      ]);
    }
  });

  it("refuses an ordering vector that proves nothing, and a name used twice", () => {
    const inOrder = [...rows].reverse();
    const sortedMembers = rows.map(({ buy, day, spend }) => ({ buy, day, spend }) as JsonObject);
    for (const input of [inOrder, sortedMembers, rows.slice(0, 1)]) {
      const vector = goldenVector("ordering_encoding", "ordering", input, keys, hasher);
      expect(codes(contract({ ordering_encoding: vector }))).toEqual(["GOLDEN_VECTOR_TRIVIAL"]);
    }
    const twice = goldenVector("additional", "ordering", rows, keys, hasher);
    expect(codes(contract({ additional: [twice] }))).toEqual(["DUPLICATE_VECTOR_NAME"]);
  });
});

describe("readCanonicalizationContract", () => {
  const bytes = (document: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(document));
  const fieldsOf = (document: Uint8Array): readonly (string | undefined)[] => {
    try {
      readCanonicalizationContract(document);
    } catch (error) {
      if (error instanceof WaybillError) return error.problems.map(({ field }) => field);
      throw error;
    }
    return [];
  };

  it("reads what it accepts, member order of the vectors' rows included", () => {
    const document = contract();
    const read = readCanonicalizationContract(bytes(document));
    expect(read).toEqual(document);
    expect(codes(read)).toEqual([]);
  });

  it("names every member that is wrong at once", () => {
    const wrong = { ...contract(), algorithm: "other", schema_sha256: "x", primary_keys: ["a", "a"], extra: 1 };
    expect(fieldsOf(bytes(wrong))).toEqual(["extra", "algorithm", "schema_sha256", "primary_keys"]);
    const { empty_report } = contract().golden_vectors;
    const vectors = { empty_report: { ...empty_report, name: "", more: 1 }, other: {} };
    expect(fieldsOf(bytes({ ...contract(), golden_vectors: vectors }))).toEqual([
      "golden_vectors.other",
      "golden_vectors.empty_report.more",
      "golden_vectors.empty_report.name",
      "golden_vectors.ordering_encoding",
    ]);
    expect(fieldsOf(bytes([]))).toEqual(["document"]);
  });

  it("B35 refuses a document with a repeated member", () => {
    const text = JSON.stringify(contract()).replace('"algorithm"', '"algorithm":"other","algorithm"');
    expect(() => readCanonicalizationContract(new TextEncoder().encode(text))).toThrow(/repeated/);
  });
});
