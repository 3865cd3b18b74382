import { describe, expect, it } from "vitest";
import { sha256Hex } from "../../core/digest/node-hasher.ts";
import { WaybillError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import { rowSchemaCheck } from "../../manifests/row-schema-check.ts";
import { deliver, documents, rowOf, verifyFiles } from "./delivered-folder.ts";

describe("a row schema of others", () => {
  const schema: JsonObject = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    additionalProperties: false,
    required: ["id"],
    properties: {
      id: { type: "string", minLength: 2, pattern: "^(a+)+$" },
      channel: { enum: ["tv", "web"] },
      pattern: { type: "integer", minimum: 1 },
      nested: { type: "object", patternProperties: { "^x": { type: "string" } }, additionalProperties: false },
      odd: { not: { type: "string", pattern: "^a" } },
      day: { type: "string", format: "date" },
    },
  };

  it("is run, and every broken rule names its member", () => {
    const { check } = rowSchemaCheck(schema);
    const row = { id: "a", channel: "radio", pattern: 0, day: "2026-02-30", surprise: 1 };
    expect(check(row, 7).map(({ row: number, member }) => [number, member])).toEqual(
      expect.arrayContaining([
        [7, "surprise"],
        [7, "id"],
        [7, "channel"],
        [7, "pattern"],
        [7, "day"],
      ]),
    );
    expect(check({}, 1).map(({ member }) => member)).toEqual(["id"]);
    expect(check({ id: "zz", channel: "tv", pattern: 1, nested: { y: 1 }, odd: "b", day: "2026-02-28" }, 1)).toEqual(
      [],
    );
  });

  it("names what it does not run: regular expressions, and rules that mean nothing without them", () => {
    expect(rowSchemaCheck(schema).notChecked).toEqual([
      "row schema: /properties/id/pattern, because it uses regular expressions",
      "row schema: /properties/nested/patternProperties, because it uses regular expressions",
      "row schema: /properties/nested/additionalProperties, because it uses regular expressions",
      "row schema: /properties/odd/not, because it uses regular expressions",
    ]);
  });

  it.each([
    ["a reference to elsewhere", { $ref: "https://attacker.example/schema.json" }],
    ["a type that is none", { type: "money" }],
    ["a number as a schema", { properties: { a: 1 } }],
  ])("%s is refused", (_, bad) => {
    expect(() => rowSchemaCheck(bad as JsonObject)).toThrow(/stands on its own/);
  });

  it.each([
    { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } },
    { $ref: "#/$defs/a", $defs: { a: { anyOf: [{ $ref: "#/$defs/a" }] } } },
    { allOf: [{ $ref: "#" }] },
  ])("that refers to itself without end is refused, not followed: %j", (endless) => {
    expect(() => rowSchemaCheck(endless).check({}, 1)).toThrow(WaybillError);
  });

  it("is checked in a delivery beside the row profile", async () => {
    const text = new TextDecoder().decode(documents.rowSchema.bytes);
    const parsed = JSON.parse(text) as { properties: { [name: string]: object } };
    parsed.properties["note"] = { type: ["string", "null"], enum: ["good", null] };
    const rowSchema = pinned(JSON.stringify(parsed), documents.rowSchema.uri);
    const contract = new TextDecoder().decode(documents.canonicalization.bytes);
    const canonicalization = pinned(
      contract.replace(documents.rowSchema.sha256, rowSchema.sha256),
      documents.canonicalization.uri,
    );
    const own = { ...documents, rowSchema, canonicalization };
    const rows = [rowOf(0, { note: "good" }), rowOf(3, { note: "bad" })];
    const report = await verifyFiles((await deliver({ rows, documents: own })).files);
    expect(report.findings.map(({ code, row, column, actual }) => [code, row, column, actual])).toEqual([
      ["ROW_SCHEMA_INVALID", 2, "note", '"bad"'],
    ]);
  });
});

function pinned(
  text: string,
  uri: string,
): { readonly bytes: Uint8Array; readonly sha256: string; readonly uri: string } {
  return { bytes: new TextEncoder().encode(text), sha256: sha256Hex(text), uri };
}
