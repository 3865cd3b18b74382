import { type Problem, WaybillError } from "../errors.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import { compareBytes, sortKey } from "../rows/sort-key.ts";
import { JsonError } from "../strict-json.ts";
import { canonicalContent } from "./canonical-content.ts";
import type { CanonicalizationContract, GoldenVector, VectorPurpose } from "./canonicalization-contract.ts";
import type { Sha256Factory } from "./hasher.ts";

/**
 * Reproduces every golden vector of a contract. An empty list means: the contract computes what we compute and may be
 * trusted. Codes: GOLDEN_VECTOR_MISMATCH (bytes or digest differ, rows without a canonical form), GOLDEN_VECTOR_TRIVIAL
 * (the ordering vector would pass without sorting rows or members), DUPLICATE_VECTOR_NAME.
 */
export function runGoldenVectors(contract: CanonicalizationContract, createHasher: Sha256Factory): readonly Problem[] {
  const { empty_report: empty, ordering_encoding: ordering, additional = [] } = contract.golden_vectors;
  const vectors = [empty, ordering, ...additional];
  const problems: Problem[] = [];
  const seen = new Set<string>();
  for (const vector of vectors) {
    if (seen.has(vector.name)) problems.push(problem("DUPLICATE_VECTOR_NAME", vector, "has a name that is taken"));
    seen.add(vector.name);
    const difference = differenceOf(vector, contract.primary_keys, createHasher);
    if (difference !== undefined) problems.push(problem("GOLDEN_VECTOR_MISMATCH", vector, difference));
  }
  if (empty.input_rows.length > 0) problems.push(problem("GOLDEN_VECTOR_MISMATCH", empty, "is not the empty report"));
  if (problems.length === 0 && isTrivial(ordering, contract.primary_keys)) {
    problems.push(
      problem("GOLDEN_VECTOR_TRIVIAL", ordering, "has rows or members that already are in canonical order"),
    );
  }
  return problems;
}

/** Computes a vector for a contract of our own. Member order of the rows is kept: the ordering vector needs some out of order. */
export function goldenVector(
  purpose: VectorPurpose,
  name: string,
  rows: readonly JsonObject[],
  primaryKeys: readonly string[],
  createHasher: Sha256Factory,
): GoldenVector {
  const content = canonicalContent(rows, primaryKeys);
  const sha256 = hashOf(content, createHasher);
  return { name, purpose, input_rows: rows, canonical_utf8_base64: base64(content), sha256 };
}

function differenceOf(
  vector: GoldenVector,
  primaryKeys: readonly string[],
  createHasher: Sha256Factory,
): string | undefined {
  let content: Uint8Array;
  try {
    content = canonicalContent(vector.input_rows, primaryKeys);
  } catch (error) {
    if (error instanceof WaybillError || error instanceof JsonError)
      return `has rows without a canonical form: ${error.message}`;
    throw error;
  }
  // Comparing texts also refuses base64 that is padded or spelled in another way.
  if (base64(content) !== vector.canonical_utf8_base64) return "declares other canonical bytes";
  if (hashOf(content, createHasher) !== vector.sha256.toLowerCase()) return "declares another digest";
  return undefined;
}

function isTrivial(vector: GoldenVector, primaryKeys: readonly string[]): boolean {
  const keys = vector.input_rows.map((row) => sortKey(row, primaryKeys));
  const rowsMove = keys.some((key, index) => index > 0 && compareBytes(keys[index - 1] as Uint8Array, key) > 0);
  return !rowsMove || !vector.input_rows.some(membersMove);
}

function membersMove(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.some(membersMove);
  if (typeof value !== "object" || value === null) return false;
  const names = Object.keys(value);
  if (names.some((name, index) => index > 0 && (names[index - 1] as string) > name)) return true;
  return Object.values(value).some(membersMove);
}

function hashOf(content: Uint8Array, createHasher: Sha256Factory): string {
  const hasher = createHasher();
  hasher.update(content);
  return hasher.hex();
}

function base64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

function problem(code: string, vector: GoldenVector, what: string): Problem {
  return { code, message: `golden vector ${vector.name} ${what}`, field: `golden_vectors.${vector.purpose}` };
}
