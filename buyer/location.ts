import { realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { WaybillError } from "../core/errors.ts";
import { manifestName } from "../manifests/manifest.ts";

/** A delivery on this machine. */
export interface FolderLocation {
  /** Real path of the manifest's folder. */
  readonly folder: string;
  /** Name of the manifest in it, which need not exist. */
  readonly manifestName: string;
}

/**
 * Finds the delivery that a person named: a path or `file://` URL of a folder or of its manifest. WaybillError `usage` for other schemes
 * and for places that do not exist.
 */
export async function resolveLocation(location: string): Promise<FolderLocation> {
  const path = pathOf(location);
  const isFolder = await isDirectory(path);
  const folder = isFolder ? path : dirname(path);
  const name = isFolder ? manifestName : basename(path);
  try {
    return { folder: await realpath(folder), manifestName: name };
  } catch (error) {
    const message = `${join(folder)} does not exist or cannot be entered; name the folder of a delivery or its ${manifestName}`;
    throw new WaybillError("usage", [{ code: "NO_SUCH_LOCATION", message, field: "location" }], { cause: error });
  }
}

function pathOf(location: string): string {
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]+):/.exec(location)?.[1]?.toLowerCase();
  if (scheme === undefined) return location;
  if (scheme === "file") {
    try {
      return fileURLToPath(location);
    } catch (error) {
      const message = "a file:// location names an absolute path of this machine, such as file:///reports/r_1/m_1";
      throw new WaybillError("usage", [{ code: "INVALID_LOCATION", message, field: "location" }], { cause: error });
    }
  }
  const message = `${scheme}:// cannot be read from here; copy the whole folder of the delivery to this machine and name the copy`;
  throw new WaybillError("usage", [{ code: "UNSUPPORTED_LOCATION", message, field: "location" }]);
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    // What is not there may be a manifest that is not there yet.
    return false;
  }
}
