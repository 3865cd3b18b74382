import type { RowProfile } from "../../rows/profile.ts";
import type { DefinitionDocuments, PinnedDocument } from "../../rows/retained.ts";
import type { Sql } from "../../store/sql.ts";
import { fromStored } from "../stored-json.ts";

type DefinitionRow = {
  readonly report_definition_id: string;
  readonly reporting_profile: string;
  readonly report_definition: Uint8Array;
  readonly report_definition_uri: string;
  readonly report_definition_sha256: string;
  readonly row_schema: Uint8Array;
  readonly row_schema_uri: string;
  readonly row_schema_sha256: string;
  readonly canonicalization: Uint8Array;
  readonly canonicalization_uri: string;
  readonly canonicalization_sha256: string;
  readonly profile: string;
};

/** The pinned documents; without `reportingProfile` those installed last under this id. Undefined when there are none. */
export async function definitionDocuments(
  db: Sql,
  reportDefinitionId: string,
  reportingProfile?: string,
): Promise<DefinitionDocuments | undefined> {
  const [row] = await selectDefinitions(db, reportDefinitionId, reportingProfile);
  return row === undefined ? undefined : documentsOf(row);
}

function selectDefinitions(tx: Sql, id: string, profile: string | undefined): Promise<readonly DefinitionRow[]> {
  return tx.query<DefinitionRow>(
    `select * from definition
     where report_definition_id = $1 and ($2::text is null or reporting_profile = $2)
     order by installed_at desc, reporting_profile desc limit 1`,
    [id, profile ?? null],
  );
}

function documentsOf(row: DefinitionRow): DefinitionDocuments {
  const pinned = (bytes: Uint8Array, uri: string, sha256: string): PinnedDocument => ({ bytes, uri, sha256 });
  return {
    reportDefinitionId: row.report_definition_id,
    reportingProfile: row.reporting_profile,
    reportDefinition: pinned(row.report_definition, row.report_definition_uri, row.report_definition_sha256),
    rowSchema: pinned(row.row_schema, row.row_schema_uri, row.row_schema_sha256),
    canonicalization: pinned(row.canonicalization, row.canonicalization_uri, row.canonicalization_sha256),
    profile: fromStored<RowProfile>(row.profile),
  };
}
