import { type FailureCode, failureTable } from "./failure-table.ts";

/** One thing that is wrong with an input. `field` names the flag, key or path; values of secrets never appear. */
export interface Problem {
  /** Stable, upper snake case. Tests and scripts match on it. */
  readonly code: string;
  /** For a person: what is wrong and what to do next. */
  readonly message: string;
  /** Flag, configuration path or document path the problem is about. */
  readonly field?: string;
  /** 1-based row number in the input as the user sees it. */
  readonly row?: number;
  readonly member?: string;
  /** The bound that was exceeded, as text with its unit. */
  readonly limit?: string;
}

/**
 * Why a command or library call ended without doing its work.
 * `kind` decides the exit code: content 1 (rows or a delivery are wrong), usage 2 (flags, configuration, credentials),
 * unreachable 3 (a retry may help). All problems of one input are reported together.
 */
export class WaybillError extends Error {
  override readonly name = "WaybillError";
  readonly kind: "content" | "usage" | "unreachable";
  readonly problems: readonly Problem[];
  constructor(kind: "content" | "usage" | "unreachable", problems: readonly Problem[], options?: { cause?: unknown }) {
    super(problems.map((problem) => problem.message).join("\n"), options);
    this.kind = kind;
    this.problems = problems;
  }
}

/** The only error a driver throws. The message is the code; provider text stays in `cause` and is never logged or stored. */
export class DeliveryError extends Error {
  override readonly name = "DeliveryError";
  readonly code: FailureCode;
  /** Earliest useful retry, ms from now, when the provider said so. */
  readonly retryAfterMs: number | undefined;
  constructor(code: FailureCode, options?: { cause?: unknown; retryAfterMs?: number }) {
    super(code, options?.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryAfterMs = options?.retryAfterMs;
  }
}

/** Turns anything thrown into a DeliveryError. Unknown becomes INTERNAL here and nowhere else; aborts pass unchanged. */
export function toDeliveryError(error: unknown): DeliveryError {
  if (error instanceof DeliveryError) return error;
  if (isAbort(error)) throw error;
  return new DeliveryError("INTERNAL", { cause: error });
}

/** True for the error of an aborted signal. */
export function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}

/** What follows from a code: see failure-table.ts. */
export function failureOf(code: FailureCode): (typeof failureTable)[FailureCode] {
  return failureTable[code];
}
