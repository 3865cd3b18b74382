import { readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { Ajv } from "ajv";
import addFormats from "ajv-formats";
import { requireAdcp } from "./peers.ts";

const base = "https://adcontextprotocol.org/schemas/3.2.4/";

/** What an official schema finds wrong with a value, as text; empty when it is valid. */
export type OfficialCheck = (value: unknown) => readonly string[];

/** Compiles the official schema `name`, such as `core/reporting-revision`. For use inside `describePeer("adcp")`. */
export function officialSchema(name: string): OfficialCheck {
  const { schemas } = requireAdcp();
  // The official schemas carry annotations that strict mode does not know. Formats are checked.
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats.default(ajv);
  for (const folder of ["core", "enums", "media-buy"]) {
    for (const file of readdirSync(join(schemas, folder), { recursive: true, encoding: "utf8" })) {
      if (!file.endsWith(".json")) continue;
      const path = join(schemas, folder, file);
      const { $id: _, ...schema } = JSON.parse(readFileSync(path, "utf8"));
      ajv.addSchema(schema, base + relative(schemas, path).split(sep).join("/"));
    }
  }
  const validate = ajv.getSchema(`${base}${name}.json`);
  if (validate === undefined) throw new Error(`there is no official schema ${name}`);
  return (value) =>
    validate(value) === true ? [] : (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message}`);
}
