import { parseDocument } from "yaml";
import { type Problem, WaybillError } from "../errors.ts";
import type { JsonValue } from "../json.ts";
import { JsonError, parseJson } from "../strict-json.ts";

/** Text that people write: YAML 1.2 or JSON. */
export type TextFormat = "yaml" | "json";

/** `.json` is JSON, everything else YAML, which JSON is nearly a part of. */
export function textFormatOf(path: string): TextFormat {
  return path.toLowerCase().endsWith(".json") ? "json" : "yaml";
}

/**
 * The value of a configuration or definition text. Aliases are resolved within bounds; tags, duplicate keys and several documents in one
 * text are refused. WaybillError `usage` with every syntax problem by line; text of the file never appears in it.
 */
export function parseStructuredText(text: string, format: TextFormat): JsonValue {
  return format === "json" ? parseJsonText(text) : parseYamlText(text);
}

function parseJsonText(text: string): JsonValue {
  try {
    return parseJson(text);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw new WaybillError("usage", [syntaxProblem(text, error.offset, error.code, error.message)]);
  }
}

function parseYamlText(text: string): JsonValue {
  const document = parseDocument(text, { prettyErrors: false, strict: true, uniqueKeys: true, stringKeys: true });
  const faults = [...document.errors, ...document.warnings];
  if (faults.length > 0) {
    throw new WaybillError(
      "usage",
      faults.map(({ code, pos }) => syntaxProblem(text, pos[0], code, meanings[code] ?? "is not YAML")),
    );
  }
  try {
    return parseJson(JSON.stringify(document.toJS({ maxAliasCount: 100 })) ?? "null");
  } catch {
    throw new WaybillError("usage", [syntaxProblem(text, 0, "NOT_JSON", "holds a value that JSON has not")]);
  }
}

const meanings: { readonly [code: string]: string } = {
  BAD_INDENT: "the indentation does not fit the lines above",
  DUPLICATE_KEY: "this key stands here twice",
  KEY_OVER_1024_CHARS: "this key is longer than 1024 characters",
  MISSING_CHAR: "a character is missing, such as a colon, comma, bracket or quote",
  MULTIPLE_DOCS: "a second document starts; one file holds one",
  MULTILINE_IMPLICIT_KEY: "a key goes over several lines; is a colon or quote missing?",
  TAB_AS_INDENT: "a tab indents this line; use spaces",
  TAG_RESOLVE_FAILED: "tags (`!name`) are not used here",
  UNEXPECTED_TOKEN: "something stands where nothing can",
  BLOCK_AS_IMPLICIT_KEY: "a nested key must start on a line of its own",
};

function syntaxProblem(text: string, offset: number, code: string, what: string): Problem {
  const before = text.slice(0, offset);
  const line = before.split("\n").length;
  const column = offset - before.lastIndexOf("\n");
  return { code, field: `line ${line}`, message: `line ${line}, column ${column}: ${what}` };
}
