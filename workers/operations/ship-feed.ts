import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { canonicalJson } from "../../core/canonical-json.ts";
import type { DestinationConfig } from "../../core/config/config.ts";
import { destinationGeneration } from "../../core/config/generations.ts";
import { sha256Hex } from "../../core/digest/node-hasher.ts";
import { type Problem, WaybillError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import type { FileCompression, FileFormat, Finality, Revision } from "../../core/model/records.ts";
import { checkDestination } from "../../drivers/registry.ts";
import type { Feed } from "./check-config.ts";
import { scheduleOf } from "./report-period.ts";

/** Where and how `ship` delivers. */
export interface ShipTarget {
  /** A path, or `file://` and an absolute path. */
  readonly to: string;
  /** What a relative path is relative to. */
  readonly directory: string;
  readonly format: FileFormat;
  readonly compression: FileCompression;
  readonly level?: number | undefined;
  readonly rowsPerPart?: number | undefined;
  readonly retentionDays: number;
}

/** Absolute path of the target folder. WaybillError `usage` for a location that this version cannot write to. */
export function targetFolder({ to, directory }: Pick<ShipTarget, "to" | "directory">): string {
  if (!/^[A-Za-z][A-Za-z0-9+.-]*:/.test(to)) return resolve(directory, to);
  if (to.startsWith("file:///") && URL.canParse(to)) return fileURLToPath(to);
  const message =
    "--to must be a folder's path or file:// and its absolute path; other destinations come from the configuration";
  throw new WaybillError("usage", [{ code: "UNKNOWN_LOCATION", field: "--to", message }]);
}

/** The destination that a ship target stands for. WaybillError `usage` with everything that is wrong with its flags. */
export async function shipDestination(target: ShipTarget): Promise<DestinationConfig> {
  const settings: JsonObject = {
    location: pathToFileURL(targetFolder(target)).href,
    format: target.format,
    compression: target.compression,
    ...(target.level === undefined ? {} : { level: target.level }),
    ...(target.rowsPerPart === undefined ? {} : { rows_per_part: target.rowsPerPart }),
  };
  const destination: DestinationConfig = {
    destination_id: "ship",
    transport: "local_fs",
    hosting: "producer",
    verification_path: "producer",
    retention_days: target.retentionDays,
    settings,
  };
  const problems = await checkDestination(destination);
  if (problems.length > 0) throw new WaybillError("usage", problems.map(asFlag));
  return destination;
}

const flags: { readonly [setting: string]: string } = {
  "settings.location": "--to",
  "settings.format": "--format",
  "settings.compression": "--compression",
  "settings.level": "--level",
  "settings.rows_per_part": "--rows-per-part",
};

function asFlag(problem: Problem): Problem {
  const flag = flags[problem.field ?? ""];
  if (flag === undefined) return problem;
  return { ...problem, field: flag, message: problem.message.replace(problem.field ?? "", flag) };
}

/**
 * The feed that one `ship` belongs to. Its id is made from its content, so that the same kind of report to the same place is the same
 * feed and anything else is another one.
 */
export function shipFeed(revision: Revision, destination: DestinationConfig, requiredFinality: Finality): Feed {
  const generation = destinationGeneration(destination);
  const content = {
    account_id: revision.account_id,
    report_definition_id: revision.report_definition_id,
    reporting_profile: revision.reporting_profile,
    feed_purpose: "analytics",
    required_finality: requiredFinality,
    reconciliation_mode: "delivery_only",
    verification_profile: "canonical_digest",
    schedule: scheduleOf(revision.period),
    destination_ref: generation.destination_ref,
    media_buy_ids: "all",
  } as const;
  return {
    configuration: {
      ...content,
      delivery_config_id: `ship-${sha256Hex(canonicalJson(content)).slice(0, 12)}`,
      delivery_config_version: 1,
    },
    destination: generation,
  };
}
