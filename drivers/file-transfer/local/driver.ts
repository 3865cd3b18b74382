import { DeliveryError } from "../../../core/errors.ts";
import type { DestinationBinding, DriverEnvironment } from "../../destination-binding.ts";
import type { Driver, DriverTraits } from "../../driver.ts";
import type { TransportModule } from "../../registry.ts";
import { createFileTransferDriver } from "../file-transfer-driver.ts";
import type { FixFor } from "../proof-fixes.ts";
import { type LocalConfig, readLocalConfig } from "./config.ts";
import { createLocalStore } from "./store.ts";

/** How long a mount on another host may go on showing an older folder: attribute caches keep directories for up to 60 s. Ms. */
const mountVisibilityWindowMs = 90_000;

/** What the registry needs to know of this folder. */
export const localTransport: TransportModule = {
  checkDestination: (binding) => readLocalConfig(binding).problems,
  createDriver: async (binding, environment) => createLocalDriver(binding, environment),
};

/** Delivers into a folder of this machine. CONFIGURATION_INVALID for settings that `checkDestination` does not accept. */
export function createLocalDriver(binding: DestinationBinding, environment: DriverEnvironment): Driver {
  const { config } = readLocalConfig(binding);
  if (config === undefined) throw new DeliveryError("CONFIGURATION_INVALID");
  return createFileTransferDriver({
    traits: traitsOf(config),
    settings: config,
    writer: createLocalStore({ root: config.root }),
    openReader: () => createLocalStore({ root: config.readerRoot }),
    ...(binding.verification_path === "representative_consumer" ? { consumer: {} } : {}),
    fixFor,
    spoolDirectory: environment.spoolDirectory,
  });
}

const fixFor: FixFor = (check, code) => {
  if (check === "write" && code === "DESTINATION_FORBIDDEN")
    return "give the worker's account write and search permission on the folder of settings.location";
  if (check === "write" && code === "DESTINATION_UNSAFE")
    return "use a file system with hard links and without symbolic links below settings.location";
  if (check === "read_back" && code === "READER_FORBIDDEN")
    return "give the account that reads, read and search permission on the folder of settings.reader.location";
  if (check === "read_back")
    return "settings.reader.location must be the same folder as settings.location, mounted anew";
  return undefined;
};

/** The traits of a local destination; what can be claimed depends on whether the buyer's own mount is read. */
export function traitsOf(config: LocalConfig): DriverTraits {
  const mounted = config.readerRoot !== config.root;
  return {
    transport: "local_fs",
    method: "file_transfer",
    immutability: "immutable_location",
    verificationPaths: mounted ? ["representative_consumer", "producer"] : ["producer"],
    visibilityWindowMs: mounted ? mountVisibilityWindowMs : 0,
    revocable: false,
  };
}
