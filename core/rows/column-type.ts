import type { JsonObject, JsonValue } from "../json.ts";
import type { ColumnType } from "./profile.ts";

/** Whether values of this type can be summed exactly. */
export function isSummable(type: ColumnType): boolean {
  return type.kind === "integer" || type.kind === "integer-string" || type.kind === "decimal-string";
}

/** Value type and fraction digits of a total over a summable member. */
export function totalShape(type: ColumnType): { readonly value_type: "integer" | "decimal"; readonly scale: number } {
  return type.kind === "decimal-string"
    ? { value_type: "decimal", scale: type.scale }
    : { value_type: "integer", scale: 0 };
}

/** Inclusive bounds of a JSON number that keeps every integer apart. */
export const maxSafeInteger = Number.MAX_SAFE_INTEGER;

/** The JSON Schema keywords for a logical value of this type, without null. No regular expressions: public readers refuse them. */
export function schemaKeywords(type: ColumnType): { readonly types: readonly string[]; readonly rest: JsonObject } {
  switch (type.kind) {
    case "string":
      return { types: ["string"], rest: {} };
    case "integer":
      return { types: ["integer"], rest: { minimum: -maxSafeInteger, maximum: maxSafeInteger } };
    case "number":
      return { types: ["number"], rest: {} };
    case "integer-string":
      return { types: ["string"], rest: { minLength: 1, maxLength: type.column === "int64" ? 20 : 39 } };
    case "decimal-string":
      return { types: ["string"], rest: { minLength: type.scale + 2, maxLength: type.precision + 3 } };
    case "boolean":
      return { types: ["boolean"], rest: {} };
    case "date":
      return { types: ["string"], rest: { format: "date", minLength: 10, maxLength: 10 } };
    case "timestamp": {
      const length = 20 + (type.fraction === 0 ? 0 : type.fraction + 1);
      return { types: ["string"], rest: { format: "date-time", minLength: length, maxLength: length } };
    }
    case "json":
      return { types: ["array", "boolean", "number", "object", "string"], rest: {} };
  }
}

/** Reads an `x-waybill-column` annotation; undefined when it is not exactly a ColumnType. */
export function parseColumnType(value: JsonValue | undefined): ColumnType | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const { kind, ...rest } = value as JsonObject;
  const names = Object.keys(rest).sort().join();
  const { column, precision, scale, fraction } = rest;
  switch (kind) {
    case "string":
    case "integer":
    case "number":
    case "boolean":
    case "date":
    case "json":
      return names === "" ? { kind } : undefined;
    case "integer-string":
      return names === "column" && (column === "int64" || column === "decimal38") ? { kind, column } : undefined;
    case "decimal-string":
      return names === "precision,scale" && isWithin(precision, 1, 38) && isWithin(scale, 1, precision)
        ? { kind, precision, scale }
        : undefined;
    case "timestamp":
      return names === "fraction" && (fraction === 0 || fraction === 3 || fraction === 6)
        ? { kind, fraction }
        : undefined;
    default:
      return undefined;
  }
}

function isWithin(value: JsonValue | undefined, least: number, most: number): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= least && value <= most;
}
