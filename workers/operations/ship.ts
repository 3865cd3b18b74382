import { mkdir, rmdir } from "node:fs/promises";
import { dirname } from "node:path";
import { findMaterialization, listMaterializations } from "../../core/ledger/queries.ts";
import type { Materialization, Revision } from "../../core/model/records.ts";
import type { Attempt, CommitEvidence, DriverPlan } from "../../drivers/driver.ts";
import { judgeObservation } from "../judge-observation.ts";
import type { Feed } from "./check-config.ts";
import { type Delivered, type DeliverPorts, deliverRevision, ensureObligation } from "./deliver-revision.ts";
import { type RetainedReport, type RetainPorts, type RetainReportRequest, retainReport } from "./retain-report.ts";
import { type ShipTarget, shipDestination, shipFeed, targetFolder } from "./ship-feed.ts";

export interface ShipRequest extends Omit<RetainReportRequest, "supersedes"> {
  readonly target: ShipTarget;
  /** See DeliverRequest. */
  readonly patienceMs: number;
}

export interface Shipped extends Delivered {
  readonly report: RetainedReport;
  readonly feed: Feed;
  /** True when an earlier delivery of the same rows to the same place was read again, matched, and nothing was written. */
  readonly repeated: boolean;
}

/**
 * One shot: retains rows and delivers them to a folder, which is created. The same rows again re-use the revision, and a delivery of
 * them that still verifies; other rows of the same period restate it. When anything is wrong, nothing is published.
 */
export async function ship(ports: RetainPorts & DeliverPorts, request: ShipRequest): Promise<Shipped> {
  const destination = await shipDestination(request.target);
  const folder = targetFolder(request.target);
  // Before the rows, so that a folder that cannot be made is told before anything is published.
  const created = await mkdir(folder, { recursive: true });
  let report: RetainedReport;
  try {
    report = await retainReport(ports, { ...request, supersedes: "current" });
  } catch (error) {
    if (created !== undefined) await removeEmpty(folder, created);
    throw error;
  }
  const feed = shipFeed(report.revision, destination, request.finality);
  const earlier =
    report.outcome === "unchanged" ? await readyDelivery(ports, report.revision, feed, request) : undefined;
  if (earlier !== undefined) return { ...earlier, report, feed, repeated: true };
  const delivered = await deliverRevision(ports, { ...request, revision: report.revision, feed, selection: "current" });
  return { ...delivered, report, feed, repeated: false };
}

/** Removes folders that were made for a delivery that never came, from the innermost out. */
async function removeEmpty(folder: string, outermost: string): Promise<void> {
  for (let path = folder; path.length >= outermost.length; path = dirname(path)) {
    // One that is no longer empty belongs to somebody else by now.
    await rmdir(path).catch(() => undefined);
  }
}

/** The latest ready delivery of a revision to a feed, read again right now; undefined when there is none or it no longer matches. */
async function readyDelivery(
  ports: DeliverPorts,
  revision: Revision,
  feed: Feed,
  request: Pick<ShipRequest, "onProgress" | "signal">,
): Promise<Delivered | undefined> {
  const { db } = ports;
  const obligation = await ensureObligation(db, { revision, feed });
  const { items } = await listMaterializations(
    db,
    { accountId: revision.account_id },
    {
      obligationId: obligation.reporting_obligation_id,
      revisionId: revision.reporting_revision_id,
      order: "newest",
      limit: 1,
    },
  );
  const [materialization] = items;
  if (materialization === undefined || materialization.status === "pending" || materialization.status === "failed") {
    return undefined;
  }
  request.onProgress?.({ stage: "reading the earlier delivery again" });
  return (await stillMatches(ports, materialization, request.signal)) ? { obligation, materialization } : undefined;
}

async function stillMatches(ports: DeliverPorts, record: Materialization, signal: AbortSignal): Promise<boolean> {
  const work = await findMaterialization(ports.db, { operator: true }, record.reporting_materialization_id);
  if (work?.commit === undefined) return false;
  const driver = await ports.drivers.driverOf(work.destination);
  const attempt: Attempt = {
    key: `${record.reporting_materialization_id}.again`,
    signal,
    nowUs: () => ports.clock.nowUs(),
  };
  const { verification_profile: profile } = work.configuration;
  const seen = await driver.probe(work.plan as DriverPlan, work.commit as CommitEvidence, profile, attempt);
  if (seen.outcome === "not_yet") return false;
  const { revision, destination } = work;
  return judgeObservation(seen, { revision, profile, path: destination.verification_path }).match;
}
