import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { WaybillConfig } from "../../core/config/config.ts";
import { parseConfig } from "../../core/config/parse-config.ts";
import { textFormatOf } from "../../core/config/structured-text.ts";
import { type Problem, WaybillError } from "../../core/errors.ts";
import { parseDefinition } from "../../core/rows/definition.ts";
import { buildDocuments } from "../../core/rows/documents.ts";
import type { DefinitionDocuments } from "../../core/rows/retained.ts";

export const configFileName = "waybill.config.yaml";
const homeFolderName = ".waybill";

/** Where commands find things: paths as the user gave them, if so. */
export interface Places {
  /** What relative paths are relative to. */
  readonly directory: string;
  /** Default: `waybill.config.yaml` of the directory, if it is there. */
  readonly config?: string | undefined;
  /** Default: the configuration's, else `.waybill` of the directory. */
  readonly ledger?: string | undefined;
}

export interface ConfigFile {
  /** Absolute. */
  readonly path: string;
  readonly config: WaybillConfig;
}

/** The configuration file, or undefined when none was named and the default one is not there. WaybillError `usage` with all its problems. */
export async function readConfigFile({ directory, config }: Places): Promise<ConfigFile | undefined> {
  const path = resolve(directory, config ?? configFileName);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (config === undefined && (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  return { path, config: named(path, () => parseConfig(text, textFormatOf(path))) };
}

/** Like readConfigFile; without a file a WaybillError says how to get one. */
export async function requireConfigFile(places: Places): Promise<ConfigFile> {
  const file = await readConfigFile(places);
  if (file !== undefined) return file;
  const message = `there is no ${configFileName} here; "waybill init" writes one, --config names another`;
  throw new WaybillError("usage", [{ code: "NO_CONFIGURATION", field: "--config", message }]);
}

/** Absolute path of the folder with the embedded ledger, or of the one for work files when the ledger is a PostgreSQL server. */
export function homeFolder(places: Places, file: ConfigFile | undefined): string {
  if (places.ledger !== undefined) return resolve(places.directory, places.ledger);
  if (file === undefined) return resolve(places.directory, homeFolderName);
  const { ledger } = file.config;
  const name = "embedded" in ledger ? ledger.embedded : (ledger.work ?? homeFolderName);
  return resolve(dirname(file.path), name);
}

/** The documents of a definition file. WaybillError `usage` with all its problems, each with the file's name. */
export async function readDefinitionFile(path: string): Promise<DefinitionDocuments> {
  const text = await readFile(path, "utf8");
  return named(path, () => buildDocuments(parseDefinition(text, textFormatOf(path))));
}

/** Puts the file's name in front of every problem. */
function named<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof WaybillError)) throw error;
    throw new WaybillError(
      error.kind,
      error.problems.map((problem) => inFile(path, problem)),
    );
  }
}

/** A problem with the file it is about. */
export function inFile(path: string, problem: Problem): Problem {
  return { ...problem, message: `${path}: ${problem.message}` };
}
