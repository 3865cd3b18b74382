import { type Problem, WaybillError } from "../../core/errors.ts";
import { currentRevision, listRevisions, type RevisionEntry } from "../../core/ledger/queries.ts";
import { idSet } from "../../core/model/id.ts";
import { samePeriod } from "../../core/model/period.ts";
import type { Period } from "../../core/model/records.ts";
import type { Slice } from "../../core/model/revision-chain.ts";
import type { DefinitionDocuments } from "../../core/rows/retained.ts";
import type { Sql } from "../../core/store/sql.ts";
import { periodOfDays } from "./report-period.ts";
import type { RowScan } from "./scan-rows.ts";

/** What a report is about, and where that was taken from. */
export interface ReportScope {
  readonly slice: Slice;
  /** The revision that a restatement would supersede. */
  readonly current: RevisionEntry | undefined;
  /** What nobody said and was decided here, for people to read. */
  readonly assumed: readonly string[];
}

export interface ScopeRequest {
  readonly db: Sql;
  readonly documents: DefinitionDocuments;
  readonly accountId: string;
  /** Default: the buys that have rows, or those of the one revision the same period already has. */
  readonly mediaBuyIds: readonly string[] | undefined;
  /** Default: the days that have rows. */
  readonly period: Period | undefined;
  readonly timezone: string;
  /** Called only when something must be taken from the rows. */
  readonly scan: () => Promise<RowScan>;
}

/** Decides account, period and media buys. WaybillError `usage` naming every flag that has to be given, `content` when rows cannot be read. */
export async function reportScope(request: ScopeRequest): Promise<ReportScope> {
  const { documents, accountId, db } = request;
  const needsScan = request.period === undefined || request.mediaBuyIds === undefined;
  const scan = needsScan ? await request.scan() : undefined;
  const problems: Problem[] = [];
  if (request.period === undefined && scan?.days === undefined) problems.push(periodRequired);
  if (request.mediaBuyIds === undefined && (scan?.mediaBuyIds === undefined || scan.rowCount === 0)) {
    problems.push(buysRequired);
  }
  if (problems.length > 0) {
    // Rows that cannot be read are the reason why they say nothing.
    if (scan !== undefined && scan.problems.length > 0) throw new WaybillError("content", scan.problems);
    throw new WaybillError("usage", problems);
  }

  const assumed: string[] = [];
  const [first, last] = scan?.days ?? ["", ""];
  const period = request.period ?? periodOfDays(first, last, request.timezone);
  if (request.period === undefined) {
    const days = first === last ? first : `${first} to ${last}`;
    assumed.push(`period: ${days} (${request.timezone}), the days that have rows`);
  }
  const about = {
    report_definition_id: documents.reportDefinitionId,
    reporting_profile: documents.reportingProfile,
    account_id: accountId,
    period,
  };
  const given = request.mediaBuyIds ?? scan?.mediaBuyIds ?? [];
  const slice: Slice = { ...about, media_buy_ids: idSet(given) };
  const current = await currentRevision(db, { accountId }, slice);
  if (request.mediaBuyIds !== undefined) return { slice, current, assumed };
  if (current === undefined) {
    const known = await revisionsOfPeriod(db, about);
    const wider = known.find(({ revision }) => given.every((id) => revision.media_buy_ids.includes(id)));
    const [other] = known;
    if (wider !== undefined) {
      assumed.push(
        `media buys: the ${wider.revision.media_buy_ids.length} of this period's revision ${wider.revision.reporting_revision_id}`,
      );
      return { slice: { ...about, media_buy_ids: wider.revision.media_buy_ids }, current: wider, assumed };
    }
    if (other !== undefined) throw new WaybillError("usage", [otherBuys(given, other)]);
  }
  assumed.push(`media buys: the ${given.length} that have rows`);
  return { slice, current, assumed };
}

const periodRequired: Problem = {
  code: "PERIOD_REQUIRED",
  field: "--period-start",
  message:
    "--period-start and --period-end are needed: no row has a day in a date member that is the report's own; days and instants are fine",
};

const buysRequired: Problem = {
  code: "MEDIA_BUYS_REQUIRED",
  field: "--media-buys",
  message:
    "--media-buys is needed: the rows do not say which buys the report is about; --media-buys none means it is about none",
};

function otherBuys(given: readonly string[], { revision }: RevisionEntry): Problem {
  const added = given.filter((id) => !revision.media_buy_ids.includes(id));
  const shown = added.slice(0, 5).join(", ");
  const message = `the rows have media buys (${shown}) that revision ${revision.reporting_revision_id} of this period is not about, so they cannot restate it; leave them out, or name all buys with --media-buys to make a separate report`;
  return { code: "OTHER_MEDIA_BUYS", field: "--media-buys", message };
}

/** Current revisions of a period, whatever media buys they are about; newest first. */
async function revisionsOfPeriod(db: Sql, about: Omit<Slice, "media_buy_ids">): Promise<readonly RevisionEntry[]> {
  const found: RevisionEntry[] = [];
  let after: string | undefined;
  do {
    const request = { order: "newest" as const, limit: 1000, ...(after === undefined ? {} : { after }) };
    const page = await listRevisions(db, { accountId: about.account_id }, request);
    found.push(
      ...page.items.filter(
        ({ revision, current }) =>
          current &&
          revision.report_definition_id === about.report_definition_id &&
          revision.reporting_profile === about.reporting_profile &&
          samePeriod(revision.period, about.period),
      ),
    );
    after = page.after;
  } while (after !== undefined);
  return found;
}
