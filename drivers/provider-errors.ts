import { DeliveryError } from "../core/errors.ts";
import type { FailureCode } from "../core/failure-table.ts";

/** What an errno of a file system or socket means to a delivery. One that is not here is nobody's fault we know of: INTERNAL. */
const codesOfErrno: { readonly [errno: string]: FailureCode } = {
  ENOSPC: "DESTINATION_FULL",
  EDQUOT: "DESTINATION_FULL",
  EFBIG: "DESTINATION_FULL",
  EACCES: "DESTINATION_FORBIDDEN",
  EPERM: "DESTINATION_FORBIDDEN",
  EROFS: "DESTINATION_FORBIDDEN",
  ELOOP: "DESTINATION_UNSAFE",
  ENOTDIR: "DESTINATION_UNSAFE",
  EISDIR: "DESTINATION_UNSAFE",
  ENAMETOOLONG: "CONFIGURATION_INVALID",
  // What was there a moment ago is gone: someone else works in the same folder. Trying again finds out.
  ENOENT: "DESTINATION_UNREACHABLE",
  EIO: "DESTINATION_UNREACHABLE",
  ESTALE: "DESTINATION_UNREACHABLE",
  EBUSY: "DESTINATION_UNREACHABLE",
  ETXTBSY: "DESTINATION_UNREACHABLE",
  ENXIO: "DESTINATION_UNREACHABLE",
  ENODEV: "DESTINATION_UNREACHABLE",
  ENOTCONN: "DESTINATION_UNREACHABLE",
  ETIMEDOUT: "DESTINATION_UNREACHABLE",
  EHOSTDOWN: "DESTINATION_UNREACHABLE",
  EHOSTUNREACH: "DESTINATION_UNREACHABLE",
  ENETDOWN: "DESTINATION_UNREACHABLE",
  ENETUNREACH: "DESTINATION_UNREACHABLE",
  ECONNREFUSED: "DESTINATION_UNREACHABLE",
  ECONNRESET: "DESTINATION_UNREACHABLE",
  ECONNABORTED: "DESTINATION_UNREACHABLE",
  EPIPE: "DESTINATION_UNREACHABLE",
  ENOTFOUND: "DESTINATION_UNREACHABLE",
  EAI_AGAIN: "DESTINATION_UNREACHABLE",
};

/** The errno word of a system error, or undefined. */
export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** A system error as a DeliveryError. Our own errors pass unchanged; the text of others stays in `cause`. */
export function fromSystemError(error: unknown): DeliveryError {
  if (error instanceof DeliveryError) return error;
  return new DeliveryError(codesOfErrno[errnoOf(error) ?? ""] ?? "INTERNAL", { cause: error });
}

/**
 * Runs one call to a destination so that only a DeliveryError leaves it. Once the signal is aborted its reason leaves instead:
 * what the abort broke says nothing about the destination.
 */
export async function guarded<T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  try {
    return await call();
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw fromSystemError(error);
  }
}
