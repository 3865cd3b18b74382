/** What a program that embeds Waybill needs of its core. The only barrel of the project. */
export { canonicalBytes, canonicalJson } from "./canonical-json.ts";
export { adjustmentDigest } from "./digest/adjustment-digest.ts";
export { DeliveryError, type Problem, WaybillError } from "./errors.ts";
export { type FailureCode, failureTable } from "./failure-table.ts";
export type * from "./model/records.ts";
export { parseDefinition } from "./rows/definition.ts";
export { buildDocuments } from "./rows/documents.ts";
export { createFolderRetainedStore } from "./rows/folder-retained-store.ts";
export { openRows } from "./rows/readers/open-rows.ts";
export { retainRows } from "./rows/retain.ts";
export type { DefinitionDocuments, RetainedRevision, RetainedStore } from "./rows/retained.ts";
export { migrate } from "./store/migrate.ts";
export { openPglite } from "./store/pglite.ts";
export { openPostgres } from "./store/postgres.ts";
export { parseJson, parseJsonBytes } from "./strict-json.ts";
