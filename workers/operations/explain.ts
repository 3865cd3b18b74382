import { WaybillError } from "../../core/errors.ts";
import { type FailureCode, failureTable } from "../../core/failure-table.ts";
import type { JsonObject } from "../../core/json.ts";
import type { JournalEntry, MaterializationWork, Scope } from "../../core/ledger/ledger-records.ts";
import {
  currentRevision,
  findMaterialization,
  findRevision,
  journalOf,
  listMaterializations,
  obligationProjection,
} from "../../core/ledger/queries.ts";
import { usToInstant } from "../../core/model/instant.ts";
import type { Materialization, Obligation } from "../../core/model/records.ts";
import type { Sql } from "../../core/store/sql.ts";
import { sentenceOf } from "./journal-sentence.ts";

/** What happened, in order, and what happens or must happen next. */
export interface Explanation {
  readonly kind: "obligation" | "revision" | "materialization";
  readonly id: string;
  readonly account_id: string;
  /** How things stand, in one sentence. */
  readonly summary: string;
  readonly story: readonly StoryLine[];
  /** True when older lines were left out. */
  readonly abridged: boolean;
  /** The latest failure that still stands in the way. */
  readonly failure: ExplainedFailure | null;
  /** When a worker goes on by itself. */
  readonly next_run_at: string | null;
  /** Who has to act; null when nobody has to. */
  readonly responsible_party: "buyer" | "seller" | "provider" | null;
  /** What to do, as a command or a sentence; null when nothing is to be done. */
  readonly advice: string | null;
}

export interface StoryLine {
  readonly at: string;
  readonly subject_id: string;
  readonly event: string;
  readonly text: string;
  readonly detail: JsonObject;
}

export interface ExplainedFailure {
  readonly code: FailureCode;
  readonly next: string;
  readonly responsible_party: string;
  readonly recommended_action: string;
  readonly meaning: string;
}

/** Subjects and lines per subject that one story holds at most. */
const maxSubjects = 50;
const maxLines = 200;

/** The causal story of one record. WaybillError `usage` (NOT_FOUND) when no record in this scope has the id. */
export async function explain(db: Sql, scope: Scope, id: string): Promise<Explanation> {
  const found =
    (await explainMaterialization(db, scope, id)) ??
    (await explainRevision(db, scope, id)) ??
    (await explainObligation(db, scope, id));
  if (found !== undefined) return found;
  const message = `no obligation, revision or materialization has the id ${id}; "waybill ls materializations" lists some`;
  throw new WaybillError("usage", [{ code: "NOT_FOUND", message, field: "id" }]);
}

async function explainMaterialization(db: Sql, scope: Scope, id: string): Promise<Explanation | undefined> {
  const work = await findMaterialization(db, scope, id);
  if (work === undefined) return undefined;
  const { reporting_obligation_id, reporting_revision_id } = work.record;
  const story = await storyOf(db, scope, [reporting_revision_id, reporting_obligation_id, id]);
  return { kind: "materialization", id, account_id: work.accountId, ...story, ...standing(work) };
}

async function explainRevision(db: Sql, scope: Scope, id: string): Promise<Explanation | undefined> {
  const entry = await findRevision(db, scope, id);
  if (entry === undefined) return undefined;
  const { revision, current } = entry;
  const attempts = await allAttempts(db, scope, { revisionId: id });
  const story = await storyOf(db, scope, [id, ...idsOf(attempts)]);
  const ready = attempts.filter(isReady).length;
  const place = current ? "the current one of its period" : "superseded, and still readable";
  const rows = `${revision.row_count.toLocaleString("en-US")} rows`;
  const summary = `A ${revision.finality} of ${rows}, ${place}; ${ready} of ${attempts.length} deliveries of it are ready.`;
  const open = await openWork(db, scope, attempts);
  const rest = open === undefined ? nothingToDo : standing(open);
  return { kind: "revision", id, account_id: revision.account_id, ...story, ...rest, summary };
}

async function explainObligation(db: Sql, scope: Scope, id: string): Promise<Explanation | undefined> {
  const obligation = await obligationProjection(db, scope, id);
  if (obligation === undefined) return undefined;
  const current = await currentRevision(db, scope, obligation);
  const attempts = await allAttempts(db, scope, { obligationId: id });
  const revisions = [...new Set(attempts.map((attempt) => attempt.reporting_revision_id))];
  if (current !== undefined) revisions.push(current.revision.reporting_revision_id);
  const story = await storyOf(db, scope, [id, ...new Set(revisions), ...idsOf(attempts)]);
  const ofCurrent = attempts.filter(
    (attempt) => attempt.reporting_revision_id === current?.revision.reporting_revision_id,
  );
  const open = await openWork(db, scope, ofCurrent);
  const rest = open === undefined ? nothingToDo : standing(open);
  return { kind: "obligation", id, account_id: obligation.account_id, ...story, ...rest, ...judged(obligation, rest) };
}

type Standing = Pick<Explanation, "summary" | "failure" | "next_run_at" | "responsible_party" | "advice">;

const nothingToDo: Standing = {
  summary: "",
  failure: null,
  next_run_at: null,
  responsible_party: null,
  advice: null,
};

/** How one attempt stands. */
function standing(work: MaterializationWork): Standing {
  const { record, phase } = work;
  if (record.status === "pending") {
    const summary = `Attempt ${record.attempt} is under way (${phase}), after ${work.tries} runs and ${work.probes} reads.`;
    const advice = `it goes on by itself while a worker runs; "waybill redrive ${record.reporting_obligation_id}" goes on now`;
    return { ...nothingToDo, summary, next_run_at: usToInstant(work.nextRunAtUs), advice };
  }
  if (record.status !== "failed") {
    const where = record.resource?.location ?? "its destination";
    const path = record.verification?.verification_path.replace("_", " ") ?? "consumer";
    const summary = `Ready since ${record.ready_at}: read back as ${path} at ${where}, readable until ${record.resource?.expires_at}.`;
    return { ...nothingToDo, summary };
  }
  const failure = explainFailure(record.failure_code ?? "INTERNAL");
  const summary = `Attempt ${record.attempt} failed with ${failure.code}: ${failure.meaning}`;
  const advice = `${actions[failure.recommended_action] ?? "look at the story"}; then: waybill redrive ${record.reporting_obligation_id}`;
  return { ...nothingToDo, summary, failure, responsible_party: failureTable[failure.code].party, advice };
}

const actions: { readonly [action: string]: string } = {
  wait_for_retry: "nothing is broken for good",
  contact_buyer: "ask the buyer to make room or answer for the destination",
  contact_seller: "this is the seller's own to look into",
  contact_provider: "ask the provider of the destination",
  repair_access: "grant the access that is missing",
  update_configuration: "correct the configuration and raise its version",
  change_reporting_scope: "change what the report covers",
  use_supported_reader: "choose a format that the buyer's reader supports",
};

function explainFailure(code: string): ExplainedFailure {
  const known: FailureCode = code in failureTable ? (code as FailureCode) : "INTERNAL";
  const { next, party, action, meaning } = failureTable[known];
  return { code: known, next, responsible_party: party, recommended_action: action, meaning };
}

/** The obligation's own health decides; the attempt only says why. */
function judged(obligation: Obligation, { summary }: Standing): Partial<Standing> {
  const states: Record<Obligation["health"], string> = {
    complete: "Complete: the current revision is delivered and verified.",
    healthy: "Healthy: the current revision is delivered and verified.",
    waiting: `Waiting: the report is due at ${obligation.expected_at}.`,
    delayed: `Delayed: the report was due at ${obligation.expected_at}.`,
    action_required: `Action required: the report was due at ${obligation.expected_at}.`,
  };
  const state = states[obligation.health];
  if (obligation.production_status !== "published") {
    const advice = "retain the rows of this period: waybill retain ROWS --definition DEF ...";
    return { summary: `${state} No rows of this period were retained yet.`, responsible_party: "seller", advice };
  }
  if (obligation.health !== "complete" && obligation.health !== "healthy") {
    return { summary: summary === "" ? state : `${state} ${summary}` };
  }
  return { ...nothingToDo, summary: state };
}

function isReady({ status }: Materialization): boolean {
  return status === "available" || status === "delivered";
}

function idsOf(attempts: readonly Materialization[]): readonly string[] {
  return attempts.map((attempt) => attempt.reporting_materialization_id);
}

/** The latest attempt when it is not ready. */
async function openWork(
  db: Sql,
  scope: Scope,
  attempts: readonly Materialization[],
): Promise<MaterializationWork | undefined> {
  const last = attempts.at(-1);
  if (last === undefined || isReady(last)) return undefined;
  return await findMaterialization(db, scope, last.reporting_materialization_id);
}

/** The latest attempts, oldest first. */
async function allAttempts(
  db: Sql,
  scope: Scope,
  filter: { readonly obligationId?: string; readonly revisionId?: string },
): Promise<readonly Materialization[]> {
  const page = await listMaterializations(db, scope, { ...filter, order: "newest", limit: maxSubjects });
  return page.items.toReversed();
}

async function storyOf(
  db: Sql,
  scope: Scope,
  subjects: readonly string[],
): Promise<Pick<Explanation, "story" | "abridged">> {
  const entries: JournalEntry[] = [];
  let abridged = subjects.length > maxSubjects;
  for (const subject of subjects.slice(-maxSubjects)) {
    const page = await journalOf(db, scope, subject, { order: "newest", limit: maxLines });
    abridged ||= page.after !== undefined;
    entries.push(...page.items);
  }
  const sorted = entries.toSorted((left, right) => (left.seq < right.seq ? -1 : 1));
  return { story: sorted.map(lineOf), abridged };
}

function lineOf(entry: JournalEntry): StoryLine {
  return {
    at: usToInstant(entry.atUs),
    subject_id: entry.subjectId,
    event: entry.event,
    text: sentenceOf(entry),
    detail: entry.detail,
  };
}
