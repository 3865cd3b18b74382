import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import { repositoryRoot } from "../servers/peers.ts";

/** Every file that is loaded with `entry`, type imports left out, and every package by name. */
function importGraph(entry: string): { readonly files: ReadonlySet<string>; readonly packages: ReadonlySet<string> } {
  const files = new Set<string>();
  const packages = new Set<string>();
  const waiting = [join(repositoryRoot, entry)];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (files.has(file)) continue;
    files.add(file);
    for (const target of valueImports(readFileSync(file, "utf8"))) {
      if (target.startsWith(".")) waiting.push(join(dirname(file), target));
      else packages.add(target);
    }
  }
  return { files, packages };
}

function valueImports(source: string): readonly string[] {
  const text = source.replace(/\/\*[\s\S]*?\*\//g, "");
  const statements = text.matchAll(/^(?:import|export)\s+(?!type\b)(?:[^"';]*?\sfrom\s+)?"([^"]+)"/gm);
  const dynamic = text.matchAll(/\bimport\(\s*"([^"]+)"/g);
  return [...statements, ...dynamic].map((match) => match[1] ?? "");
}

describe("the verifier", () => {
  const { files, packages } = importGraph("manifests/verifier.ts");
  const names = [...files].map((file) => relative(repositoryRoot, file));

  it("loads what it needs, as far as this test can see", () => {
    expect(names).toContain("core/strict-json.ts");
    expect(names).toContain("core/encoding/csv-records.ts");
    expect(names).toContain("manifests/objects-audit.ts");
  });

  it("loads no module of Node and no package", () => {
    expect([...packages]).toEqual([]);
  });

  it("uses no global that only Node has", () => {
    const offenders = [...files].filter((file) => {
      const code = readFileSync(file, "utf8").replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
      return /\b(?:Buffer|process|require|setImmediate|__dirname|global)\b(?!["':-])/.test(code);
    });
    expect(offenders.map((file) => relative(repositoryRoot, file))).toEqual([]);
  });

  it("is seen through by this test: the Node platform is not free of Node", () => {
    const graph = importGraph("manifests/node-platform.ts");
    expect([...graph.packages]).toContain("node:child_process");
    expect(createRequire(import.meta.url).resolve("ajv")).toContain("ajv");
    expect([...graph.packages]).toContain("ajv/dist/2020.js");
  });
});
