import { type Problem, WaybillError } from "../errors.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import { JsonError, parseJsonBytes } from "../strict-json.ts";

/** Source: reporting-canonicalization-contract. Says how a report's rows become digested bytes, and proves it by examples. */
export interface CanonicalizationContract {
  readonly contract_version: "1.0";
  readonly media_type: "application/vnd.adcp.reporting-canonicalization+json";
  readonly algorithm: "adcp_jcs_rows_v1";
  /** SHA-256 of the row schema that the rows must satisfy. */
  readonly schema_sha256: string;
  readonly primary_keys: readonly string[];
  readonly golden_vectors: {
    readonly empty_report: GoldenVector;
    readonly ordering_encoding: GoldenVector;
    readonly additional?: readonly GoldenVector[];
  };
}

export type VectorPurpose = "empty_report" | "ordering_encoding" | "additional";

export interface GoldenVector {
  readonly name: string;
  readonly purpose: VectorPurpose;
  readonly input_rows: readonly JsonObject[];
  readonly canonical_utf8_base64: string;
  readonly sha256: string;
}

const names: ReadonlySet<string> = new Set([
  "contract_version",
  "media_type",
  "algorithm",
  "schema_sha256",
  "primary_keys",
  "golden_vectors",
]);
const vectorNames: ReadonlySet<string> = new Set(["name", "purpose", "input_rows", "canonical_utf8_base64", "sha256"]);

/**
 * Reads a contract document and checks its shape. WaybillError `content` with every problem (code INVALID_CONTRACT) when it
 * is not strict JSON, has another version or algorithm, or lacks a vector. Its vectors are not run yet: see runGoldenVectors.
 */
export function readCanonicalizationContract(bytes: Uint8Array): CanonicalizationContract {
  const problems: Problem[] = [];
  const report = (field: string, message: string): void => {
    problems.push({ code: "INVALID_CONTRACT", message: `canonicalization contract: ${field} ${message}`, field });
  };
  const document = parse(bytes);
  if (!isObject(document)) report("document", "must be an object");
  else checkContract(document, report);
  if (problems.length > 0) throw new WaybillError("content", problems);
  return document as unknown as CanonicalizationContract;
}

type Report = (field: string, message: string) => void;

function parse(bytes: Uint8Array): JsonValue {
  try {
    return parseJsonBytes(bytes);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const message = `canonicalization contract: ${error.message}`;
    throw new WaybillError("content", [{ code: "INVALID_CONTRACT", message }], { cause: error });
  }
}

function checkContract(document: JsonObject, report: Report): void {
  const { golden_vectors: vectors, primary_keys: keys } = document as { [name: string]: JsonValue | undefined };
  for (const name of Object.keys(document)) if (!names.has(name)) report(name, "is not a member of this document");
  constant(document, "contract_version", "1.0", report);
  constant(document, "media_type", "application/vnd.adcp.reporting-canonicalization+json", report);
  constant(document, "algorithm", "adcp_jcs_rows_v1", report);
  if (!isSha256(document["schema_sha256"])) report("schema_sha256", "must be 64 hex digits");
  if (!Array.isArray(keys) || keys.length === 0 || !keys.every((key) => typeof key === "string" && key !== "")) {
    report("primary_keys", "must be a list of one or more member names");
  } else if (new Set(keys).size !== keys.length) report("primary_keys", "names a member twice");
  if (!isObject(vectors)) report("golden_vectors", "must be an object");
  else checkVectors(vectors, report);
}

function checkVectors(vectors: JsonObject, report: Report): void {
  for (const name of Object.keys(vectors)) {
    if (name !== "empty_report" && name !== "ordering_encoding" && name !== "additional") {
      report(`golden_vectors.${name}`, "is not a vector of this document");
    }
  }
  checkVector(vectors["empty_report"], "empty_report", "golden_vectors.empty_report", report);
  checkVector(vectors["ordering_encoding"], "ordering_encoding", "golden_vectors.ordering_encoding", report);
  const additional = vectors["additional"] ?? [];
  if (!Array.isArray(additional)) report("golden_vectors.additional", "must be a list");
  else {
    additional.forEach((vector: JsonValue, index) => {
      checkVector(vector, "additional", `golden_vectors.additional[${index}]`, report);
    });
  }
}

function checkVector(vector: JsonValue | undefined, purpose: VectorPurpose, field: string, report: Report): void {
  if (!isObject(vector)) {
    report(field, "must be an object");
    return;
  }
  for (const name of Object.keys(vector))
    if (!vectorNames.has(name)) report(`${field}.${name}`, "is not a member of a vector");
  if (typeof vector["name"] !== "string" || !/^[A-Za-z0-9_.:-]{1,128}$/.test(vector["name"])) {
    report(`${field}.name`, "must be 1 to 128 characters of A-Z a-z 0-9 _ . : -");
  }
  if (vector["purpose"] !== purpose) report(`${field}.purpose`, `must be ${purpose}`);
  const rows = vector["input_rows"];
  if (!Array.isArray(rows) || !rows.every(isObject)) report(`${field}.input_rows`, "must be a list of objects");
  if (typeof vector["canonical_utf8_base64"] !== "string") report(`${field}.canonical_utf8_base64`, "must be a string");
  if (!isSha256(vector["sha256"])) report(`${field}.sha256`, "must be 64 hex digits");
}

function constant(document: JsonObject, name: string, value: string, report: Report): void {
  if (document[name] !== value) report(name, `must be ${value}`);
}

function isSha256(value: JsonValue | undefined): boolean {
  return typeof value === "string" && /^[A-Fa-f0-9]{64}$/.test(value);
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
