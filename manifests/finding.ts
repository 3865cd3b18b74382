/**
 * Codes of CONTRACT section 9, in the order of the checks. Ours besides: INVALID_CONTRACT (documents that cannot be trusted, such as
 * golden vectors that do not come out) and SIDE_FILE_MISMATCH (an unlisted file beside the objects). Add, never rename.
 */
export type FindingCode =
  | "MATERIALIZATION_SCOPE_MISMATCH"
  | "MATERIALIZATION_NOT_READY"
  | "RESOURCE_EXPIRED"
  | "RESOURCE_NOT_READY"
  | "MANIFEST_DIGEST_MISMATCH"
  | "INVALID_MANIFEST"
  | "MANIFEST_IDENTITY_MISMATCH"
  | "UNSAFE_RESOURCE"
  | "RESOURCE_READ_FAILED"
  | "OBJECT_SIZE_MISMATCH"
  | "OBJECT_DIGEST_MISMATCH"
  | "UNSUPPORTED_FORMAT"
  | "UNSUPPORTED_COMPRESSION"
  | "RESOURCE_TOO_LARGE"
  | "INVALID_CONTRACT"
  | "ROW_SCHEMA_INVALID"
  | "ROW_COUNT_MISMATCH"
  | "CONTROL_TOTAL_MISMATCH"
  | "CANONICAL_DIGEST_MISMATCH"
  | "SIDE_FILE_MISMATCH";

/** One mismatch, as `verify --json` prints it. `expected` and `actual` are text. Codes: CONTRACT section 9. */
export interface Finding {
  readonly code: FindingCode;
  readonly message: string;
  readonly object_ref: string | null;
  readonly row: number | null;
  readonly key: string | null;
  readonly column: string | null;
  readonly expected: string | null;
  readonly actual: string | null;
}
