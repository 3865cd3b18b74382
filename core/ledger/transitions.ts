/**
 * The only door through which the ledger changes. Each function is one transaction: the record, its journal entries, its outbox
 * row and its change-feed row, or none of them. Every refusal is a WaybillError with a stable code; every write of a worker
 * carries its lease, and one whose lease is lost changes nothing.
 */
export {
  deactivateConfiguration,
  deactivateDestination,
  installConfiguration,
} from "./transitions/configurations.ts";
export { installDefinition } from "./transitions/definitions.ts";
export { type Expired, type ExpireOptions, expireAllLeases, expireLeases } from "./transitions/expiry.ts";
export { type Failed, finishFailed } from "./transitions/fail.ts";
export { finishReady } from "./transitions/finish.ts";
export { type Claim, type Claimed, claim, type Release, release, renew } from "./transitions/leases.ts";
export {
  type OpenMaterialization,
  openMaterialization,
  type PlanFacts,
  type PlanWork,
} from "./transitions/materializations.ts";
export { type CreatedObligation, createObligation } from "./transitions/obligations.ts";
export { recordCommit, recordPhase, recordProbe } from "./transitions/progress.ts";
export { recordProof } from "./transitions/proofs.ts";
export { publishRevision } from "./transitions/revisions.ts";
export { placeTombstone, settleTombstone, type TombstoneRequest } from "./transitions/tombstones.ts";
