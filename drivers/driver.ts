import type { EncodedPart, Encoding } from "../core/encoding/encoding.ts";
import type { JsonObject } from "../core/json.ts";
import type { DestinationProof } from "../core/model/destination-proof.ts";
import type {
  ControlTotal,
  MethodPattern,
  PhysicalChecksum,
  Resource,
  Revision,
  VerificationPath,
  VerificationProfile,
} from "../core/model/records.ts";
import type { DefinitionDocuments } from "../core/rows/retained.ts";
import type { Finding } from "../manifests/finding.ts";

/** Facts about a transport, so that nobody writes `if (transport === …)`. */
export interface DriverTraits {
  /** Wire word: `s3`, `local_fs`, … */
  readonly transport: string;
  readonly method: MethodPattern;
  readonly immutability: Resource["immutability"];
  /** Paths this transport can verify over; the first is the default. */
  readonly verificationPaths: readonly VerificationPath[];
  /** How long after commit a reader may still see nothing. Ms. 0: read-after-write. */
  readonly visibilityWindowMs: number;
  /** Whether `withdraw("access")` can end access without removing data. */
  readonly revocable: boolean;
}

/** What a plan is made from. All of it is in the ledger before the first external call. */
export interface PlanInput {
  readonly revision: Revision;
  readonly obligationId: string;
  readonly materializationId: string;
  readonly attempt: number;
  /** The `settings` of the destination generation, which the driver was also made from. */
  readonly destination: JsonObject;
  /** Manifest `created_at`; fixed here so that a redelivery writes the same bytes. */
  readonly createdAt: string;
}

/** Persisted as JSON in tx 0: every name, the encoding, the encoder fingerprint. Contains no secret. */
export interface DriverPlan extends JsonObject {
  readonly transport: string;
  /** Library, version, architecture and level that made the bytes; "" where the destination encodes. */
  readonly encoder_fingerprint: string;
}

/** The content a driver writes. Encoding happens in the worker, once per (revision, encoding). */
export interface DeliveryContent {
  readonly revision: Revision;
  readonly documents: DefinitionDocuments;
  encoded(encoding: Encoding): Promise<readonly EncodedPart[]>;
}

/** What `write` put in place; feeds `commit` of the same attempt only and is not evidence. */
export type Staged = JsonObject;

/** Facts of the atomic step, kept in the ledger. Contains no secret and no signed URL. */
export interface CommitEvidence extends JsonObject {
  readonly location: string;
}

/** What one read over the verification path saw. The runner compares it with the revision, never the driver. */
export type Observation =
  | {
      readonly outcome: "read";
      readonly rowCount: number;
      readonly controlTotals: readonly ControlTotal[];
      /** Lower-case hex, recomputed from decoded rows. Absent when the profile does not ask for it. */
      readonly canonicalDigest?: string;
      readonly physicalChecksums?: readonly PhysicalChecksum[];
      readonly manifestSha256?: string;
      readonly nativeVersionRef?: string;
      /** Mismatches found inside the resource itself; any finding means no match. */
      readonly findings: readonly Finding[];
    }
  /** Nothing readable yet: poll again within the window. */
  | { readonly outcome: "not_yet"; readonly code: "NOT_YET_VISIBLE" | "READER_FORBIDDEN" };

/** Passed to every call. `key` fences names that may be shared between tries; `signal` aborts; `nowUs` is the only clock. */
export interface Attempt {
  readonly key: string;
  readonly signal: AbortSignal;
  nowUs(): bigint;
}

/**
 * Delivers one revision by one method. Throws only DeliveryError (or the signal's abort).
 * prepare is pure. write may be repeated and converges; it makes everything except the commit mark. commit is one atomic
 * step. findCommit answers from the destination's content whether that step already happened, never from existence alone.
 * probe reads once over the verification path with clients of its own and never waits.
 */
export interface Driver {
  readonly traits: DriverTraits;
  prepare(input: PlanInput): DriverPlan;
  /**
   * Puts the destination's promises to the test with a probe of its own and removes it again, also after a failure. What is found is
   * returned, not thrown; thrown is only what says nothing about the destination: DESTINATION_UNREACHABLE, DESTINATION_THROTTLED,
   * INTERNAL. Absent where a destination has nothing to prove.
   */
  prove?(attempt: Attempt): Promise<DestinationProof>;
  write(plan: DriverPlan, content: DeliveryContent, attempt: Attempt): Promise<Staged>;
  commit(plan: DriverPlan, staged: Staged, attempt: Attempt): Promise<CommitEvidence>;
  findCommit(plan: DriverPlan, attempt: Attempt): Promise<CommitEvidence | undefined>;
  probe(plan: DriverPlan, commit: CommitEvidence, profile: VerificationProfile, attempt: Attempt): Promise<Observation>;
  /** The buyer-facing resource of a commit. Pure. The ledger adds `expires_at`. */
  resource(plan: DriverPlan, commit: CommitEvidence): Omit<Resource, "expires_at">;
  /** Ends access, or removes the data (commit mark first). Repeating converges. */
  withdraw(plan: DriverPlan, what: "access" | "data", attempt: Attempt): Promise<void>;
  /**
   * Removes what killed calls of this plan left behind and no reader sees: temporary files, unfinished uploads, staging tables begun
   * before the instant. Counts them. Never anything a name of the plan points to. Absent where nothing can be left.
   */
  collectLeftovers?(plan: DriverPlan, startedBeforeUs: bigint, attempt: Attempt): Promise<number>;
  close(): Promise<void>;
}
