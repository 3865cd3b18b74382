import { DeliveryError } from "../../../core/errors.ts";
import type { FailureCode } from "../../../core/failure-table.ts";
import { fromSystemError } from "../../provider-errors.ts";

/** What an S3 error name means to a delivery, where the status alone does not say it. */
const codesOfName: { readonly [name: string]: FailureCode } = {
  NoSuchBucket: "DESTINATION_MISSING",
  PermanentRedirect: "CONFIGURATION_INVALID",
  AuthorizationHeaderMalformed: "CONFIGURATION_INVALID",
  NotImplemented: "CONFIGURATION_INVALID",
  // Concurrent conditional writes: another request is under way; whether it wins is known after a wait.
  ConditionalRequestConflict: "DESTINATION_UNREACHABLE",
  OperationAborted: "DESTINATION_UNREACHABLE",
  SlowDown: "DESTINATION_THROTTLED",
  RequestTimeTooSkewed: "CONFIGURATION_INVALID",
  CredentialsProviderError: "CONFIGURATION_INVALID",
  // The bytes that arrived are not the bytes we hashed: the wire, not the revision.
  BadDigest: "DESTINATION_UNREACHABLE",
  XAmzContentChecksumMismatch: "DESTINATION_UNREACHABLE",
  QuotaExceeded: "DESTINATION_FULL",
};

/** The HTTP status of an S3 error, or undefined when no answer came. */
export function statusOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("$metadata" in error)) return undefined;
  const metadata = error.$metadata as { readonly httpStatusCode?: number } | undefined;
  return metadata?.httpStatusCode;
}

/** An error of the S3 SDK as a DeliveryError; the provider's text stays in `cause`. */
export function fromS3Error(error: unknown): DeliveryError {
  if (error instanceof DeliveryError) return error;
  const code = error instanceof Error ? (codesOfName[error.name] ?? codeOfStatus(statusOf(error))) : undefined;
  if (code === undefined) return connectionError(error);
  const retryAfterMs = retryAfterOf(error);
  return new DeliveryError(code, retryAfterMs === undefined ? { cause: error } : { cause: error, retryAfterMs });
}

function codeOfStatus(status: number | undefined): FailureCode | undefined {
  if (status === undefined) return undefined;
  if (status === 401 || status === 403) return "DESTINATION_FORBIDDEN";
  if (status === 429) return "DESTINATION_THROTTLED";
  if (status === 301 || status === 400 || status === 501) return "CONFIGURATION_INVALID";
  if (status === 507) return "DESTINATION_FULL";
  if (status >= 500 || status === 408 || status === 409) return "DESTINATION_UNREACHABLE";
  return undefined;
}

/** No answer: the request may have acted or not. TimeoutError and ECONNRESET are the SDK's and the socket's words for it. */
function connectionError(error: unknown): DeliveryError {
  if (error instanceof Error && (error.name === "TimeoutError" || error.name === "NetworkingError")) {
    return new DeliveryError("DESTINATION_UNREACHABLE", { cause: error });
  }
  return fromSystemError(error);
}

function retryAfterOf(error: unknown): number | undefined {
  const response =
    error instanceof Error && "$response" in error
      ? (error.$response as { headers?: Record<string, string> } | undefined)
      : undefined;
  const seconds = Number(response?.headers?.["retry-after"]);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}

/** Runs one SDK call so that only a DeliveryError leaves it, or the signal's reason once it is aborted. */
export async function guardedS3<T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  try {
    return await call();
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw fromS3Error(error);
  }
}
