import { readFileSync } from "node:fs";

/** The package's version, from the nearest package.json above this file: sources and compiled code lie at different depths. */
export function packageVersion(): string {
  for (let folder = new URL(".", import.meta.url); folder.pathname !== "/"; folder = new URL("..", folder)) {
    try {
      const manifest: unknown = JSON.parse(readFileSync(new URL("package.json", folder), "utf8"));
      if (isManifest(manifest)) return manifest.version;
    } catch {
      // Not here: one folder up.
    }
  }
  return "unknown";
}

function isManifest(value: unknown): value is { readonly name: "waybill"; readonly version: string } {
  return (
    typeof value === "object" && value !== null && "name" in value && value.name === "waybill" && "version" in value
  );
}
