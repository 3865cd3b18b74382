import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Our own package: sources and compiled code lie at different depths below it. */
export interface PackageFolder {
  /** Absolute path without a slash at the end. */
  readonly path: string;
  readonly version: string;
}

/** The nearest folder above this file that holds our package.json. */
export function packageFolder(): PackageFolder {
  for (let folder = new URL(".", import.meta.url); folder.pathname !== "/"; folder = new URL("..", folder)) {
    const manifest = readManifest(new URL("package.json", folder));
    if (manifest?.name === "waybill") {
      return { path: fileURLToPath(folder).replace(/\/$/, ""), version: manifest.version };
    }
  }
  throw new Error("this file lies outside of its package");
}

function readManifest(url: URL): { readonly name: string; readonly version: string } | undefined {
  try {
    return JSON.parse(readFileSync(url, "utf8"));
  } catch {
    return undefined;
  }
}
