import { S3 } from "@aws-sdk/client-s3";
import { DeliveryError } from "../../../core/errors.ts";
import type { DestinationBinding, DriverEnvironment } from "../../destination-binding.ts";
import type { Driver, DriverTraits } from "../../driver.ts";
import type { TransportModule } from "../../registry.ts";
import { createFileTransferDriver } from "../file-transfer-driver.ts";
import type { ObjectStore } from "../object-store.ts";
import { readS3Config, type S3Config, type S3CredentialReferences } from "./config.ts";
import { createS3Store } from "./store.ts";

/** S3 answers a read after a write; a policy that lets the buyer in may take this long to be seen everywhere. Ms. */
const policyVisibilityWindowMs = 60_000;

interface S3Identity {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** What the registry needs to know of this folder. */
export const s3Transport: TransportModule = {
  checkDestination: (binding) => readS3Config(binding).problems,
  createDriver: createS3Driver,
};

/** Delivers into an S3 bucket. CONFIGURATION_INVALID for settings that `checkDestination` does not accept, or when writer and reader turn out to be one key. */
export async function createS3Driver(binding: DestinationBinding, environment: DriverEnvironment): Promise<Driver> {
  const { config } = readS3Config(binding);
  if (config === undefined) throw new DeliveryError("CONFIGURATION_INVALID");
  const writer = await identityOf(config.credentials, environment);
  const reader = await identityOf(config.reader, environment);
  if (reader !== undefined && reader.accessKeyId === writer?.accessKeyId)
    throw new DeliveryError("CONFIGURATION_INVALID");
  const readAs = binding.verification_path === "representative_consumer" ? reader : writer;
  return createFileTransferDriver({
    traits: traitsOf(config),
    settings: config,
    writer: openStore(config, writer),
    openReader: () => openStore(config, readAs),
    spoolDirectory: environment.spoolDirectory,
  });
}

/** The traits of an S3 destination; without the buyer's key only the seller's own read can be claimed. */
export function traitsOf(config: S3Config): DriverTraits {
  return {
    transport: "s3",
    method: "file_transfer",
    immutability: "immutable_location",
    verificationPaths: config.reader === undefined ? ["producer"] : ["representative_consumer", "producer"],
    visibilityWindowMs: config.reader === undefined ? 0 : policyVisibilityWindowMs,
    revocable: false,
  };
}

/** A store with a client of its own. Retries are the runner's business: the SDK's would hide a lost reply. */
export function openStore(config: S3Config, identity: S3Identity | undefined): ObjectStore {
  const whenRequired = config.checksums === "when_required";
  const client = new S3({
    region: config.region,
    maxAttempts: 1,
    forcePathStyle: config.pathStyle,
    ...(config.endpoint === undefined ? {} : { endpoint: config.endpoint }),
    ...(identity === undefined ? {} : { credentials: identity }),
    ...(whenRequired
      ? { requestChecksumCalculation: "WHEN_REQUIRED" as const, responseChecksumValidation: "WHEN_REQUIRED" as const }
      : {}),
    // The SDK's logger writes to the console what providers echo.
    logger: silent,
  });
  return createS3Store({
    client,
    bucket: config.bucket,
    prefix: config.prefix,
    checksums: config.checksums,
    ...(config.bucketOwner === undefined ? {} : { bucketOwner: config.bucketOwner }),
  });
}

const ignore = (): void => undefined;
const silent = { trace: ignore, debug: ignore, info: ignore, warn: ignore, error: ignore };

async function identityOf(
  references: S3CredentialReferences | undefined,
  environment: DriverEnvironment,
): Promise<S3Identity | undefined> {
  if (references === undefined) return undefined;
  const { accessKeyId, secretAccessKey, sessionToken } = references;
  return {
    accessKeyId: await environment.secret(accessKeyId),
    secretAccessKey: await environment.secret(secretAccessKey),
    ...(sessionToken === undefined ? {} : { sessionToken: await environment.secret(sessionToken) }),
  };
}
