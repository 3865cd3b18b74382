import { fileURLToPath } from "node:url";
import type { Problem } from "../../../core/errors.ts";
import type { DestinationBinding } from "../../destination-binding.ts";
import { readSettings, type SettingsReader } from "../../settings-reader.ts";
import { type FileSettings, readFileSettings } from "../file-settings.ts";
import { locationsOverlap } from "../layout.ts";

/** A checked local destination. */
export interface LocalConfig extends FileSettings {
  /** Absolute path that objects are written below. */
  readonly root: string;
  /** Absolute path that the same objects are read back below; equal to `root` without a mount of the buyer's own. */
  readonly readerRoot: string;
}

/**
 * Checks `{location: "file:///…", format, compression, level?, rows_per_part?, path_template?, reader?: {location}}`. `reader.location`
 * is the same place as the buyer mounts it; only with it can the read-back claim to be `representative_consumer`.
 */
export function readLocalConfig(binding: DestinationBinding): {
  readonly config?: LocalConfig;
  readonly problems: readonly Problem[];
} {
  const reader = readSettings(binding.settings);
  const root = readFolder(reader);
  const files = readFileSettings(reader);
  const consumer = reader.optionalGroup("reader");
  const readerRoot = consumer === undefined ? root : readFolder(consumer);

  if (consumer !== undefined && root !== undefined && readerRoot !== undefined && locationsOverlap(root, readerRoot)) {
    consumer.problem(
      "READER_IS_WRITER",
      "location",
      "must be another path than the one written to: the buyer's own mount",
    );
  }
  if (consumer === undefined && binding.verification_path === "representative_consumer") {
    reader.problem(
      "READER_REQUIRED",
      "reader",
      "is required for verification_path representative_consumer; without it use producer",
    );
  }
  if (binding.verification_path === "destination") {
    reader.problem(
      "VERIFICATION_PATH",
      "location",
      "files are verified as producer or representative_consumer, not as destination",
    );
  }
  const problems = reader.finish();
  if (problems.length > 0 || root === undefined || readerRoot === undefined || files === undefined) return { problems };
  return { config: { ...files, root, readerRoot }, problems };
}

/** `location` as an absolute path without a trailing slash. */
function readFolder(reader: SettingsReader): string | undefined {
  const text = reader.text("location");
  if (text === undefined) return undefined;
  const path = pathOf(text);
  if (path === undefined)
    reader.problem("WRONG_SETTING", "location", "must be file:// and the absolute path of a folder");
  else if (path === "/")
    reader.problem("WRONG_SETTING", "location", "must be a folder below the root of the file system");
  return path;
}

function pathOf(text: string): string | undefined {
  if (!text.startsWith("file:///") || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  if (url.search !== "" || url.hash !== "") return undefined;
  try {
    const path = fileURLToPath(url);
    if (path.includes("\0")) return undefined;
    return path === "/" ? path : path.replace(/\/+$/, "");
  } catch {
    return undefined;
  }
}
