import { DeliveryError } from "../../../core/errors.ts";
import type { DestinationBinding, DriverEnvironment } from "../../destination-binding.ts";
import type { Driver, DriverTraits } from "../../driver.ts";
import type { TransportModule } from "../../registry.ts";
import { createFileTransferDriver } from "../file-transfer-driver.ts";
import { readS3Config, type S3Config } from "./config.ts";
import { defaultAccessKeyId, identityOf, openStore } from "./place.ts";
import { fixesFor } from "./proof-fixes.ts";

/** S3 answers a read after a write; a policy that lets the buyer in may take this long to be seen everywhere. Ms. */
const policyVisibilityWindowMs = 60_000;

/** What the registry needs to know of this folder. */
export const s3Transport: TransportModule = {
  checkDestination: (binding) => readS3Config(binding).problems,
  createDriver: createS3Driver,
};

/** Delivers into an S3 bucket. CONFIGURATION_INVALID for settings that `checkDestination` does not accept, or when writer and reader turn out to be one key. */
export async function createS3Driver(binding: DestinationBinding, environment: DriverEnvironment): Promise<Driver> {
  const { config } = readS3Config(binding);
  if (config === undefined) throw new DeliveryError("CONFIGURATION_INVALID");
  const writer = await identityOf(config.credentials, environment.secret);
  const reader = await identityOf(config.reader, environment.secret);
  if (reader !== undefined && reader.accessKeyId === writer?.accessKeyId)
    throw new DeliveryError("CONFIGURATION_INVALID");
  const asConsumer = binding.verification_path === "representative_consumer";
  const readAs = asConsumer ? reader : writer;
  const differs = async (): Promise<boolean | undefined> => {
    const writerKey = writer?.accessKeyId ?? (await defaultAccessKeyId(config));
    return writerKey === undefined || reader === undefined ? undefined : writerKey !== reader.accessKeyId;
  };
  return createFileTransferDriver({
    traits: traitsOf(config),
    settings: config,
    writer: openStore(config, writer),
    openReader: () => openStore(config, readAs),
    ...(asConsumer ? { consumer: { differs } } : {}),
    fixFor: fixesFor(config),
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
