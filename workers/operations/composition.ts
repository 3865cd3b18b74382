import { dirname, resolve } from "node:path";
import type { RetainedConfig } from "../../core/config/config.ts";
import { type Problem, WaybillError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import { createFolderRetainedStore } from "../../core/rows/folder-retained-store.ts";
import type { RetainedStore } from "../../core/rows/retained.ts";
import type { OpenWaybillOptions } from "../open-waybill.ts";
import { createSecretResolver } from "../secrets.ts";
import { type ConfigFile, homeFolder, inFile, type Places } from "./config-file.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * What the configuration says about ledger, queue and retained rows, with secrets resolved. `--ledger FOLDER` stands above it and means the
 * embedded parts in that folder. WaybillError `usage` names the reference of a secret that is missing, never its value.
 */
export async function compositionOf(
  places: Places,
  file: ConfigFile | undefined,
  environment: Environment,
): Promise<OpenWaybillOptions> {
  const directory = homeFolder(places, file);
  if (file === undefined || places.ledger !== undefined) return { directory, environment };
  const secret = createSecretResolver({ environment });
  const { ledger, queue, retained } = file.config;
  return {
    directory,
    environment,
    ...("postgres" in ledger ? { postgresUrl: await secret(ledger.postgres.url) } : {}),
    ...(queue === undefined ? {} : { redis: { ...queue.redis, url: await secret(queue.redis.url) } }),
    ...(retained === undefined ? {} : { retained: await retainedStoreOf(file, retained, secret) }),
  };
}

async function retainedStoreOf(
  file: ConfigFile,
  retained: RetainedConfig,
  secret: (reference: string) => Promise<string>,
): Promise<RetainedStore> {
  if ("folder" in retained) return createFolderRetainedStore(resolve(dirname(file.path), retained.folder));
  const problems = await retainedProblems(retained.s3);
  if (problems.length > 0)
    throw new WaybillError(
      "usage",
      problems.map((problem) => inFile(file.path, problem)),
    );
  const { openS3Place } = await import("../../drivers/file-transfer/s3/place.ts");
  const { createObjectRetainedStore } = await import("../object-retained-store.ts");
  return createObjectRetainedStore(await openS3Place(retained.s3, secret));
}

/** Everything that is wrong with `retained.s3`, without I/O. */
export async function retainedProblems(settings: JsonObject): Promise<readonly Problem[]> {
  const { s3PlaceProblems } = await import("../../drivers/file-transfer/s3/place.ts");
  return s3PlaceProblems(settings, "retained.s3");
}
