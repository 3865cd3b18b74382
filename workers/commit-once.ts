import { DeliveryError, isAbort, toDeliveryError } from "../core/errors.ts";
import { checkAuthority } from "../core/ledger/authority.ts";
import type { Lease, MaterializationWork } from "../core/ledger/ledger-records.ts";
import { currentRevision } from "../core/ledger/queries.ts";
import { recordCommit, recordPhase } from "../core/ledger/transitions.ts";
import type { Database } from "../core/store/sql.ts";
import type { Attempt, CommitEvidence, Driver, DriverPlan } from "../drivers/driver.ts";
import type { ContentProvider } from "./delivery-content.ts";

/** What every step of one run works with. */
export interface DeliveryRun {
  readonly db: Database;
  readonly content: ContentProvider;
  readonly lease: Lease;
  readonly work: MaterializationWork;
  readonly driver: Driver;
  readonly plan: DriverPlan;
  readonly attempt: Attempt;
}

export interface Committed {
  readonly commit: CommitEvidence;
  readonly committedAtUs: bigint;
}

/** recorded ?? findCommit ?? commit(write(plan)), then tx 1. Whatever an earlier run did not live to record, this one finds or repeats. */
export async function commitOnce(run: DeliveryRun): Promise<Committed> {
  const { db, lease, work, driver, plan, attempt } = run;
  if (work.commit !== undefined && work.committedAtUs !== undefined) {
    return { commit: work.commit as CommitEvidence, committedAtUs: work.committedAtUs };
  }
  await checkAuthority(db, lease.materializationId);
  const commit = (await driver.findCommit(plan, attempt)) ?? (await writeAndCommit(run));
  const { committedAtUs } = await recordCommit(db, lease, commit);
  return { commit, committedAtUs };
}

async function writeAndCommit(run: DeliveryRun): Promise<CommitEvidence> {
  const { db, lease, work, content } = run;
  await refuseSuperseded(run);
  await recordPhase(db, lease, "writing");
  try {
    return await writeOnce(run);
  } catch (error) {
    const code = isAbort(error) ? undefined : toDeliveryError(error).code;
    // The work files may be what is damaged, not the retained revision: they are made again, after a plain error at the next try.
    if (code === "REVISION_UNREADABLE" || code === "INTERNAL") await content.forget(work.revision);
    if (code !== "REVISION_UNREADABLE") throw error;
    return await writeOnce(run);
  }
}

async function writeOnce({ db, lease, work, content, driver, plan, attempt }: DeliveryRun): Promise<CommitEvidence> {
  const held = await content.contentOf(work.revision, attempt.signal);
  try {
    const staged = await driver.write(plan, held, attempt);
    await checkAuthority(db, lease.materializationId);
    attempt.signal.throwIfAborted();
    return await driver.commit(plan, staged, attempt);
  } finally {
    await held.release();
  }
}

/** Saves writing what tx 2 would refuse; what decides is still checked there, under the lock. */
async function refuseSuperseded({ db, work }: DeliveryRun): Promise<void> {
  if (work.selection === "exact") return;
  const current = await currentRevision(db, { accountId: work.accountId }, work.revision);
  const id = current?.revision.reporting_revision_id;
  if (id !== work.record.reporting_revision_id) throw new DeliveryError("SUPERSEDED");
}
