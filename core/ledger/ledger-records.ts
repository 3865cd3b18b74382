import type { FailureCode } from "../failure-table.ts";
import type { JsonObject } from "../json.ts";
import type {
  FeedPurpose,
  Finality,
  Materialization,
  ObligationFacts,
  ReconciliationMode,
  Resource,
  Revision,
  Schedule,
  Verification,
  VerificationPath,
  VerificationProfile,
} from "../model/records.ts";
import type { RetainedPart } from "../rows/retained.ts";

/** Who may see a record. Every query has it in its WHERE. `operator` is the seller's own command line, never a caller of the server. */
export type Scope = { readonly accountId: string } | { readonly operator: true };

/** An immutable generation of where one feed goes. Same (account, id, version) with other content is refused. */
export interface ConfigurationGeneration {
  readonly account_id: string;
  readonly delivery_config_id: string;
  readonly delivery_config_version: number;
  readonly report_definition_id: string;
  readonly reporting_profile: string;
  readonly feed_purpose: FeedPurpose;
  readonly required_finality: Finality;
  readonly reconciliation_mode: ReconciliationMode;
  readonly verification_profile: VerificationProfile;
  readonly schedule: Schedule;
  readonly destination_ref: string;
  /** Explicit ids, or "all". */
  readonly media_buy_ids: readonly string[] | "all";
}

/** An immutable generation of a destination; another transport, location or format is a new `destination_ref`. References to secrets only. */
export interface DestinationGeneration {
  readonly destination_ref: string;
  readonly destination_id: string;
  readonly transport: string;
  readonly hosting: "producer" | "buyer";
  readonly verification_path: VerificationPath;
  /** How long a verified resource stays readable, days. */
  readonly retention_days: number;
  /** The driver's own settings: location, format, compression, path template, secret references. */
  readonly settings: JsonObject;
}

/** Inner progress of a materialization; the wire status stays `pending` until the last step. */
export type Phase = "planned" | "writing" | "committed" | "done";

/** A materialization with what only the worker needs. */
export interface MaterializationWork {
  readonly record: Materialization;
  readonly accountId: string;
  readonly phase: Phase;
  readonly selection: "current" | "exact";
  readonly plan: JsonObject;
  /** Commit evidence once phase is `committed`. */
  readonly commit: JsonObject | undefined;
  readonly committedAtUs: bigint | undefined;
  /** Runs so far, this one included once claimed. */
  readonly tries: number;
  readonly probes: number;
  readonly nextRunAtUs: bigint;
  readonly revision: Revision;
  readonly obligation: ObligationFacts;
  readonly configuration: ConfigurationGeneration;
  readonly destination: DestinationGeneration;
}

/** The right to work on one materialization until an instant of the database clock. Every ledger write of a worker carries it; a lost one changes 0 rows. */
export interface Lease {
  readonly materializationId: string;
  /** Random per claim: the fencing token. */
  readonly token: string;
  /** Counts claims; part of staging names. */
  readonly generation: number;
  readonly untilUs: bigint;
}

export interface ReadyOutcome {
  readonly status: "available" | "delivered";
  /** Without `expires_at`: the ledger sets ready_at + the destination's retention_days. */
  readonly resource: Omit<Resource, "expires_at">;
  /** Without `verified_at`: the ledger stamps database time after the matching read. */
  readonly verification: Omit<Verification, "verified_at">;
}

/** What tx 2 found under the obligation lock. Everything but `done` wrote no terminal success. */
export type FinishResult =
  | { readonly outcome: "done"; readonly record: Materialization }
  | { readonly outcome: "refused"; readonly code: "SUPERSEDED" | "UNAUTHORIZED" | "WITHDRAWN" | "LEASE_LOST" };

export interface JournalEntry {
  readonly seq: bigint;
  readonly atUs: bigint;
  readonly accountId: string;
  readonly kind: string;
  readonly subjectId: string;
  readonly event: string;
  readonly detail: JsonObject;
}

/** Retained content as the ledger knows it. */
export interface RetainedDescriptor {
  readonly parts: readonly RetainedPart[];
  /** Rows taken from the source for this revision; `deliver` adds none. */
  readonly rowsAcquired: number;
}

export interface FailureOutcome {
  readonly code: FailureCode;
  /** Our own words and ids for `explain`; never provider text. */
  readonly detail?: JsonObject;
}
