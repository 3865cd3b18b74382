/** Wire: enum of `responsible_party` in a reporting status issue. */
export type ResponsibleParty = "buyer" | "seller" | "provider";

/** Wire: enum of `recommended_action` in a reporting status issue. */
export type RecommendedAction =
  | "wait_for_retry"
  | "contact_buyer"
  | "contact_seller"
  | "contact_provider"
  | "repair_access"
  | "update_configuration"
  | "change_reporting_scope"
  | "use_supported_reader";

/**
 * retry: the same materialization is redelivered later, with backoff, until its tries are used up.
 * poll: only the read is repeated, until the visibility window ends.
 * reattempt: this materialization fails and attempt + 1 opens at once.
 * stop: this materialization fails; a person or a redrive goes on.
 */
export type FailureNext = "retry" | "poll" | "reattempt" | "stop";

interface Failure {
  readonly next: FailureNext;
  readonly party: ResponsibleParty;
  readonly action: RecommendedAction;
  /** One sentence for docs/FAILURES.md and `explain`: what happened and what to do. */
  readonly meaning: string;
}

/** Every failure code, once. Codes are wire-visible (`failure_code`): add, never rename. docs/FAILURES.md is generated from this table. */
export const failureTable = {
  NOT_YET_VISIBLE: {
    next: "poll",
    party: "seller",
    action: "wait_for_retry",
    meaning: "The commit is done but cannot be read over the verification path yet.",
  },
  VISIBILITY_TIMEOUT: {
    next: "stop",
    party: "seller",
    action: "contact_seller",
    meaning: "The commit did not become readable over the verification path within the visibility window.",
  },
  VERIFICATION_MISMATCH: {
    next: "stop",
    party: "seller",
    action: "contact_seller",
    meaning:
      "What was read back differs from the revision; nothing was announced. `explain` lists object, row and column.",
  },
  CONTENT_CONFLICT: {
    next: "stop",
    party: "seller",
    action: "contact_seller",
    meaning: "Other bytes stand at a name that is ours and immutable; nothing was overwritten.",
  },
  ENCODER_CHANGED: {
    next: "reattempt",
    party: "seller",
    action: "wait_for_retry",
    meaning: "Parts written by another encoder version were found; a new attempt starts in a new folder.",
  },
  DESTINATION_UNREACHABLE: {
    next: "retry",
    party: "provider",
    action: "wait_for_retry",
    meaning: "The destination did not answer or answered that it is unavailable.",
  },
  DESTINATION_THROTTLED: {
    next: "retry",
    party: "provider",
    action: "wait_for_retry",
    meaning: "The destination asked for fewer requests.",
  },
  DESTINATION_FORBIDDEN: {
    next: "stop",
    party: "buyer",
    action: "repair_access",
    meaning: "The destination refused our identity; the grant named by `explain` is missing.",
  },
  DESTINATION_MISSING: {
    next: "stop",
    party: "buyer",
    action: "update_configuration",
    meaning: "The configured folder, bucket, dataset or share does not exist.",
  },
  DESTINATION_FULL: {
    next: "stop",
    party: "buyer",
    action: "contact_buyer",
    meaning: "The destination has no room or quota left.",
  },
  DESTINATION_UNSAFE: {
    next: "stop",
    party: "buyer",
    action: "update_configuration",
    meaning: "The destination does not keep a promise that delivery depends on, such as create-only writes.",
  },
  READER_FORBIDDEN: {
    next: "poll",
    party: "buyer",
    action: "repair_access",
    meaning: "The commit is done but the buyer's identity may not read it.",
  },
  REVISION_UNREADABLE: {
    next: "stop",
    party: "seller",
    action: "contact_seller",
    meaning: "The retained revision is missing or its bytes no longer match their digest.",
  },
  ROW_NOT_ENCODABLE: {
    next: "stop",
    party: "seller",
    action: "update_configuration",
    meaning: "A value cannot be written in the configured format without loss.",
  },
  READER_INCOMPATIBLE: {
    next: "stop",
    party: "buyer",
    action: "use_supported_reader",
    meaning: "The declared reader cannot read what this configuration writes.",
  },
  CONFIGURATION_INVALID: {
    next: "stop",
    party: "seller",
    action: "update_configuration",
    meaning: "The configuration of this destination cannot work as written.",
  },
  SUPERSEDED: {
    next: "stop",
    party: "seller",
    action: "wait_for_retry",
    meaning: "A newer revision became current while this one was being delivered.",
  },
  UNAUTHORIZED: {
    next: "stop",
    party: "buyer",
    action: "repair_access",
    meaning: "The configuration or destination was deactivated or revoked while this delivery ran.",
  },
  WITHDRAWN: {
    next: "stop",
    party: "seller",
    action: "contact_seller",
    meaning: "The materialization was withdrawn before it became ready.",
  },
  LEASE_LOST: {
    next: "retry",
    party: "seller",
    action: "wait_for_retry",
    meaning: "Another worker took over; this one stopped without writing.",
  },
  TRIES_EXHAUSTED: {
    next: "stop",
    party: "seller",
    action: "contact_seller",
    meaning: "The retry budget of this materialization is used up; `redrive` starts a new attempt.",
  },
  INTERNAL: {
    next: "retry",
    party: "seller",
    action: "contact_seller",
    meaning: "An unexpected error; the log entry with the same ids has the cause's class.",
  },
} as const satisfies Record<string, Failure>;

export type FailureCode = keyof typeof failureTable;
