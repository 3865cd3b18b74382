import { canonicalJson } from "../../core/canonical-json.ts";
import { WaybillError } from "../../core/errors.ts";
import type { RevisionEntry } from "../../core/ledger/queries.ts";
import { definitionDocuments } from "../../core/ledger/queries.ts";
import { installDefinition, publishRevision } from "../../core/ledger/transitions.ts";
import { newId } from "../../core/model/id.ts";
import { instantToUs } from "../../core/model/instant.ts";
import type { ControlTotal, Period, Revision } from "../../core/model/records.ts";
import { chainProblem } from "../../core/model/revision-chain.ts";
import { openRows, type RowSource } from "../../core/rows/readers/open-rows.ts";
import { type RetainProgress, retainRows } from "../../core/rows/retain.ts";
import type { DefinitionDocuments, RetainedStore } from "../../core/rows/retained.ts";
import type { RevisionMeta } from "../../core/rows/revision-meta.ts";
import type { Database } from "../../core/store/sql.ts";
import type { ProgressListener } from "./progress.ts";
import { reportScope } from "./report-scope.ts";
import { scanRows } from "./scan-rows.ts";

/** What retention needs of the composition root. */
export interface RetainPorts {
  readonly db: Database;
  readonly retained: RetainedStore;
  readonly workDirectory: string;
  readonly clock: { nowUs(): bigint };
}

export interface RetainReportRequest {
  /** A file, which may be read twice: once for what nobody said about the report, once to retain it. */
  readonly rows: RowSource & { readonly path: string };
  readonly documents: DefinitionDocuments;
  readonly accountId: string;
  /** Default: see reportScope. */
  readonly mediaBuyIds?: readonly string[] | undefined;
  readonly period?: Period | undefined;
  /** IANA name; the clock of days. */
  readonly timezone: string;
  readonly finality: Revision["finality"];
  readonly finalityPolicyId?: string | undefined;
  readonly finalizedAt?: string | undefined;
  readonly observedAt?: string | undefined;
  readonly dataThrough?: string | undefined;
  /** What the pipeline counted and summed; the rows are refused when they differ. */
  readonly declaredRowCount?: number | undefined;
  readonly declaredTotals?: readonly ControlTotal[] | undefined;
  /** The snapshot to restate: its id, or `current` for whichever the period has. Default: none may be there, unless its content is the same. */
  readonly supersedes?: string | undefined;
  readonly onProgress?: ProgressListener | undefined;
  readonly signal: AbortSignal;
}

export interface RetainedReport {
  readonly revision: Revision;
  /** unchanged: the period's current revision has exactly these rows, and nothing was written. */
  readonly outcome: "published" | "restated" | "unchanged";
  readonly rowsAcquired: number;
  readonly assumed: readonly string[];
}

/**
 * Turns rows into the retained, published revision of their slice. Nothing is written unless everything is right: WaybillError `content`
 * for rows, `usage` for what was said about them. An official revision is never superseded.
 */
export async function retainReport(ports: RetainPorts, request: RetainReportRequest): Promise<RetainedReport> {
  const { db } = ports;
  const { documents, accountId, signal, onProgress } = request;
  await refuseOtherDefinition(db, documents);
  const open = () =>
    openRows(request.rows, { profile: documents.profile, spoolDirectory: ports.workDirectory, signal });
  const { slice, current, assumed } = await reportScope({
    db,
    documents,
    accountId,
    mediaBuyIds: request.mediaBuyIds,
    period: request.period,
    timezone: request.timezone,
    scan: () => scanRows(open(), documents.profile, onProgress),
  });
  refuseOpenPeriod(slice.period, ports.clock.nowUs());

  let unchanged = false;
  const { retained, rowsAcquired } = await retainRows({
    rows: open(),
    documents,
    meta: metaOf(request, slice, current),
    spoolDirectory: ports.workDirectory,
    store: {
      ...ports.retained,
      put: async (candidate, ...rest) => {
        unchanged = current !== undefined && hasSameContent(candidate.revision, current.revision, request.finality);
        if (unchanged) return;
        refuseChain(candidate.revision, current);
        await ports.retained.put(candidate, ...rest);
      },
    },
    newId,
    nowUs: () => ports.clock.nowUs(),
    onProgress: (progress) => onProgress?.({ stage: stages[progress.step], done: progress.rows, unit: "rows" }),
    signal,
  });
  if (unchanged && current !== undefined)
    return { revision: current.revision, outcome: "unchanged", rowsAcquired, assumed };
  const { revision, parts } = retained;
  await installDefinition(db, documents);
  await publishRevision(db, { revision, retained: { parts, rowsAcquired } });
  return { revision, outcome: current === undefined ? "published" : "restated", rowsAcquired, assumed };
}

const stages: { readonly [step in RetainProgress["step"]]: string } = {
  read: "reading rows",
  sort: "sorting rows",
  write: "writing columns",
  check: "comparing columns with rows",
  store: "storing the revision",
};

function metaOf(
  request: RetainReportRequest,
  slice: { readonly media_buy_ids: readonly string[]; readonly period: Period },
  current: RevisionEntry | undefined,
): RevisionMeta {
  const { finalityPolicyId, finalizedAt, observedAt, dataThrough, declaredRowCount, declaredTotals } = request;
  const supersedes = request.supersedes === "current" ? supersedable(current) : request.supersedes;
  return {
    accountId: request.accountId,
    mediaBuyIds: slice.media_buy_ids,
    period: slice.period,
    finality: request.finality,
    ...(finalityPolicyId === undefined ? {} : { finalityPolicyId }),
    ...(finalizedAt === undefined ? {} : { finalizedAt }),
    ...(observedAt === undefined ? {} : { observedAt }),
    ...(dataThrough === undefined ? {} : { dataThrough: { instant: dataThrough, precision: "lower_bound" } }),
    ...(supersedes === undefined ? {} : { supersedes }),
    ...(declaredRowCount === undefined ? {} : { declaredRowCount }),
    ...(declaredTotals === undefined ? {} : { declaredTotals }),
  };
}

function supersedable(current: RevisionEntry | undefined): string | undefined {
  return current?.revision.finality === "snapshot" ? current.revision.reporting_revision_id : undefined;
}

/** The ledger's own rule, asked before anything is stored. */
function refuseChain(candidate: Revision, current: RevisionEntry | undefined): void {
  if (current === undefined) {
    const problem = chainProblem(candidate, []);
    if (problem !== undefined) throw new WaybillError("usage", [problem]);
    return;
  }
  // The head alone is the chain's end; what it supersedes itself is not asked for here.
  const { supersedes_reporting_revision_id: _, ...head } = current.revision;
  const problem = chainProblem(candidate, [head]);
  if (problem !== undefined) throw new WaybillError("usage", [problem]);
}

/** Equal rows under equal documents. An official revision also stands for a snapshot of the same rows. */
function hasSameContent(candidate: Revision, current: Revision, finality: Revision["finality"]): boolean {
  const content = (revision: Revision): string =>
    canonicalJson([
      revision.canonical_content_digest?.value ?? null,
      revision.canonical_content_digest?.canonicalization_sha256 ?? null,
      revision.report_definition_sha256,
      revision.schema_sha256,
      revision.row_count,
      revision.control_totals,
    ]);
  const finalEnough = current.finality === finality || current.finality === "official";
  return finalEnough && content(candidate) === content(current);
}

/** The definition is pinned with its first revision; another one under the same name is told before rows are read. */
async function refuseOtherDefinition(db: Database, documents: DefinitionDocuments): Promise<void> {
  const { reportDefinitionId, reportingProfile } = documents;
  const pinned = await definitionDocuments(db, reportDefinitionId, reportingProfile);
  if (pinned === undefined) return;
  const hashes = ({ reportDefinition, rowSchema, canonicalization }: DefinitionDocuments): string =>
    [reportDefinition, rowSchema, canonicalization].map(({ sha256, uri }) => `${sha256} ${uri}`).join();
  if (hashes(pinned) === hashes(documents)) return;
  const message = `definition ${reportDefinitionId} was used with other content under the profile ${reportingProfile}; give the changed definition a new reporting_profile`;
  throw new WaybillError("usage", [{ code: "DEFINITION_IMMUTABLE", field: "reporting_profile", message }]);
}

function refuseOpenPeriod(period: Period, nowUs: bigint): void {
  if (instantToUs(period.end) <= nowUs) return;
  const message = `the period ends at ${period.end}, which has not passed yet; a report is owed once its period is over`;
  throw new WaybillError("usage", [{ code: "PERIOD_OPEN", field: "--period-end", message }]);
}
