import { checkAuthority } from "../core/ledger/authority.ts";
import type { FailureOutcome, ReadyOutcome } from "../core/ledger/ledger-records.ts";
import { ledgerNow } from "../core/ledger/queries.ts";
import { recordProbe } from "../core/ledger/transitions.ts";
import type { Observation } from "../drivers/driver.ts";
import type { Finding } from "../manifests/finding.ts";
import type { Committed, DeliveryRun } from "./commit-once.ts";
import { judgeObservation } from "./judge-observation.ts";
import { pollDelayMs, type RetryPolicy } from "./retry-policy.ts";

/** What one read led to. `later` holds no worker slot: the ledger knows when the next read is due. */
export type ProbeStep =
  | { readonly kind: "match"; readonly verification: ReadyOutcome["verification"] }
  | { readonly kind: "later"; readonly delayMs: number; readonly code: NotYetCode; readonly probes: number }
  | { readonly kind: "failed"; readonly failure: FailureOutcome };

type NotYetCode = Extract<Observation, { outcome: "not_yet" }>["code"];

/** Findings that go into the journal; the rest is counted. */
const maxFindings = 20;

/**
 * One read of a commit over the verification path, judged and journaled. The loop is the ledger's: each read is a run of its own, until
 * one matches or the window, counted from the commit, ends.
 */
export async function probeOnce(
  run: DeliveryRun,
  { commit, committedAtUs }: Committed,
  policy: RetryPolicy,
): Promise<ProbeStep> {
  const { db, lease, work, driver, plan, attempt } = run;
  await checkAuthority(db, lease.materializationId);
  const startedAtUs = await ledgerNow(db);
  const profile = work.configuration.verification_profile;
  const seen = await driver.probe(plan, commit, profile, attempt);
  attempt.signal.throwIfAborted();
  if (seen.outcome === "not_yet") {
    const { probes } = await recordProbe(db, lease, { outcome: "not_yet", code: seen.code });
    const windowEndUs = committedAtUs + BigInt(driver.traits.visibilityWindowMs) * 1000n;
    return afterNotYet({ code: seen.code, probes, leftMs: Number((windowEndUs - startedAtUs) / 1000n) }, policy);
  }
  const path = work.destination.verification_path;
  const judgement = judgeObservation(seen, { revision: work.revision, profile, path });
  const outcome = judgement.match ? "match" : "mismatch";
  await recordProbe(db, lease, { outcome, row_count: seen.rowCount });
  if (judgement.match) return { kind: "match", verification: judgement.verification };
  const detail = {
    finding_count: judgement.findings.length,
    findings: judgement.findings.slice(0, maxFindings).map(withoutMessage),
  };
  return { kind: "failed", failure: { code: "VERIFICATION_MISMATCH", detail } };
}

export interface NotYet {
  readonly code: NotYetCode;
  /** Reads so far, this one included. */
  readonly probes: number;
  /** What was left of the visibility window when the read began. Ms. */
  readonly leftMs: number;
}

/** The next read, the last one just when the window ends; or the end, when this read began after it. Pure. */
export function afterNotYet({ code, probes, leftMs }: NotYet, policy: RetryPolicy): ProbeStep {
  if (leftMs > 0) return { kind: "later", delayMs: Math.min(pollDelayMs(probes, policy), leftMs), code, probes };
  // What stood in the way to the end says more than that time ran out.
  const final = code === "READER_FORBIDDEN" ? code : "VISIBILITY_TIMEOUT";
  return { kind: "failed", failure: { code: final, detail: { probes } } };
}

function withoutMessage({ code, object_ref, row, key, column, expected, actual }: Finding) {
  return { code, object_ref, row, key, column, expected, actual };
}
