import { WaybillError } from "../errors.ts";
import type { FinalityPolicy } from "../schedule/finality.ts";
import { documentObject } from "./profile-from-documents.ts";
import type { DefinitionDocuments } from "./retained.ts";
import { annotations } from "./row-schema.ts";

/** What only the documents say and revisions or offerings repeat. */
export interface DefinitionFacts {
  readonly schemaVersion: string;
  readonly grain: string;
  /** Names the canonicalization in digests; the hash beside it is what binds. */
  readonly canonicalizationId: string;
  readonly finalityPolicies: readonly FinalityPolicy[];
}

/** Reads the facts from documents that buildDocuments made. WaybillError `content` when they lack one. */
export function definitionFacts(documents: DefinitionDocuments): DefinitionFacts {
  const schema = documentObject(documents.rowSchema.bytes, "row schema");
  const definition = documentObject(documents.reportDefinition.bytes, "report definition");
  const schemaVersion = schema[annotations.schemaVersion];
  const grain = definition["grain"];
  const policies = definition["finality_policies"];
  if (typeof schemaVersion !== "string" || typeof grain !== "string" || !Array.isArray(policies)) {
    const message = `the documents lack ${annotations.schemaVersion}, grain or finality_policies`;
    throw new WaybillError("content", [{ code: "UNSUPPORTED_DOCUMENT", message }]);
  }
  return {
    schemaVersion,
    grain,
    canonicalizationId: documents.reportingProfile,
    finalityPolicies: policies as readonly FinalityPolicy[],
  };
}
