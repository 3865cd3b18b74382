import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { type Problem, WaybillError } from "../core/errors.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import type { LogicalRow } from "../core/rows/profile.ts";
import type { SchemaCheck } from "./platform.ts";

const maxProblemsPerRow = 20;

/**
 * Runs a row schema of others (JSON Schema 2020-12). Regular expressions are not run: theirs could take any time on our machine; each is
 * named in `notChecked`. WaybillError `content` INVALID_CONTRACT when the schema is none or refers to something outside of itself.
 */
export function rowSchemaCheck(schema: JsonObject): SchemaCheck {
  const notChecked: string[] = [];
  const validate = compile(withoutPatterns(schema, "", notChecked));
  return {
    notChecked,
    check(row, rowNumber) {
      if (isValid(validate, row)) return [];
      return (validate.errors ?? []).slice(0, maxProblemsPerRow).map((error) => problemOf(error, rowNumber));
    },
  };
}

function compile(schema: JsonValue): ValidateFunction {
  const ajv = new Ajv2020({ strict: false, allErrors: true, logger: false, validateSchema: true, unicodeRegExp: true });
  addFormats.default(ajv);
  try {
    return ajv.compile(schema as object);
  } catch (error) {
    const message = "the row schema is not a JSON Schema 2020-12 that stands on its own";
    throw new WaybillError("content", [{ code: "INVALID_CONTRACT", message, field: "row-schema.json" }], {
      cause: error,
    });
  }
}

function isValid(validate: ValidateFunction, row: LogicalRow): boolean {
  try {
    return validate(row) === true;
  } catch (error) {
    // A schema that refers to itself without end.
    if (!(error instanceof RangeError)) throw error;
    const message = "the row schema refers to itself without end";
    throw new WaybillError("content", [{ code: "INVALID_CONTRACT", message, field: "row-schema.json" }], {
      cause: error,
    });
  }
}

function problemOf(error: ErrorObject, row: number): Problem {
  const params: { readonly missingProperty?: unknown; readonly additionalProperty?: unknown } = error.params;
  const [, segment] = error.instancePath.split("/");
  const named =
    segment?.replaceAll("~1", "/").replaceAll("~0", "~") ?? params.missingProperty ?? params.additionalProperty;
  const member = typeof named === "string" ? named : undefined;
  const message = `row ${row}: ${member ?? "the row"}: ${error.message ?? "breaks the row schema"}`;
  return { code: "SCHEMA_RULE", message, row, ...(member === undefined ? {} : { member }) };
}

/** Keywords whose value is one schema, a list of schemas, or schemas by name; everything else is data. */
const schemaKeywords: ReadonlySet<string> = new Set([
  "items",
  "contains",
  "additionalProperties",
  "propertyNames",
  "unevaluatedItems",
  "unevaluatedProperties",
  "then",
  "else",
  "allOf",
  "anyOf",
  "prefixItems",
]);
const namedSchemaKeywords: ReadonlySet<string> = new Set(["properties", "$defs", "definitions", "dependentSchemas"]);
/** With a looser schema inside, these would refuse what the real one accepts. */
const invertingKeywords: ReadonlySet<string> = new Set(["not", "if", "oneOf"]);

/** The schema without regular expressions, never stricter than the original. */
function withoutPatterns(schema: JsonValue, at: string, notChecked: string[]): JsonValue {
  if (!isObject(schema)) return schema;
  const skip = (keyword: string): void => {
    notChecked.push(`row schema: ${at}/${keyword}, because it uses regular expressions`);
  };
  const kept: Record<string, JsonValue> = {};
  const hasPatternProperties = Object.hasOwn(schema, "patternProperties");
  for (const [keyword, value] of Object.entries(schema)) {
    const path = `${at}/${keyword}`;
    if (keyword === "pattern" || keyword === "patternProperties") skip(keyword);
    else if (hasPatternProperties && /^(?:additional|unevaluated)Properties$/.test(keyword)) skip(keyword);
    else if (invertingKeywords.has(keyword)) {
      if (hasPattern(value)) skip(keyword);
      else kept[keyword] = value;
    } else if (schemaKeywords.has(keyword) && Array.isArray(value)) {
      kept[keyword] = value.map((entry: JsonValue, index) => withoutPatterns(entry, `${path}/${index}`, notChecked));
    } else if (schemaKeywords.has(keyword)) kept[keyword] = withoutPatterns(value, path, notChecked);
    else if (namedSchemaKeywords.has(keyword) && isObject(value)) {
      kept[keyword] = Object.fromEntries(
        Object.entries(value).map(([name, entry]) => [name, withoutPatterns(entry, `${path}/${name}`, notChecked)]),
      );
    } else kept[keyword] = value;
  }
  return kept;
}

/** Also true for a property that happens to be called `pattern`; the cost is a rule that is reported as not run. */
function hasPattern(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.some((entry: JsonValue) => hasPattern(entry));
  if (!isObject(value)) return false;
  return Object.entries(value).some(
    // What a reference leads to may use one as well.
    ([name, entry]) => name === "pattern" || name === "patternProperties" || name === "$ref" || hasPattern(entry),
  );
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
