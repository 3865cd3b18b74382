import { canonicalJson } from "../canonical-json.ts";
import type { CanonicalizationContract } from "../digest/canonicalization-contract.ts";
import { goldenVector } from "../digest/golden-vectors.ts";
import { nodeHasher, sha256Hex } from "../digest/node-hasher.ts";
import type { JsonObject } from "../json.ts";
import { totalShape } from "./column-type.ts";
import { type Definition, profileMember } from "./definition.ts";
import type { ControlTotalRule, RowProfile } from "./profile.ts";
import type { DefinitionDocuments, PinnedDocument } from "./retained.ts";
import { rowSchema } from "./row-schema.ts";
import { sampleRows } from "./sample-rows.ts";

/** The row profile of a definition file. */
export function profileOf(definition: Definition): RowProfile {
  const { media_buy_member: mediaBuyMember } = definition;
  return {
    members: definition.members.map(profileMember),
    primaryKeys: definition.primary_keys,
    controlTotals: definition.control_totals.map((total) => totalRule(total, definition)),
    ...(mediaBuyMember === undefined ? {} : { mediaBuyMember }),
  };
}

function totalRule(total: Definition["control_totals"][number], definition: Definition): ControlTotalRule {
  const member = definition.members.find(({ name }) => name === total.member);
  if (member === undefined) throw new RangeError("a control total sums a member that the definition lacks");
  const unit = total.unit ?? member.unit;
  const shape = totalShape(profileMember(member).type);
  return { name: total.name, member: total.member, ...shape, ...(unit === undefined ? {} : { unit }) };
}

/** The official documents of a definition, pinned by hash. The same definition always gives the same bytes. */
export function buildDocuments(definition: Definition): DefinitionDocuments {
  const profile = profileOf(definition);
  const pin = (file: string, text: string): PinnedDocument => {
    const sha256 = sha256Hex(text);
    const uri = `${definition.documents_base_uri}/${definition.report_definition_id}/${sha256}/${file}.json`;
    return { bytes: new TextEncoder().encode(text), sha256, uri };
  };
  const schema = pin("row-schema", canonicalJson(rowSchema(profile, definition.schema_version)));
  return {
    reportDefinitionId: definition.report_definition_id,
    reportingProfile: definition.reporting_profile,
    reportDefinition: pin("report-definition", canonicalJson(reportDefinition(definition, profile))),
    rowSchema: schema,
    // Not canonical JSON: the ordering vector must show members that are out of order.
    canonicalization: pin("canonicalization", JSON.stringify(contract(profile, schema.sha256))),
    profile,
  };
}

/** Source: reporting-report-definition. Metrics are the control totals, as sums of the member that `source_expression` names. */
function reportDefinition(definition: Definition, profile: RowProfile): JsonObject {
  const { source } = definition;
  return {
    contract_version: "1.1",
    media_type: "application/vnd.adcp.reporting-definition+json",
    report_definition_id: definition.report_definition_id,
    reporting_profile: definition.reporting_profile,
    grain: definition.grain,
    source: {
      provider: { domain: source.provider.domain },
      system: source.system,
      api_version: source.api_version,
      query_semantics: source.query_semantics ?? {},
    },
    calendar: { ...definition.calendar },
    metrics: profile.controlTotals.map(({ name, member, unit }) => ({
      name,
      source_expression: member,
      aggregation: "sum",
      ...(unit === undefined ? {} : { unit }),
    })),
    dimensions: definition.primary_keys,
    restatement_policy: {
      source_requery_duration: definition.restatement.source_requery_duration,
      emit_only_on_content_change: true,
      official_correction_mode: "adjustments_only",
    },
    finality_policies: definition.finality_policies.map((policy) => ({ ...policy })),
  };
}

function contract(profile: RowProfile, schemaSha256: string): CanonicalizationContract {
  const { primaryKeys } = profile;
  const hasher = () => nodeHasher("sha256");
  return {
    contract_version: "1.0",
    media_type: "application/vnd.adcp.reporting-canonicalization+json",
    algorithm: "adcp_jcs_rows_v1",
    schema_sha256: schemaSha256,
    primary_keys: primaryKeys,
    golden_vectors: {
      empty_report: goldenVector("empty_report", "empty", [], primaryKeys, hasher),
      ordering_encoding: goldenVector("ordering_encoding", "ordering", sampleRows(profile), primaryKeys, hasher),
    },
  };
}
