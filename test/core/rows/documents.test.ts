import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readCanonicalizationContract } from "../../../core/digest/canonicalization-contract.ts";
import { runGoldenVectors } from "../../../core/digest/golden-vectors.ts";
import { nodeHasher, sha256Hex } from "../../../core/digest/node-hasher.ts";
import { type Definition, type DefinitionMember, parseDefinition } from "../../../core/rows/definition.ts";
import { buildDocuments } from "../../../core/rows/documents.ts";
import { profileFromDocuments } from "../../../core/rows/profile-from-documents.ts";
import type { DefinitionDocuments } from "../../../core/rows/retained.ts";
import { sampleRows } from "../../../core/rows/sample-rows.ts";
import { createRowValidator } from "../../../core/rows/validate-row.ts";
import { officialSchema } from "../../servers/official-schemas.ts";
import { describePeer, requireAdcp } from "../../servers/peers.ts";

const fixture = (name: string): Definition =>
  parseDefinition(readFileSync(new URL(`../../../fixtures/${name}/definition.json`, import.meta.url), "utf8"), "json");
const daily = fixture("daily-ad-delivery");

const text = (document: { readonly bytes: Uint8Array }): string => new TextDecoder().decode(document.bytes);
const bytesOf = (documents: DefinitionDocuments) => ({
  rowSchema: documents.rowSchema.bytes,
  canonicalization: documents.canonicalization.bytes,
  reportDefinition: documents.reportDefinition.bytes,
});
const sha256 = () => nodeHasher("sha256");

describe("generated documents", () => {
  it("are pinned by the hash of their bytes, which also stands in their URI", () => {
    const documents = buildDocuments(daily);
    for (const document of [documents.reportDefinition, documents.rowSchema, documents.canonicalization]) {
      expect(document.sha256).toBe(sha256Hex(document.bytes));
      expect(document.uri).toContain(`/daily-ad-delivery/${document.sha256}/`);
    }
  });

  it("are the same bytes for the same definition, however its settings are ordered", () => {
    const reordered = JSON.parse(JSON.stringify(Object.fromEntries(Object.entries(daily).reverse())));
    expect(bytesOf(buildDocuments(reordered))).toEqual(bytesOf(buildDocuments(daily)));
  });

  it("never move once published", () => {
    const { reportDefinition, rowSchema, canonicalization } = buildDocuments(daily);
    expect([reportDefinition.sha256, rowSchema.sha256, canonicalization.sha256]).toMatchInlineSnapshot(`
      [
        "9a7227970509cb610468c37a823b70a6e91fe2230d47209ea4a429f9feb6b7c3",
        "9dcef52ad5b2237b1e75284354b970190f8bbf549430247d1142e146309305e7",
        "a89c2a87ace202d22ab6504fcbe71fb0516053f7affec43e3b02aa1a7bfff805",
      ]
    `);
  });

  it("hold no regular expression, which public readers refuse", () => {
    expect(text(buildDocuments(daily).rowSchema)).not.toMatch(/"pattern/);
  });

  it("say enough to get the row profile back, columns in their order", () => {
    const documents = buildDocuments(daily);
    expect(profileFromDocuments(bytesOf(documents))).toEqual(documents.profile);
  });

  const names = fc.uniqueArray(fc.stringMatching(/^[a-z_][a-zA-Z0-9_]{0,8}$/), {
    minLength: 2,
    maxLength: 8,
    selector: (name) => name.toLowerCase(),
  });
  const shape = fc.constantFrom<Omit<DefinitionMember, "name">>(
    { type: "string" },
    { type: "integer" },
    { type: "number" },
    { type: "integer-string" },
    { type: "integer-string", column: "decimal38" },
    { type: "decimal-string", precision: 1, scale: 1 },
    { type: "decimal-string", precision: 38, scale: 6 },
    { type: "boolean" },
    { type: "date" },
    { type: "timestamp", fraction: 0 },
    { type: "timestamp", fraction: 3 },
    { type: "timestamp" },
  );
  const missing = fc.constantFrom<DefinitionMember["missing"]>("forbidden", "null", "absent");

  it("for any definition, golden vectors pass, sample rows are valid and the profile comes back", () => {
    const definitions = fc.tuple(names, fc.array(fc.tuple(shape, missing), { minLength: 8, maxLength: 8 }));
    fc.assert(
      fc.property(definitions, ([memberNames, shapes]) => {
        const members: DefinitionMember[] = memberNames.map((name, index) => {
          const [type, absence] = shapes[index] ?? [{ type: "string" as const }, "forbidden" as const];
          return index === 0
            ? { name, ...type }
            : { name, ...type, ...(absence === undefined ? {} : { missing: absence }) };
        });
        const key = memberNames[0] ?? "";
        const summed = members.find(({ type }) => type === "integer" || type.endsWith("-string"));
        const documents = buildDocuments({
          ...daily,
          members,
          primary_keys: [key],
          media_buy_member: key,
          control_totals: summed === undefined ? [] : [{ name: "total", member: summed.name }],
        });
        const contract = readCanonicalizationContract(documents.canonicalization.bytes);
        expect(runGoldenVectors(contract, sha256)).toEqual([]);
        expect(sampleRows(documents.profile).flatMap(createRowValidator(documents.profile))).toEqual([]);
        expect(profileFromDocuments(bytesOf(documents))).toEqual(documents.profile);
        const ajv = new Ajv2020({ strict: false });
        addFormats.default(ajv);
        const isRow = ajv.compile(JSON.parse(text(documents.rowSchema)));
        for (const row of sampleRows(documents.profile)) expect(isRow(row)).toBe(true);
      }),
      { numRuns: 100 },
    );
  });

  describePeer("adcp", "against the official schemas", () => {
    for (const name of ["daily-ad-delivery", "all-string"]) {
      it(`the documents of ${name} are valid`, () => {
        const documents = buildDocuments(fixture(name));
        const definitionErrors = officialSchema("core/reporting-report-definition")(
          JSON.parse(text(documents.reportDefinition)),
        );
        const contractErrors = officialSchema("core/reporting-canonicalization-contract")(
          JSON.parse(text(documents.canonicalization)),
        );
        expect(definitionErrors).toEqual([]);
        expect(contractErrors).toEqual([]);
      });
    }
  });
});

describe("documents of others", () => {
  const contract = text(buildDocuments(daily).canonicalization);
  const definition = { ...JSON.parse(text(buildDocuments(daily).reportDefinition)) };
  const utf8 = new TextEncoder();
  const profile = (schema: object, keys: readonly string[] = ["k"], metrics: readonly object[] = []) =>
    profileFromDocuments(
      {
        rowSchema: utf8.encode(JSON.stringify(schema)),
        canonicalization: utf8.encode(JSON.stringify({ ...JSON.parse(contract), primary_keys: keys })),
        reportDefinition: utf8.encode(JSON.stringify({ ...definition, metrics })),
      },
      [{ name: "spend", value: "8.00", value_type: "decimal", unit: "USD" }],
    );

  it("members take their types from JSON Schema, through local references and alternatives", () => {
    const schema = {
      $defs: { day: { type: "string", format: "date" }, loop: { $ref: "#/$defs/loop" } },
      properties: {
        k: { type: "string" },
        day: { $ref: "#/$defs/day" },
        at: { type: "string", format: "date-time" },
        n: { type: ["integer", "null"] },
        x: { anyOf: [{ type: "number" }, { type: "null" }] },
        b: { type: "boolean" },
        o: { type: "object" },
        e: { enum: ["a", "b"] },
        any: {},
      },
      required: ["k", "n", "day"],
    };
    expect(profile(schema).members).toEqual([
      { name: "k", type: { kind: "string" }, missing: "forbidden" },
      { name: "day", type: { kind: "date" }, missing: "forbidden" },
      { name: "at", type: { kind: "string" }, missing: "absent" },
      { name: "n", type: { kind: "integer" }, missing: "null" },
      { name: "x", type: { kind: "number" }, missing: "null-or-absent" },
      { name: "b", type: { kind: "boolean" }, missing: "absent" },
      { name: "o", type: { kind: "json" }, missing: "absent" },
      { name: "e", type: { kind: "string" }, missing: "absent" },
      { name: "any", type: { kind: "json" }, missing: "null-or-absent" },
    ]);
    const loops = { ...schema, properties: { k: { $ref: "#/$defs/loop" } } };
    expect(() => profile(loops)).toThrow(/properties.k has a reference that cannot be followed/);
  });

  it("sums take value type and scale from the declared totals", () => {
    const schema = { properties: { k: { type: "string" }, spend: { type: "string" }, n: { type: "integer" } } };
    const metrics = [
      { name: "spend", source_expression: "spend", aggregation: "sum", unit: "USD" },
      { name: "n", source_expression: "n", aggregation: "sum" },
      { name: "unknown", source_expression: "k", aggregation: "sum" },
      { name: "mean", source_expression: "n", aggregation: "average" },
    ];
    expect(profile(schema, ["k"], metrics).controlTotals).toEqual([
      { name: "spend", member: "spend", value_type: "decimal", scale: 2, unit: "USD" },
      { name: "n", member: "n", value_type: "integer", scale: 0 },
    ]);
  });

  it("keys that the schema lacks, nested keys and members told apart by case are refused together", () => {
    const schema = { properties: { k: { type: "object" }, A: {}, a: {} } };
    expect(() => profile(schema, ["k", "z"])).toThrow(
      /differs from another member[\s\S]*names k, which is nested[\s\S]*names z/,
    );
  });

  it("what is no strict JSON object is refused by name", () => {
    const documents = bytesOf(buildDocuments(daily));
    const broken = { ...documents, rowSchema: utf8.encode('{"a":1,"a":2}') };
    expect(() => profileFromDocuments(broken)).toThrow(/row schema: .*repeated/);
    expect(() => profileFromDocuments({ ...documents, reportDefinition: utf8.encode("[]") })).toThrow(
      /report definition: must be an object/,
    );
  });

  describePeer("adcp", "of the official vectors", () => {
    it("give a profile that their own rows satisfy", () => {
      const folder = `${requireAdcp().vectors}/reporting-reconciliation`;
      const read = (name: string) => new Uint8Array(readFileSync(`${folder}/${name}`));
      const golden = profileFromDocuments(
        {
          rowSchema: read("row-schema.json"),
          canonicalization: read("canonicalization.json"),
          reportDefinition: read("report-definition.json"),
        },
        JSON.parse(readFileSync(`${folder}/revision.json`, "utf8")).control_totals,
      );
      const rows = readFileSync(`${folder}/rows.jsonl`, "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
      expect(rows.flatMap(createRowValidator(golden))).toEqual([]);
      expect(golden.mediaBuyMember).toBe("media_buy_id");
      expect(golden.controlTotals.map(({ scale }) => scale)).toEqual([0, 2]);
    });
  });
});
