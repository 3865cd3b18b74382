import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { canonicalJson } from "../core/canonical-json.ts";
import { nodeHasher } from "../core/digest/node-hasher.ts";
import { encodeParts } from "../core/encoding/encode-parts.ts";
import type { EncodedPart, Encoding } from "../core/encoding/encoding.ts";
import { encoderFingerprint } from "../core/encoding/fingerprint.ts";
import { DeliveryError } from "../core/errors.ts";
import { pathSegment } from "../core/model/id.ts";
import type { Revision } from "../core/model/records.ts";
import { parquetRows } from "../core/rows/parquet-rows.ts";
import type { LogicalRow } from "../core/rows/profile.ts";
import type { DefinitionDocuments, RetainedRevision, RetainedStore } from "../core/rows/retained.ts";
import type { DeliveryContent } from "../drivers/driver.ts";
import type { Spool, SpoolFolder } from "./spool.ts";

/** Content whose spool folders stay until it is released. */
export interface HeldContent extends DeliveryContent {
  release(): Promise<void>;
}

export interface ContentProvider {
  /** DeliveryError REVISION_UNREADABLE when the retained revision is missing or damaged. */
  contentOf(revision: Revision, signal: AbortSignal): Promise<HeldContent>;
  /** Drops what the spool has of a revision, so that the next run takes it from the retained store again. */
  forget(revision: Revision): Promise<void>;
}

export interface ContentOptions {
  readonly retained: RetainedStore;
  readonly spool: Spool;
  /** Told now and then while a revision is encoded. */
  readonly onProgress?: (rowsEncoded: number, rowCount: number) => void;
}

const partsFile = "parts.json";

/** Rows are fetched once and encoded once per (revision, encoding, encoder), whatever number of destinations takes them. */
export function createContentProvider({ retained, spool, onProgress }: ContentOptions): ContentProvider {
  return {
    async contentOf(revision, signal) {
      const found = await retained.describe(revision.reporting_revision_id);
      // What the ledger published decides; a retained folder that tells another story is not this revision.
      if (found === undefined || canonicalJson(found.retained.revision) !== canonicalJson(revision)) {
        throw new DeliveryError("REVISION_UNREADABLE");
      }
      const held: SpoolFolder[] = [];
      const hold = async (key: string, make: (directory: string) => Promise<void>): Promise<string> => {
        const folder = await spool.use(key, make);
        held.push(folder);
        return folder.directory;
      };
      return {
        revision,
        documents: found.documents,
        encoded: async (encoding) => {
          const key = encodedKey(revision, encoding);
          const directory = await hold(key, async (target) => {
            const rows = await hold(retainedKey(revision), (folder) =>
              fetchParts(retained, found.retained, folder, signal),
            );
            await encodeInto(target, rows, found, encoding, signal, onProgress);
          });
          return await readParts(directory);
        },
        async release() {
          for (const folder of held.splice(0)) folder.release();
          await spool.trim();
        },
      };
    },
    forget: (revision) => spool.drop(segmentOf(revision)),
  };
}

function segmentOf(revision: Revision): string {
  return pathSegment("r", revision.reporting_revision_id, nodeHasher("sha256"));
}

function retainedKey(revision: Revision): string {
  return `${segmentOf(revision)}-retained`;
}

function encodedKey(revision: Revision, encoding: Encoding): string {
  const { format, compression, level, rowsPerPart } = encoding;
  const described = canonicalJson({
    format,
    compression,
    level: level ?? null,
    rowsPerPart,
    fingerprint: encoderFingerprint(encoding),
  });
  return `${segmentOf(revision)}-${createHash("sha256").update(described).digest("hex").slice(0, 24)}`;
}

/** Copies the retained parts; the store re-hashes every byte on the way. */
async function fetchParts(
  store: RetainedStore,
  { revision, parts }: RetainedRevision,
  directory: string,
  signal: AbortSignal,
): Promise<void> {
  for (const part of parts) {
    const bytes = Readable.from(store.openPart(revision.reporting_revision_id, part), { objectMode: false });
    await pipeline(bytes, createWriteStream(join(directory, part.name), { flags: "wx", mode: 0o600 }), { signal });
  }
}

async function encodeInto(
  directory: string,
  retainedDirectory: string,
  found: { readonly retained: RetainedRevision; readonly documents: DefinitionDocuments },
  encoding: Encoding,
  signal: AbortSignal,
  onProgress: ContentOptions["onProgress"],
): Promise<void> {
  const { revision, parts } = found.retained;
  const { profile } = found.documents;
  const retainedFiles = parts.map((part) => join(retainedDirectory, part.name));
  const encoded = await encodeParts({
    rows: allRows(retainedFiles, (path) => parquetRows(path, profile)),
    retainedFiles,
    profile,
    encoding,
    directory,
    signal,
    ...(onProgress === undefined ? {} : { onProgress: (rows) => onProgress(rows, revision.row_count) }),
  });
  const rowCount = encoded.reduce((sum, part) => sum + part.rowCount, 0);
  if (rowCount !== revision.row_count) throw new DeliveryError("REVISION_UNREADABLE");
  // Paths are made again when it is read: the folder is renamed when it is complete.
  const listed = encoded.map(({ path: _, ...part }) => part);
  await writeFile(join(directory, partsFile), JSON.stringify(listed), { flag: "wx", mode: 0o600 });
}

async function* allRows(
  files: readonly string[],
  rowsOf: (path: string) => AsyncIterable<readonly LogicalRow[]>,
): AsyncIterable<readonly LogicalRow[]> {
  for (const file of files) yield* rowsOf(file);
}

/** A list that cannot be read is a work file that the machine lost in a power cut: it can be made again. */
async function readParts(directory: string): Promise<readonly EncodedPart[]> {
  try {
    const text = await readFile(join(directory, partsFile), "utf8");
    const parts = JSON.parse(text) as readonly Omit<EncodedPart, "path">[];
    return parts.map((part) => ({ ...part, path: join(directory, part.name) }));
  } catch (cause) {
    throw new DeliveryError("REVISION_UNREADABLE", { cause });
  }
}
