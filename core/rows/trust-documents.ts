import { readCanonicalizationContract } from "../digest/canonicalization-contract.ts";
import { runGoldenVectors } from "../digest/golden-vectors.ts";
import type { Sha256Factory } from "../digest/hasher.ts";
import { type Problem, WaybillError } from "../errors.ts";
import { profileFromDocuments } from "./profile-from-documents.ts";
import type { DefinitionDocuments, PinnedDocument } from "./retained.ts";

/**
 * Why pinned documents cannot be trusted; empty when they can. Checks every pin, that the contract is for this row schema, that it
 * reproduces its golden vectors here, and that the profile reads from them. Codes: DOCUMENT_MISMATCH and those of the readers.
 */
export function documentProblems(documents: DefinitionDocuments, createHasher: Sha256Factory): readonly Problem[] {
  const { reportDefinition, rowSchema, canonicalization } = documents;
  const problems: Problem[] = [];
  const mismatch = (field: string, message: string): void => {
    problems.push({ code: "DOCUMENT_MISMATCH", message: `${field}: ${message}`, field });
  };
  for (const [field, document] of Object.entries({ reportDefinition, rowSchema, canonicalization })) {
    if (sha256Of(document, createHasher) !== document.sha256) mismatch(field, "the bytes do not have the pinned hash");
  }
  try {
    const contract = readCanonicalizationContract(canonicalization.bytes);
    if (contract.schema_sha256.toLowerCase() !== rowSchema.sha256) {
      mismatch("canonicalization", "the contract belongs to another row schema");
    }
    problems.push(...runGoldenVectors(contract, createHasher));
    profileFromDocuments({
      rowSchema: rowSchema.bytes,
      canonicalization: canonicalization.bytes,
      reportDefinition: reportDefinition.bytes,
    });
  } catch (error) {
    if (!(error instanceof WaybillError)) throw error;
    problems.push(...error.problems);
  }
  return problems;
}

function sha256Of(document: PinnedDocument, createHasher: Sha256Factory): string {
  const hasher = createHasher();
  hasher.update(document.bytes);
  return hasher.hex();
}
