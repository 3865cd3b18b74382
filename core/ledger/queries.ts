/** Reads of the ledger. Each takes a Scope, and a record of another account is no record; only the ones for workers do not. */
export { type ConfigurationKey, configurationSubject } from "./configuration-key.ts";
export { type ConfigurationEntry, findConfiguration, listConfigurations } from "./queries/configurations.ts";
export { definitionDocuments } from "./queries/definitions.ts";
export { type Due, due, nextDueAt, type Tombstone, tombstonesToCheck } from "./queries/due.ts";
export { journalOf } from "./queries/journal.ts";
export { ledgerNow } from "./queries/now.ts";
export { obligationProjection } from "./queries/obligation-projection.ts";
export type { Page, PageRequest } from "./queries/page.ts";
export { latestProof } from "./queries/proofs.ts";
export {
  currentRevision,
  findMaterialization,
  findObligation,
  findRevision,
  listMaterializations,
  listObligations,
  listRevisions,
  type MaterializationFilter,
  type ObligationKey,
  obligationFor,
  type RevisionEntry,
} from "./queries/records.ts";
