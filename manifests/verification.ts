import { type DecodeLimits, defaultDecodeLimits } from "../core/encoding/encoding.ts";
import type { FailureCode } from "../core/failure-table.ts";
import type {
  ControlTotal,
  Materialization,
  ObligationFacts,
  PhysicalChecksum,
  Revision,
  VerificationProfile,
} from "../core/model/records.ts";
import type { Finding } from "./finding.ts";
import type { AnyManifest } from "./manifest-shape.ts";
import type { Place } from "./place.ts";
import type { VerifierPlatform } from "./platform.ts";

/** What is known from elsewhere than the folder. Everything given is compared; what is left out ends up in `not_checked`. */
export interface Expectation {
  /** A ledger record. Must be terminal: a pending or failed one is a finding. Its resource and verification are compared. */
  readonly materialization?: Materialization;
  readonly revision?: Revision;
  readonly obligation?: ObligationFacts;
  /** The manifest's hash, when there is no materialization record with a resource yet. */
  readonly manifestSha256?: string;
  /** Ids of the manifest, for a producer that reads back before the record is final. */
  readonly ids?: {
    readonly reporting_revision_id?: string;
    readonly reporting_obligation_id?: string;
    readonly reporting_materialization_id?: string;
  };
  /** Hashes of the documents. Default: those of the revision. */
  readonly pins?: DocumentPins;
}

export interface DocumentPins {
  readonly report_definition_sha256?: string;
  readonly schema_sha256?: string;
  readonly canonicalization_sha256?: string;
}

/** Exact bytes of the documents that say how to read the rows. */
export interface DeliveredDocuments {
  readonly reportDefinition: Uint8Array;
  readonly rowSchema: Uint8Array;
  readonly canonicalization: Uint8Array;
}

export interface VerifyInput {
  readonly place: Place;
  /** Bare name in the place. Default `manifest.json`. */
  readonly manifestName?: string;
  /** Location or key of the manifest's folder, for `object_ref`s that are keys relative to the destination. Default: the place's location. */
  readonly folder?: string;
  readonly platform: VerifierPlatform;
  readonly expect?: Expectation;
  /** Default: the side files of the place. They are hashed against the pins before they are read. */
  readonly documents?: DeliveredDocuments;
  /** Default `canonical_digest`: rows are re-digested. The others leave the digest out. */
  readonly profile?: VerificationProfile;
  /** `ignore` reads no unlisted object at all, which needs `documents`. Default `check`. */
  readonly sideFiles?: "check" | "ignore";
  readonly limits?: Partial<VerifyLimits>;
  /** Microseconds; decides whether the resource has expired. Left out: that is not checked. */
  readonly nowUs?: bigint;
  /** Called after every chunk of a data object and at the end of each. */
  readonly onProgress?: (progress: VerifyProgress) => void;
  readonly signal?: AbortSignal;
}

export interface VerifyProgress {
  readonly objectsDone: number;
  readonly objects: number;
  readonly bytesRead: number;
  readonly totalBytes: number;
  readonly rows: number;
}

/** Bounds for a delivery that others made. Passing one is a RESOURCE_TOO_LARGE finding. */
export interface VerifyLimits extends DecodeLimits {
  readonly maxManifestBytes: number;
  /** Each of the side files and documents, bytes. */
  readonly maxSideFileBytes: number;
  readonly maxObjects: number;
  /** Stored bytes of all objects together, as the manifest promises them. */
  readonly maxTotalBytes: number;
  /** Rows of all objects together. */
  readonly maxTotalRows: number;
  /** Findings that are listed; more are counted in `findings_omitted`. */
  readonly maxFindings: number;
}

export const defaultVerifyLimits: VerifyLimits = {
  ...defaultDecodeLimits,
  maxManifestBytes: 16 * 1024 * 1024,
  maxSideFileBytes: 16 * 1024 * 1024,
  maxObjects: 20_000,
  maxTotalBytes: 1024 ** 4,
  maxTotalRows: 10_000_000_000,
  maxFindings: 1000,
};

/** SELF_CONSISTENT: the folder proves itself. MATCHES_LEDGER: manifest hash, counts, totals and digest also equal records from outside. */
export type VerificationLevel = "SELF_CONSISTENT" | "MATCHES_LEDGER";

/** What one read of a delivery saw. Everything in it was computed from bytes that were read, never copied from the manifest. */
export interface VerificationReport {
  /** No finding. What could not be checked is in `not_checked` and does not count. */
  readonly ok: boolean;
  /** null when not ok. */
  readonly level: VerificationLevel | null;
  readonly location: string;
  /** null when the rows could not be counted in full. */
  readonly row_count: number | null;
  readonly control_totals: readonly ControlTotal[] | null;
  /** Lower-case hex. null when the profile does not ask for it or the rows could not be read in full. */
  readonly canonical_digest: string | null;
  readonly manifest_sha256: string | null;
  readonly physical_checksums: readonly PhysicalChecksum[];
  /** In the order of the checks, at most `maxFindings`. */
  readonly findings: readonly Finding[];
  readonly findings_omitted: number;
  /** Sentences: what the given inputs did not allow to check. */
  readonly not_checked: readonly string[];
  /** The manifest that was read, if it is one. */
  readonly manifest: AnyManifest | null;
  /** A later read may see what this one did not: nothing is there yet, or the place could not be reached. */
  readonly retryable: boolean;
  /** What the place said when it could not be read, in order of appearance. */
  readonly failures: readonly FailureCode[];
}
