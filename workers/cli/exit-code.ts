import type { FailureCode } from "../../core/failure-table.ts";

/** 0 done; 1 the thing checked is wrong; 2 wrong use, configuration or permission; 3 something did not answer and a retry may help. */
export type ExitCode = 0 | 1 | 2 | 3;

const codes = {
  NOT_YET_VISIBLE: 3,
  VISIBILITY_TIMEOUT: 3,
  VERIFICATION_MISMATCH: 1,
  CONTENT_CONFLICT: 1,
  ENCODER_CHANGED: 3,
  DESTINATION_UNREACHABLE: 3,
  DESTINATION_THROTTLED: 3,
  DESTINATION_FORBIDDEN: 2,
  DESTINATION_MISSING: 2,
  DESTINATION_FULL: 1,
  DESTINATION_UNSAFE: 2,
  READER_FORBIDDEN: 2,
  REVISION_UNREADABLE: 1,
  ROW_NOT_ENCODABLE: 1,
  READER_INCOMPATIBLE: 2,
  CONFIGURATION_INVALID: 2,
  SUPERSEDED: 1,
  UNAUTHORIZED: 2,
  WITHDRAWN: 1,
  LEASE_LOST: 3,
  TRIES_EXHAUSTED: 3,
  INTERNAL: 1,
} as const satisfies Record<FailureCode, ExitCode>;

/** How a command ends whose delivery failed with this code. */
export function exitCodeOfFailure(code: FailureCode): ExitCode {
  return codes[code];
}

/** How a command ends that threw a WaybillError of this kind. */
export function exitCodeOfKind(kind: "content" | "usage" | "unreachable"): ExitCode {
  return kind === "content" ? 1 : kind === "usage" ? 2 : 3;
}
