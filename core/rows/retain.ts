import { createReadStream } from "node:fs";
import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { ByteSource } from "../bytes.ts";
import { nodeHasher } from "../digest/node-hasher.ts";
import type { DecodedRecord } from "../encoding/encoding.ts";
import { type Problem, WaybillError } from "../errors.ts";
import { idSet } from "../model/id.ts";
import type { ControlTotal } from "../model/records.ts";
import { chainProblem } from "../model/revision-chain.ts";
import { totalDifferences } from "../model/totals.ts";
import { createRowIntake, type IntakeResult } from "./acquired-rows.ts";
import { openEngine } from "./duckdb.ts";
import type { DefinitionDocuments, RetainedPart, RetainedRevision, RetainedStore } from "./retained.ts";
import { buildRevision, checkMeta, type RevisionMeta } from "./revision-meta.ts";
import { createRowSorter } from "./row-sorter.ts";
import { digestSortedRows } from "./sorted-digest.ts";
import { makeSpoolFolder } from "./spool-folder.ts";
import { documentProblems } from "./trust-documents.ts";

export interface RetainRequest {
  readonly rows: AsyncIterable<readonly DecodedRecord[]>;
  readonly documents: DefinitionDocuments;
  readonly meta: RevisionMeta;
  /** Work files lie in a fresh folder below it, which is removed in any case. */
  readonly spoolDirectory: string;
  readonly store: RetainedStore;
  /** See core/model/id.ts. */
  readonly newId: (prefix: string) => string;
  readonly nowUs: () => bigint;
  /** Default 1,000,000. */
  readonly rowsPerPart?: number;
  readonly onProgress?: (progress: RetainProgress) => void;
  readonly signal?: AbortSignal;
}

export interface RetainProgress {
  readonly step: "read" | "sort" | "write" | "check" | "store";
  /** Rows that this step is done with; for sort and write those that it works on. */
  readonly rows: number;
}

export interface RetainResult {
  readonly retained: RetainedRevision;
  /** Rows taken from the source. A later delivery of this revision takes none. */
  readonly rowsAcquired: number;
}

/**
 * Turns rows of a source into an immutable retained revision: every row checked, sorted into canonical order, stored in lossless
 * columns, read back and compared, totalled and digested. WaybillError `usage` for the meta, `content` for rows (the first 100
 * problems with row and member, the rest counted); nothing reaches the store in either case.
 */
export async function retainRows(request: RetainRequest): Promise<RetainResult> {
  const { documents, meta, store, signal } = request;
  const untrusted = documentProblems(documents, () => nodeHasher("sha256"));
  if (untrusted.length > 0) throw new WaybillError("content", untrusted);
  checkMeta(meta, documents, request.nowUs());
  const directory = await makeSpoolFolder(request.spoolDirectory, "retain-");
  try {
    const prepared = await prepare(request, directory);
    signal?.throwIfAborted();
    request.onProgress?.({ step: "store", rows: prepared.retained.revision.row_count });
    await store.put(prepared.retained, documents, prepared.parts);
    return { retained: prepared.retained, rowsAcquired: prepared.rowsAcquired };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

interface Prepared extends RetainResult {
  readonly parts: ReadonlyMap<string, ByteSource>;
}

async function prepare(request: RetainRequest, directory: string): Promise<Prepared> {
  const { documents, meta, signal, onProgress } = request;
  const { profile } = documents;
  const engine = await openEngine({ directory: join(directory, "engine"), database: "disk" });
  try {
    const sorter = await createRowSorter(engine, profile);
    const intake = createRowIntake(profile, meta.mediaBuyIds === "from-rows" ? "from-rows" : idSet(meta.mediaBuyIds));
    for await (const records of request.rows) {
      signal?.throwIfAborted();
      sorter.append(intake.take(records));
      onProgress?.({ step: "read", rows: intake.rowsAcquired });
    }
    const sums = intake.finish();
    const rowCount = intake.rowsAcquired;
    checkDeclared(meta, rowCount, sums.controlTotals);
    await checkChain(request, sums);
    onProgress?.({ step: "sort", rows: rowCount });
    await sorter.sort(signal);
    onProgress?.({ step: "write", rows: rowCount });
    const written = await sorter.writeParts(partName, request.rowsPerPart ?? 1_000_000, signal);
    const revisionId = request.newId("rev");
    const digests = await digestSortedRows({
      engine,
      parts: written,
      origins: sorter.origins(signal),
      profile,
      revisionId,
      controlTotals: sums.controlTotals,
      signal,
      onRows: (rows) => onProgress?.({ step: "check", rows }),
    });
    const { mediaBuyIds, controlTotals, mediaBuyTotals } = sums;
    const content = { revisionId, mediaBuyIds, rowCount, controlTotals, ...digests };
    const parts: RetainedPart[] = [];
    const sources = new Map<string, ByteSource>();
    for (const { name, rowCount } of written) {
      const source = await fileSource(join(directory, "engine", name));
      sources.set(name, source);
      parts.push({ name, sizeBytes: source.sizeBytes, sha256: source.sha256, rowCount });
    }
    const revision = buildRevision(meta, documents, content, request.nowUs());
    return { retained: { revision, parts, mediaBuyTotals }, rowsAcquired: rowCount, parts: sources };
  } finally {
    await engine.close();
  }
}

function partName(index: number): string {
  return `rows-${String(index).padStart(5, "0")}.parquet`;
}

function checkDeclared(meta: RevisionMeta, rowCount: number, totals: readonly ControlTotal[]): void {
  const problems: Problem[] = [];
  const { declaredRowCount, declaredTotals } = meta;
  if (declaredRowCount !== undefined && declaredRowCount !== rowCount) {
    const message = `${declaredRowCount} rows are declared, the rows are ${rowCount}`;
    problems.push({ code: "DECLARED_ROW_COUNT", message, field: "row_count" });
  }
  for (const { name, aspect, expected, actual } of declaredTotals ? totalDifferences(declaredTotals, totals) : []) {
    const message = `control total ${name}: ${aspect} ${expected ?? "none"} is declared, the rows give ${actual ?? "none"}`;
    problems.push({ code: "DECLARED_TOTAL", message, field: `control_totals.${name}` });
  }
  if (problems.length > 0) throw new WaybillError("content", problems);
}

/** An early word on what the ledger will decide anyway, before the rows are sorted. */
async function checkChain({ meta, documents, store }: RetainRequest, { mediaBuyIds }: IntakeResult): Promise<void> {
  if (meta.supersedes === undefined) return;
  const previous = await store.describe(meta.supersedes);
  if (previous === undefined) return;
  const problem = chainProblem(
    {
      reporting_revision_id: "",
      report_definition_id: documents.reportDefinitionId,
      account_id: meta.accountId,
      media_buy_ids: mediaBuyIds,
      period: meta.period,
      reporting_profile: documents.reportingProfile,
      finality: meta.finality,
      supersedes_reporting_revision_id: meta.supersedes,
    },
    [previous.retained.revision].map(({ supersedes_reporting_revision_id: _, ...head }) => head),
  );
  if (problem !== undefined) throw new WaybillError("usage", [problem]);
}

async function fileSource(path: string): Promise<ByteSource> {
  const hasher = nodeHasher("sha256");
  for await (const chunk of createReadStream(path)) hasher.update(chunk);
  const { size } = await stat(path);
  return { sizeBytes: size, sha256: hasher.hex(), open: () => createReadStream(path) };
}
