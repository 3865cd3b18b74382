import { type FailureCode, failureTable } from "../core/failure-table.ts";

export interface RetryPolicy {
  /** Runs of one materialization before it ends as TRIES_EXHAUSTED; runs that only polled do not count. Default 8. */
  readonly maxTries: number;
  /** First delay after a failure; doubles per try. Ms. Default 1,000. */
  readonly baseDelayMs: number;
  /** Longest delay. Ms. Default 300,000. */
  readonly maxDelayMs: number;
  /** First delay between two reads; grows by half. Ms. Default 500. */
  readonly pollDelayMs: number;
  /** Longest delay between two reads. Ms. Default 15,000. */
  readonly maxPollDelayMs: number;
}

export const defaultRetryPolicy: RetryPolicy = {
  maxTries: 8,
  baseDelayMs: 1_000,
  maxDelayMs: 300_000,
  pollDelayMs: 500,
  maxPollDelayMs: 15_000,
};

/** What a run does after a failure. */
export type NextStep =
  | { readonly kind: "retry"; readonly delayMs: number }
  | { readonly kind: "fail"; readonly code: FailureCode; readonly reattempt: boolean };

export interface FailedRun {
  readonly code: FailureCode;
  /** Runs so far, this one included, without those that only polled. */
  readonly tries: number;
  /** What the destination asked for. Ms. */
  readonly retryAfterMs: number | undefined;
  /** 0 to 1; spreads retries that failed together. */
  readonly random: number;
}

/** Reads the failure table: retry with backoff until the tries are used up, a new attempt, or the end. Pure. */
export function nextStep(run: FailedRun, policy: RetryPolicy): NextStep {
  const { next } = failureTable[run.code];
  switch (next) {
    case "stop":
      return { kind: "fail", code: run.code, reattempt: false };
    case "reattempt":
      return { kind: "fail", code: run.code, reattempt: true };
    // A read that threw instead of answering "not yet" is an error like any other.
    case "poll":
    case "retry":
      if (run.tries >= policy.maxTries) return { kind: "fail", code: "TRIES_EXHAUSTED", reattempt: false };
      return { kind: "retry", delayMs: retryDelayMs(run, policy) };
  }
}

/** Half of the backoff is random, and what the destination asked for is the least, with up to a fifth on top. */
function retryDelayMs({ tries, retryAfterMs, random }: FailedRun, policy: RetryPolicy): number {
  const backoff = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** Math.max(0, tries - 1));
  const jittered = backoff / 2 + (backoff / 2) * random;
  const asked = retryAfterMs === undefined ? 0 : retryAfterMs * (1 + 0.2 * random);
  return Math.round(Math.max(jittered, asked));
}

/** Delay before the next read, by how many there were. Ms. Pure. */
export function pollDelayMs(probes: number, policy: RetryPolicy): number {
  return Math.round(Math.min(policy.maxPollDelayMs, policy.pollDelayMs * 1.5 ** Math.max(0, probes - 1)));
}
