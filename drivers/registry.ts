import { type Problem, WaybillError } from "../core/errors.ts";
import type { DestinationBinding, DriverEnvironment } from "./destination-binding.ts";
import type { Driver } from "./driver.ts";

/** What a transport's folder offers. It is loaded when its transport is first used, so that no vendor SDK loads for nothing. */
export interface TransportModule {
  /** Everything that is wrong with the settings, without any I/O. Empty: a driver can be made. */
  checkDestination(binding: DestinationBinding): readonly Problem[];
  /** Makes a driver for settings that `checkDestination` accepts. */
  createDriver(binding: DestinationBinding, environment: DriverEnvironment): Promise<Driver>;
}

interface Transport {
  /** Folder below drivers/. */
  readonly folder: string;
  load(): Promise<TransportModule>;
}

/** The only table from wire word to folder. Queues, metrics and `--transports` use the wire word. */
const transports: { readonly [transport: string]: Transport } = {
  local_fs: {
    folder: "file-transfer/local",
    load: async () => (await import("./file-transfer/local/driver.ts")).localTransport,
  },
  s3: {
    folder: "file-transfer/s3",
    load: async () => (await import("./file-transfer/s3/driver.ts")).s3Transport,
  },
};

/** Wire words of all transports, in the order of the table. */
export const transportNames: readonly string[] = Object.keys(transports);

/** Everything that is wrong with a destination, its transport word included. Loads the transport's folder, touches nothing else. */
export async function checkDestination(binding: DestinationBinding): Promise<readonly Problem[]> {
  const transport = find(binding.transport);
  if (transport !== undefined) return (await transport.load()).checkDestination(binding);
  const message = `transport: must be one of ${transportNames.join(", ")}`;
  return [{ code: "UNKNOWN_TRANSPORT", field: "transport", message }];
}

/** A driver of its own for one destination; the caller closes it. Throws WaybillError `usage` with every problem of the settings. */
export async function createDriver(binding: DestinationBinding, environment: DriverEnvironment): Promise<Driver> {
  const problems = await checkDestination(binding);
  const transport = find(binding.transport);
  if (problems.length > 0 || transport === undefined) throw new WaybillError("usage", problems);
  return (await transport.load()).createDriver(binding, environment);
}

function find(transport: string): Transport | undefined {
  return Object.hasOwn(transports, transport) ? transports[transport] : undefined;
}
