import { S3 } from "@aws-sdk/client-s3";
import { type Problem, WaybillError } from "../../../core/errors.ts";
import type { JsonObject } from "../../../core/json.ts";
import { readSettings } from "../../settings-reader.ts";
import type { ObjectStore } from "../object-store.ts";
import { readPlace, type S3CredentialReferences, type S3Place } from "./config.ts";
import { createS3Store } from "./store.ts";

export interface S3Identity {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

type ResolveSecret = (reference: string) => Promise<string>;

/** A store with a client of its own. Retries are the runner's business: the SDK's would hide a lost reply. */
export function openStore(place: S3Place, identity: S3Identity | undefined): ObjectStore {
  const whenRequired = place.checksums === "when_required";
  const client = new S3({
    region: place.region,
    maxAttempts: 1,
    forcePathStyle: place.pathStyle,
    ...(place.endpoint === undefined ? {} : { endpoint: place.endpoint }),
    ...(identity === undefined ? {} : { credentials: identity }),
    ...(whenRequired
      ? { requestChecksumCalculation: "WHEN_REQUIRED" as const, responseChecksumValidation: "WHEN_REQUIRED" as const }
      : {}),
    // The SDK's logger writes to the console what providers echo.
    logger: silent,
  });
  return createS3Store({
    client,
    bucket: place.bucket,
    prefix: place.prefix,
    checksums: place.checksums,
    ...(place.bucketOwner === undefined ? {} : { bucketOwner: place.bucketOwner }),
  });
}

/** Resolves the references of an access key; undefined stays undefined and means the process's own identity. */
export async function identityOf(
  references: S3CredentialReferences | undefined,
  secret: ResolveSecret,
): Promise<S3Identity | undefined> {
  if (references === undefined) return undefined;
  const { accessKeyId, secretAccessKey, sessionToken } = references;
  return {
    accessKeyId: await secret(accessKeyId),
    secretAccessKey: await secret(secretAccessKey),
    ...(sessionToken === undefined ? {} : { sessionToken: await secret(sessionToken) }),
  };
}

/** Name of the access key that the process's own identity uses now; undefined when it has none. Not a secret, and not shown either. */
export async function defaultAccessKeyId({ region }: S3Place): Promise<string | undefined> {
  const client = new S3({ region, logger: silent });
  try {
    return (await client.config.credentials()).accessKeyId;
  } catch {
    return undefined;
  } finally {
    client.destroy();
  }
}

/** Opens a place that is no destination, such as the retained store's. WaybillError `usage` with every problem of the settings. */
export async function openS3Place(settings: JsonObject, secret: ResolveSecret): Promise<ObjectStore> {
  const reader = readSettings(settings);
  const place = readPlace(reader);
  const problems = reader.finish();
  if (problems.length > 0 || place === undefined) throw new WaybillError("usage", problems);
  return openStore(place, await identityOf(place.credentials, secret));
}

/** Everything that is wrong with such settings, under the path they stand at. */
export function s3PlaceProblems(settings: JsonObject, field: string): readonly Problem[] {
  const reader = readSettings(settings, field);
  readPlace(reader);
  return reader.finish();
}

const ignore = (): void => undefined;
const silent = { trace: ignore, debug: ignore, info: ignore, warn: ignore, error: ignore };
