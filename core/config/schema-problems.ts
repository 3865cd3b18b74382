import type { ErrorObject } from "ajv/dist/2020.js";
import type { Problem } from "../errors.ts";

/** Ajv's errors as problems by path (`destinations[0].hosting`). They name the field and what is allowed, never the value found. */
export function schemaProblems(errors: readonly ErrorObject[]): readonly Problem[] {
  const alternatives = errors.filter((error) => error.keyword === "oneOf").map((error) => error.instancePath);
  const inside = (error: ErrorObject): boolean =>
    error.keyword !== "oneOf" && alternatives.some((path) => error.instancePath.startsWith(path));
  // What each branch of an alternative lacks says less than the alternative's own sentence.
  return errors.filter((error) => error.keyword !== "if" && !inside(error)).map(problemOf);
}

function problemOf(error: ErrorObject): Problem {
  const parent = pathOf(error.instancePath);
  const parameters: { readonly [name: string]: unknown } = error.params;
  switch (error.keyword) {
    case "required":
      return problem("MISSING_SETTING", join(parent, String(parameters["missingProperty"])), "is required");
    case "additionalProperties":
      return problem("UNKNOWN_SETTING", join(parent, String(parameters["additionalProperty"])), "is not a setting");
    default:
      return problem("WRONG_SETTING", parent, sentence(error, parameters));
  }
}

function sentence(error: ErrorObject, parameters: { readonly [name: string]: unknown }): string {
  const comment: unknown = error.parentSchema?.["$comment"];
  if (typeof comment === "string" && error.keyword !== "type") return comment;
  switch (error.keyword) {
    case "enum":
      return `must be one of ${(parameters["allowedValues"] as readonly unknown[]).join(", ")}`;
    case "const":
      return `must be ${String(parameters["allowedValue"])}`;
    case "type":
      return typeSentences[String(parameters["type"])] ?? `must be of type ${String(parameters["type"])}`;
    case "uniqueItems":
      return "must not repeat an entry";
    case "minimum":
      return `must be at least ${String(parameters["limit"])}`;
    case "maximum":
      return `must be at most ${String(parameters["limit"])}`;
    case "minLength":
    case "minItems":
      return "must not be empty";
    case "maxLength":
      return `must not be longer than ${String(parameters["limit"])}`;
    default:
      return "does not fit the schema";
  }
}

const typeSentences: { readonly [type: string]: string } = {
  string: "must be text; put it in quotes if it looks like a number or a date",
  integer: "must be a whole number",
  object: "must be a group of settings",
  array: "must be a list",
};

function pathOf(pointer: string): string {
  const segments = pointer.split("/").slice(1);
  return segments.map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~")).reduce(join, "");
}

function join(parent: string, segment: string): string {
  if (/^\d+$/.test(segment)) return `${parent}[${segment}]`;
  return parent === "" ? segment : `${parent}.${segment}`;
}

function problem(code: string, field: string, what: string): Problem {
  const path = field === "" ? "the file" : field;
  return { code, field: path, message: `${path}: ${what}` };
}
