import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import { repositoryRoot } from "./servers/peers.ts";

/** What each layer may import of ours besides itself. */
const layers: { readonly [layer: string]: readonly string[] } = {
  core: [],
  manifests: ["core"],
  buyer: ["core", "manifests"],
  drivers: ["core", "manifests"],
  workers: ["core", "manifests", "buyer", "drivers", "fixtures"],
};

/** The only folders a vendor's SDK may be imported from. */
const vendors: { readonly [pattern: string]: readonly string[] } = {
  "@duckdb/": ["core/rows", "core/encoding"],
  "@electric-sql/": ["core/store"],
  "@toondepauw/": ["core/encoding"],
  fzstd: ["core/encoding"],
  commander: ["workers/cli"],
  "temporal-polyfill": ["core/schedule", "core/model"],
};

describe("layers", () => {
  const files = Object.keys(layers).flatMap((layer) => sources(join(repositoryRoot, layer)));

  it("finds the sources it judges", () => {
    expect(files.length).toBeGreaterThan(20);
  });

  it("a layer imports itself and the layers left of it, nothing else", () => {
    const wrong = files.flatMap((file) =>
      importsOf(file)
        .filter((target) => target.startsWith("."))
        .map((target) => relative(repositoryRoot, join(dirname(file), target)))
        .filter((target) => !mayImport(relative(repositoryRoot, file), target))
        .map((target) => `${relative(repositoryRoot, file)} -> ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it("a vendor's SDK is imported only by its own folder", () => {
    const wrong = files.flatMap((file) =>
      importsOf(file)
        .filter((target) => !allowedVendor(relative(repositoryRoot, file), target))
        .map((target) => `${relative(repositoryRoot, file)} -> ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it("one file of a transport folder never imports another transport's folder", () => {
    const wrong = files.flatMap((file) => {
      const own = transportOf(relative(repositoryRoot, file));
      if (own === undefined) return [];
      return importsOf(file)
        .filter((target) => target.startsWith("."))
        .map((target) => transportOf(relative(repositoryRoot, join(dirname(file), target))))
        .filter((other) => other !== undefined && other !== own)
        .map((other) => `${relative(repositoryRoot, file)} -> ${other}`);
    });
    expect(wrong).toEqual([]);
  });
});

function sources(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => join(entry.parentPath, entry.name));
}

function importsOf(file: string): string[] {
  const text = readFileSync(file, "utf8");
  return [...text.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)].map((match) => match[1] ?? "");
}

function mayImport(from: string, to: string): boolean {
  const layer = from.split("/")[0] ?? "";
  const target = to.split("/")[0] ?? "";
  return target === layer || (layers[layer] ?? []).includes(target) || to === "package.json";
}

function allowedVendor(file: string, target: string): boolean {
  for (const [prefix, folders] of Object.entries(vendors)) {
    if (target.startsWith(prefix)) return folders.some((folder) => file.startsWith(`${folder}/`));
  }
  return true;
}

function transportOf(file: string): string | undefined {
  const parts = file.split("/");
  return parts[0] === "drivers" && parts.length > 3 ? parts.slice(0, 3).join("/") : undefined;
}
