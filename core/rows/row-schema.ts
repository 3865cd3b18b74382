import type { JsonObject, JsonValue } from "../json.ts";
import { schemaKeywords } from "./column-type.ts";
import type { ColumnType, ControlTotalRule, ProfileMember, RowProfile } from "./profile.ts";

/** Names of our annotations in a row schema. Readers that do not know them may ignore them. */
export const annotations = {
  /** On a property: its ColumnType. */
  column: "x-waybill-column",
  /** On a property: the control total that sums it, `{name, value_type, scale, unit?}`. */
  controlTotal: "x-adcp-control-total",
  /** On the schema: member names in column order, which canonical JSON does not keep. */
  members: "x-waybill-members",
  /** On the schema: the member that holds the media buy id. */
  mediaBuyMember: "x-waybill-media-buy-member",
  /** On the schema: `schema_version` of the offerings that use it. */
  schemaVersion: "x-waybill-schema-version",
} as const;

export const schemaDialect = "https://json-schema.org/draft/2020-12/schema";

/** The official row schema of a profile: 2020-12, no regular expressions, no references, closed. */
export function rowSchema(profile: RowProfile, schemaVersion: string): JsonObject {
  const totals = new Map(profile.controlTotals.map((rule) => [rule.member, rule]));
  const { mediaBuyMember } = profile;
  return {
    $schema: schemaDialect,
    type: "object",
    additionalProperties: false,
    properties: Object.fromEntries(
      profile.members.map((member) => [member.name, property(member, totals.get(member.name))]),
    ),
    required: profile.members.filter(isRequired).map(({ name }) => name),
    [annotations.members]: profile.members.map(({ name }) => name),
    [annotations.schemaVersion]: schemaVersion,
    ...(mediaBuyMember === undefined ? {} : { [annotations.mediaBuyMember]: mediaBuyMember }),
  };
}

function isRequired({ missing }: ProfileMember): boolean {
  return missing === "forbidden" || missing === "null";
}

function property({ type, missing }: ProfileMember, total: ControlTotalRule | undefined): JsonObject {
  const { types, rest } = schemaKeywords(type);
  const nullable = missing === "null" || missing === "null-or-absent";
  const [only] = types;
  return {
    type: nullable ? [...types, "null"] : types.length === 1 && only !== undefined ? only : types,
    ...rest,
    [annotations.column]: columnAnnotation(type),
    ...(total === undefined ? {} : { [annotations.controlTotal]: totalAnnotation(total) }),
  };
}

function columnAnnotation(type: ColumnType): JsonValue {
  return { ...type };
}

function totalAnnotation({ name, value_type, scale, unit }: ControlTotalRule): JsonObject {
  return unit === undefined ? { name, value_type, scale } : { name, value_type, scale, unit };
}
