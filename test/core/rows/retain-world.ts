import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { DecodedRecord } from "../../../core/encoding/encoding.ts";
import { WaybillError } from "../../../core/errors.ts";
import { newId } from "../../../core/model/id.ts";
import { instantToUs } from "../../../core/model/instant.ts";
import { parseDefinition } from "../../../core/rows/definition.ts";
import { buildDocuments } from "../../../core/rows/documents.ts";
import { createFolderRetainedStore } from "../../../core/rows/folder-retained-store.ts";
import type { LogicalRow } from "../../../core/rows/profile.ts";
import { type RetainRequest, type RetainResult, retainRows } from "../../../core/rows/retain.ts";
import type { DefinitionDocuments, RetainedStore } from "../../../core/rows/retained.ts";
import type { RevisionMeta } from "../../../core/rows/revision-meta.ts";

export const fixtures: string = fileURLToPath(new URL("../../../fixtures", import.meta.url));

export async function fixtureDocuments(name = "daily-ad-delivery"): Promise<DefinitionDocuments> {
  return buildDocuments(parseDefinition(await readFile(join(fixtures, name, "definition.json"), "utf8"), "json"));
}

export const day = { start: "2026-03-08T00:00:00Z", end: "2026-03-09T00:00:00Z", source_timezone: "UTC" };

/** A folder of its own with a retained store and a spool in it. */
export interface RetainWorld {
  readonly directory: string;
  readonly retainedFolder: string;
  readonly spool: string;
  readonly store: RetainedStore;
  readonly documents: DefinitionDocuments;
  /** Retains under plain defaults: a snapshot of `day`, buys from the rows. */
  retain(rows: RetainRequest["rows"], changes?: RetainChanges): Promise<RetainResult>;
  remove(): Promise<void>;
}

export interface RetainChanges extends Omit<Partial<RetainRequest>, "meta"> {
  readonly meta?: Partial<RevisionMeta>;
}

export async function retainWorld(definition?: string): Promise<RetainWorld> {
  const directory = await mkdtemp(join(tmpdir(), "waybill-test-"));
  const retainedFolder = join(directory, "retained");
  const spool = join(directory, "spool");
  const store = createFolderRetainedStore(retainedFolder);
  const documents = await fixtureDocuments(definition);
  return {
    directory,
    retainedFolder,
    spool,
    store,
    documents,
    retain(rows, { meta, ...changes } = {}) {
      return retainRows({
        rows,
        documents,
        store,
        spoolDirectory: spool,
        newId,
        nowUs: () => instantToUs("2026-03-09T06:00:00Z"),
        ...changes,
        meta: { accountId: "acct-1", mediaBuyIds: "from-rows", period: day, finality: "snapshot", ...meta },
      });
    },
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}

/** One batch of records numbered from 1. */
export async function* recordsOf(rows: readonly LogicalRow[]): AsyncIterable<readonly DecodedRecord[]> {
  if (rows.length > 0) yield rows.map((row, index) => ({ number: index + 1, row }));
}

/** The WaybillError that a promise ends with. */
export async function refusalOf(promise: Promise<unknown>): Promise<WaybillError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof WaybillError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}
