import { readCanonicalizationContract } from "../digest/canonicalization-contract.ts";
import { type Problem, WaybillError } from "../errors.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import type { ControlTotal } from "../model/records.ts";
import { fractionDigits } from "../model/totals.ts";
import { JsonError, parseJsonBytes } from "../strict-json.ts";
import { isSummable, parseColumnType, totalShape } from "./column-type.ts";
import type { ColumnType, ControlTotalRule, ProfileMember, RowProfile } from "./profile.ts";
import { annotations } from "./row-schema.ts";

/** Exact bytes of the three pinned documents. Their hashes are the caller's matter. */
export interface DocumentBytes {
  readonly rowSchema: Uint8Array;
  readonly canonicalization: Uint8Array;
  readonly reportDefinition: Uint8Array;
}

/**
 * The row profile that pinned documents describe. Schemas without our annotations get string, date, integer, number, boolean or
 * nested members from their JSON types. `declaredTotals` (of the revision) give value type and scale to sums that are not
 * annotated; a sum that neither annotates nor declares is left out. WaybillError `content` with every problem.
 */
export function profileFromDocuments(
  documents: DocumentBytes,
  declaredTotals: readonly ControlTotal[] = [],
): RowProfile {
  const problems: Problem[] = [];
  const report: Report = (field, what) => {
    problems.push({ code: "UNSUPPORTED_DOCUMENT", field, message: `${field} ${what}` });
  };
  const contract = readCanonicalizationContract(documents.canonicalization);
  const schema = documentObject(documents.rowSchema, "row schema");
  const definition = documentObject(documents.reportDefinition, "report definition");
  const members = schemaMembers(schema, report);
  const profile: RowProfile = {
    members,
    primaryKeys: contract.primary_keys,
    controlTotals: totalRules(schema, definition, members, declaredTotals, report),
    ...mediaBuyMember(schema, members, report),
  };
  for (const key of profile.primaryKeys) {
    const member = members.find(({ name }) => name === key);
    if (member === undefined) report("canonicalization: primary_keys", `names ${key}, which the row schema lacks`);
    else if (member.type.kind === "json") report("canonicalization: primary_keys", `names ${key}, which is nested`);
  }
  if (problems.length > 0) throw new WaybillError("content", problems);
  return profile;
}

type Report = (field: string, what: string) => void;

/** Strict JSON object of a document; WaybillError `content` INVALID_DOCUMENT naming it. */
export function documentObject(bytes: Uint8Array, name: string): JsonObject {
  let value: JsonValue;
  try {
    value = parseJsonBytes(bytes);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw new WaybillError("content", [{ code: "INVALID_DOCUMENT", message: `${name}: ${error.message}` }]);
  }
  if (isObject(value)) return value;
  throw new WaybillError("content", [{ code: "INVALID_DOCUMENT", message: `${name}: must be an object` }]);
}

function schemaMembers(schema: JsonObject, report: Report): readonly ProfileMember[] {
  const properties = own(schema, "properties");
  if (!isObject(properties)) {
    report("row schema: properties", "must name the members of a row");
    return [];
  }
  const required = new Set(strings(own(schema, "required")));
  const names = memberOrder(schema, properties, report);
  const seen = new Set<string>();
  for (const name of names) {
    if (name === "__proto__") report("row schema: properties", "has a member that no reader can keep apart: __proto__");
    if (seen.has(name.toLowerCase())) {
      report(`row schema: properties.${name}`, "differs from another member by case only, which SQL cannot keep apart");
    }
    seen.add(name.toLowerCase());
  }
  return names.map((name) => schemaMember(name, own(properties, name), required.has(name), schema, report));
}

function memberOrder(schema: JsonObject, properties: JsonObject, report: Report): readonly string[] {
  const names = Object.keys(properties);
  const order = own(schema, annotations.members);
  if (order === undefined) return names;
  const ordered = strings(order);
  if (ordered.length === names.length && new Set([...ordered, ...names]).size === names.length) return ordered;
  report(`row schema: ${annotations.members}`, "must list every property once");
  return names;
}

function schemaMember(
  name: string,
  value: JsonValue | undefined,
  required: boolean,
  root: JsonObject,
  report: Report,
): ProfileMember {
  const at = `row schema: properties.${name}`;
  const shape = valueShape(value, root, 0);
  if (shape === undefined) report(at, "has a reference that cannot be followed");
  const property = isObject(value) ? value : {};
  const annotation = own(property, annotations.column);
  const annotated = parseColumnType(annotation);
  if (annotation !== undefined && annotated === undefined) report(`${at}.${annotations.column}`, "is no column type");
  const nullable = shape?.nullable ?? false;
  const missing = required ? (nullable ? "null" : "forbidden") : nullable ? "null-or-absent" : "absent";
  return { name, type: annotated ?? shape?.type ?? { kind: "json" }, missing };
}

interface ValueShape {
  readonly type: ColumnType;
  readonly nullable: boolean;
}

/** What a property may hold, from its JSON types alone. Undefined for a reference that leads nowhere or too deep. */
function valueShape(value: JsonValue | undefined, root: JsonObject, depth: number): ValueShape | undefined {
  if (!isObject(value)) return { type: { kind: "json" }, nullable: true };
  if (depth > 16) return undefined;
  const reference = own(value, "$ref");
  if (typeof reference === "string") {
    const target = resolve(reference, root);
    return target === undefined ? undefined : valueShape(target, root, depth + 1);
  }
  const branches = own(value, "anyOf") ?? own(value, "oneOf");
  if (Array.isArray(branches)) {
    const shapes = branches.map((branch: JsonValue) => valueShape(branch, root, depth + 1));
    return shapes.reduce((left, right) => (left && right ? union(left, right) : undefined));
  }
  return typesShape(jsonTypes(value), own(value, "format"));
}

const nothing: ValueShape = { type: { kind: "json" }, nullable: true };

function union(left: ValueShape, right: ValueShape): ValueShape {
  if (left === nothing) return { type: right.type, nullable: true };
  if (right === nothing) return { type: left.type, nullable: true };
  const same = JSON.stringify(left.type) === JSON.stringify(right.type);
  return { type: same ? left.type : { kind: "json" }, nullable: left.nullable || right.nullable };
}

/** The JSON types a schema allows: from `type`, else from `const` and `enum`, else any. */
function jsonTypes(schema: JsonObject): readonly string[] {
  const type = own(schema, "type");
  if (typeof type === "string") return [type];
  if (Array.isArray(type)) return strings(type);
  const constant = own(schema, "const");
  const values = constant === undefined ? own(schema, "enum") : [constant];
  if (!Array.isArray(values)) return ["any"];
  return [...new Set(values.map((value: JsonValue) => jsonType(value)))];
}

function jsonType(value: JsonValue): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
}

function typesShape(types: readonly string[], format: JsonValue | undefined): ValueShape {
  const plain = types.filter((type) => type !== "null");
  const nullable = plain.length < types.length || plain.includes("any");
  if (plain.length === 0) return nothing;
  const [only] = plain;
  if (plain.length > 1) {
    const numeric = plain.every((type) => type === "integer" || type === "number");
    return { type: { kind: numeric ? "number" : "json" }, nullable };
  }
  switch (only) {
    case "string":
      return { type: { kind: format === "date" ? "date" : "string" }, nullable };
    case "integer":
    case "number":
    case "boolean":
      return { type: { kind: only }, nullable };
    default:
      return { type: { kind: "json" }, nullable };
  }
}

function resolve(reference: string, root: JsonObject): JsonValue | undefined {
  if (!reference.startsWith("#/")) return undefined;
  let value: JsonValue | undefined = root;
  for (const token of reference.slice(2).split("/")) {
    value = isObject(value) ? own(value, token.replaceAll("~1", "/").replaceAll("~0", "~")) : undefined;
  }
  return value;
}

function mediaBuyMember(
  schema: JsonObject,
  members: readonly ProfileMember[],
  report: Report,
): { readonly mediaBuyMember?: string } {
  const name = own(schema, annotations.mediaBuyMember);
  if (name === undefined) {
    // Schemas of others have no annotation; the contract's own vocabulary names the member so.
    const usual = members.find((member) => member.name === "media_buy_id" && member.type.kind === "string");
    return own(schema, annotations.members) === undefined && usual !== undefined ? { mediaBuyMember: usual.name } : {};
  }
  const member = members.find((candidate) => candidate.name === name);
  if (member !== undefined) return { mediaBuyMember: member.name };
  report(`row schema: ${annotations.mediaBuyMember}`, "names no member");
  return {};
}

/** Sums in the order of the report definition's metrics, which is the order of a revision's control totals. */
function totalRules(
  schema: JsonObject,
  definition: JsonObject,
  members: readonly ProfileMember[],
  declaredTotals: readonly ControlTotal[],
  report: Report,
): readonly ControlTotalRule[] {
  const properties = own(schema, "properties");
  const declared = new Map(declaredTotals.map((total) => [total.name, total]));
  const metrics = own(definition, "metrics");
  if (!Array.isArray(metrics)) {
    report("report definition: metrics", "must be a list");
    return [];
  }
  const rules: ControlTotalRule[] = [];
  metrics.forEach((metric: JsonValue, index) => {
    if (!isObject(metric) || own(metric, "aggregation") !== "sum") return;
    const name = own(metric, "name");
    const expression = own(metric, "source_expression");
    const member = members.find((candidate) => candidate.name === expression);
    if (typeof name !== "string" || member === undefined) return;
    const property = isObject(properties) ? own(properties, member.name) : undefined;
    const annotation = isObject(property) ? own(property, annotations.controlTotal) : undefined;
    const unit = own(metric, "unit");
    const shape =
      annotation === undefined ? undeclaredShape(member, declared.get(name)) : annotatedShape(annotation, member);
    if (shape === "invalid") report(`report definition: metrics[${index}]`, `does not fit the type of ${member.name}`);
    else if (shape !== undefined) {
      rules.push({ name, member: member.name, ...shape, ...(typeof unit === "string" ? { unit } : {}) });
    }
  });
  return rules;
}

type Shape = Pick<ControlTotalRule, "value_type" | "scale">;

function annotatedShape(annotation: JsonValue, member: ProfileMember): Shape | "invalid" {
  if (!isObject(annotation)) return "invalid";
  const type = own(annotation, "value_type");
  const scale = own(annotation, "scale") ?? 0;
  if (typeof scale !== "number" || !Number.isInteger(scale) || scale < 0 || scale > 38) return "invalid";
  if (type !== "decimal" && !(type === "integer" && scale === 0)) return "invalid";
  if (isSummable(member.type)) {
    const shape = totalShape(member.type);
    return shape.value_type === type && shape.scale === scale ? shape : "invalid";
  }
  return member.type.kind === "string" || member.type.kind === "number" ? { value_type: type, scale } : "invalid";
}

function undeclaredShape(member: ProfileMember, total: ControlTotal | undefined): Shape | undefined {
  if (isSummable(member.type)) return totalShape(member.type);
  if (total === undefined) return undefined;
  const { value_type, value } = total;
  return { value_type, scale: value_type === "integer" ? 0 : fractionDigits(value) };
}

/** A member of its own: `toString` of a plain object is none. */
function own(object: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

function strings(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((entry): entry is string => typeof entry === "string") : [];
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
