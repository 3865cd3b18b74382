import { canonicalJson } from "../core/canonical-json.ts";
import {
  type CanonicalizationContract,
  readCanonicalizationContract,
} from "../core/digest/canonicalization-contract.ts";
import { runGoldenVectors } from "../core/digest/golden-vectors.ts";
import { type Problem, WaybillError } from "../core/errors.ts";
import type { JsonValue } from "../core/json.ts";
import type { ControlTotal } from "../core/model/records.ts";
import type { RowProfile } from "../core/rows/profile.ts";
import { documentObject, profileFromDocuments } from "../core/rows/profile-from-documents.ts";
import { annotations, rowSchema } from "../core/rows/row-schema.ts";
import type { FindingList } from "./finding-list.ts";
import type { SchemaCheck, VerifierPlatform } from "./platform.ts";
import { sha256Of } from "./read-side-files.ts";
import type { DeliveredDocuments } from "./verification.ts";

/** How to read, judge, sum and digest the rows of a delivery. */
export interface RowReading {
  readonly profile: RowProfile;
  /** Set when the row schema says more than the profile. */
  readonly schema: SchemaCheck | undefined;
  /** The contract reproduced its own golden vectors here. */
  readonly canTrustDigest: boolean;
}

/**
 * Reads the documents of a delivery, whose pins were checked before. Undefined when they do not describe rows; every reason is an
 * INVALID_CONTRACT finding. `declaredTotals` give scale to sums that the documents leave open.
 */
export function rowReading(
  documents: DeliveredDocuments,
  declaredTotals: readonly ControlTotal[],
  platform: VerifierPlatform,
  findings: FindingList,
  notChecked: string[],
): RowReading | undefined {
  const report = (problems: readonly Problem[]): void => {
    for (const { message, field } of problems)
      findings.add({ code: "INVALID_CONTRACT", message, column: field ?? null });
  };
  try {
    const contract = readCanonicalizationContract(documents.canonicalization);
    const problems = contractProblems(contract, documents, platform);
    report(problems);
    const profile = profileFromDocuments(documents, declaredTotals);
    for (const { name } of declaredTotals) {
      if (profile.controlTotals.some((rule) => rule.name === name)) continue;
      notChecked.push(`control total ${name}: the report definition does not say how to recompute it`);
    }
    return {
      profile,
      schema: schemaCheck(documents, profile, platform, notChecked),
      canTrustDigest: problems.length === 0,
    };
  } catch (error) {
    if (!(error instanceof WaybillError)) throw error;
    report(error.problems);
    return undefined;
  }
}

function contractProblems(
  contract: CanonicalizationContract,
  documents: DeliveredDocuments,
  platform: VerifierPlatform,
): readonly Problem[] {
  const problems = [...runGoldenVectors(contract, () => platform.hasher("sha256"))];
  if (contract.schema_sha256.toLowerCase() !== sha256Of(documents.rowSchema, platform)) {
    const message = "the canonicalization contract belongs to another row schema";
    problems.push({ code: "INVALID_CONTRACT", message, field: "schema_sha256" });
  }
  return problems;
}

/** A schema that is exactly what the profile generates needs no second check per row. */
function schemaCheck(
  documents: DeliveredDocuments,
  profile: RowProfile,
  platform: VerifierPlatform,
  notChecked: string[],
): SchemaCheck | undefined {
  const schema = documentObject(documents.rowSchema, "row schema");
  const version: JsonValue | undefined = schema[annotations.schemaVersion];
  if (typeof version === "string" && canonicalJson(rowSchema(profile, version)) === canonicalJson(schema))
    return undefined;
  if (platform.schemaCheck === undefined) {
    notChecked.push("rules of the row schema beyond the types of its members: nothing here runs them");
    return undefined;
  }
  const check = platform.schemaCheck(schema);
  notChecked.push(...check.notChecked);
  return check;
}
