import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { definitionSchema } from "../../../core/rows/definition-schema.ts";

it("docs/definition.schema.json is the schema that definitions are checked against", () => {
  const published = new URL("../../../docs/definition.schema.json", import.meta.url);
  expect(JSON.parse(readFileSync(published, "utf8"))).toEqual(definitionSchema);
});
