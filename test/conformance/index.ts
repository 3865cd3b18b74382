/** The shared suites, for those who write a driver, a store, a queue or a ledger database of their own. They need vitest. */
export { driverConformance } from "./driver.ts";
export { encoderConformance } from "./encoder.ts";
export { fileDriverConformance } from "./file-driver.ts";
export { ledgerConformance } from "./ledger.ts";
export { objectStoreConformance } from "./object-store.ts";
export { queueConformance } from "./queue.ts";
