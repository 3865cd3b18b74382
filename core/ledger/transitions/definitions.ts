import { canonicalJson } from "../../canonical-json.ts";
import type { DefinitionDocuments } from "../../rows/retained.ts";
import type { Database, Sql } from "../../store/sql.ts";
import { definitionDocuments } from "../queries/definitions.ts";
import { refusal } from "../refusal.ts";

/**
 * Pins the documents of a report definition under (definition id, reporting profile). Refused (DEFINITION_IMMUTABLE) when
 * other documents are pinned there: a change of the rows needs a new `reporting_profile`.
 */
export async function installDefinition(
  db: Database,
  documents: DefinitionDocuments,
): Promise<"installed" | "unchanged"> {
  return await db.transaction(async (tx) => {
    if (await insertDefinition(tx, documents)) return "installed";
    const { reportDefinitionId, reportingProfile } = documents;
    const found = await definitionDocuments(tx, reportDefinitionId, reportingProfile);
    if (found !== undefined && fingerprint(found) === fingerprint(documents)) return "unchanged";
    throw refusal(
      "DEFINITION_IMMUTABLE",
      `report definition ${reportDefinitionId} is installed with other content for the profile ${reportingProfile}; give the changed definition a new reporting_profile`,
      "reporting_profile",
    );
  });
}

async function insertDefinition(tx: Sql, documents: DefinitionDocuments): Promise<boolean> {
  const { reportDefinition, rowSchema, canonicalization } = documents;
  const pinned = [reportDefinition, rowSchema, canonicalization].flatMap(({ bytes, uri, sha256 }) => [
    bytes,
    uri,
    sha256,
  ]);
  const inserted = await tx.query(
    `insert into definition (report_definition_id, reporting_profile, report_definition, report_definition_uri,
       report_definition_sha256, row_schema, row_schema_uri, row_schema_sha256, canonicalization, canonicalization_uri,
       canonicalization_sha256, profile, installed_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, ledger_now())
     on conflict do nothing returning 1`,
    [documents.reportDefinitionId, documents.reportingProfile, ...pinned, canonicalJson(documents.profile)],
  );
  return inserted.length === 1;
}

function fingerprint({ reportDefinition, rowSchema, canonicalization, profile }: DefinitionDocuments): string {
  const pins = [reportDefinition, rowSchema, canonicalization].map(({ uri, sha256 }) => [uri, sha256]);
  return canonicalJson([pins, profile]);
}
