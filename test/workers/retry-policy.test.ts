import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type FailureCode, failureTable } from "../../core/failure-table.ts";
import { afterNotYet } from "../../workers/probe-loop.ts";
import { nextStep, defaultRetryPolicy as policy, pollDelayMs } from "../../workers/retry-policy.ts";

const codes = Object.keys(failureTable) as readonly FailureCode[];
const failed = { code: "DESTINATION_UNREACHABLE", tries: 1, retryAfterMs: undefined, random: 0.5 } as const;
const delayOf = (changes: Partial<Parameters<typeof nextStep>[0]>): number => {
  const step = nextStep({ ...failed, ...changes }, policy);
  if (step.kind !== "retry") throw new Error("it was not retried");
  return step.delayMs;
};

describe("what follows from a failed run", () => {
  it.each(codes)("%s: what the failure table says", (code) => {
    const step = nextStep({ ...failed, code }, policy);
    const expected = {
      stop: { kind: "fail", code, reattempt: false },
      reattempt: { kind: "fail", code, reattempt: true },
      retry: { kind: "retry" },
      poll: { kind: "retry" },
    }[failureTable[code].next];
    expect(step).toMatchObject(expected);
  });

  it("the first delays double and the longest is bounded", () => {
    const delays = [1, 2, 3, 4, 5, 6, 7].map((tries) => delayOf({ tries, random: 1 }));
    expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000]);
    const patient = nextStep({ ...failed, tries: 40, random: 1 }, { ...policy, maxTries: 99 });
    expect(patient).toEqual({ kind: "retry", delayMs: policy.maxDelayMs });
  });

  it("half of a delay is random, so that runs that failed together do not come back together", () => {
    expect(delayOf({ tries: 3, random: 0 })).toBe(2_000);
    expect(delayOf({ tries: 3, random: 1 })).toBe(4_000);
  });

  it("never asks again before the destination said it may", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: policy.maxTries - 1 }),
        fc.integer({ min: 0, max: 3_600_000 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (tries, retryAfterMs, random) => {
          const delayMs = delayOf({ tries, retryAfterMs, random });
          return delayMs >= retryAfterMs && delayMs >= policy.baseDelayMs / 2 && Number.isInteger(delayMs);
        },
      ),
    );
  });

  it("the last try that fails ends it as TRIES_EXHAUSTED, which opens no new attempt", () => {
    const end = { kind: "fail", code: "TRIES_EXHAUSTED", reattempt: false };
    expect(nextStep({ ...failed, tries: policy.maxTries - 1 }, policy).kind).toBe("retry");
    expect(nextStep({ ...failed, tries: policy.maxTries }, policy)).toEqual(end);
  });

  it("a code that stops keeps its name, however many tries there were", () => {
    const step = nextStep({ ...failed, code: "CONTENT_CONFLICT", tries: 99 }, policy);
    expect(step).toEqual({ kind: "fail", code: "CONTENT_CONFLICT", reattempt: false });
  });
});

describe("the time between two reads", () => {
  it("grows by half and is bounded", () => {
    expect([1, 2, 3].map((probes) => pollDelayMs(probes, policy))).toEqual([500, 750, 1_125]);
    expect(pollDelayMs(100, policy)).toBe(policy.maxPollDelayMs);
  });

  it("the last read comes just when the window ends", () => {
    const step = afterNotYet({ code: "NOT_YET_VISIBLE", probes: 5, leftMs: 20 }, policy);
    expect(step).toEqual({ kind: "later", delayMs: 20, code: "NOT_YET_VISIBLE", probes: 5 });
  });

  it.each([0, -1])("a read that began %i ms before the end of the window was the last", (leftMs) => {
    const step = afterNotYet({ code: "NOT_YET_VISIBLE", probes: 5, leftMs }, policy);
    expect(step).toEqual({ kind: "failed", failure: { code: "VISIBILITY_TIMEOUT", detail: { probes: 5 } } });
  });

  it("a reader that was refused to the end is told as refused, not as late", () => {
    const step = afterNotYet({ code: "READER_FORBIDDEN", probes: 1, leftMs: 0 }, policy);
    expect(step).toMatchObject({ kind: "failed", failure: { code: "READER_FORBIDDEN" } });
  });
});
