import { DeliveryError, WaybillError } from "../core/errors.ts";
import type { DestinationGeneration } from "../core/ledger/ledger-records.ts";
import type { DriverEnvironment } from "../drivers/destination-binding.ts";
import type { Driver } from "../drivers/driver.ts";
import { createDriver } from "../drivers/registry.ts";

/** One driver per destination generation, made on first use. */
export interface DriverPool {
  /** DeliveryError CONFIGURATION_INVALID when the settings cannot work; the next call looks again. */
  driverOf(destination: DestinationGeneration): Promise<Driver>;
  close(): Promise<void>;
}

/** `environment` lends drivers a spool folder and the secrets that settings refer to. */
export function createDriverPool(environment: DriverEnvironment): DriverPool {
  const drivers = new Map<string, Promise<Driver>>();
  return {
    async driverOf(destination) {
      const key = destination.destination_ref;
      let driver = drivers.get(key);
      if (driver === undefined) {
        driver = createDriver(destination, environment).catch((error) => {
          throw error instanceof WaybillError ? new DeliveryError("CONFIGURATION_INVALID", { cause: error }) : error;
        });
        drivers.set(key, driver);
        // A secret that is missing now may be there at the next try.
        driver.catch(() => drivers.delete(key));
      }
      return await driver;
    },
    async close() {
      const opened = await Promise.allSettled(drivers.values());
      drivers.clear();
      for (const result of opened) if (result.status === "fulfilled") await result.value.close();
    },
  };
}
