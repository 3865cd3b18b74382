import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { ByteSource } from "../bytes.ts";
import { nodeHasher } from "../digest/node-hasher.ts";
import { DeliveryError, WaybillError } from "../errors.ts";
import { pathSegment } from "../model/id.ts";
import type { DefinitionDocuments, RetainedPart, RetainedRevision, RetainedStore } from "./retained.ts";
import { readRetainedRecord, restoreDocuments, retainedRecordBytes } from "./retained-record.ts";

/** File names beside the parts. */
const recordName = "revision.json";
const documentNames = {
  reportDefinition: "definition.json",
  rowSchema: "row-schema.json",
  canonicalization: "canonicalization.json",
} as const;

const stagingPrefix = ".put-";
/** No writer takes that long; an older staging folder belongs to one that died. */
const abandonedMs = 24 * 3600 * 1000;

/**
 * A RetainedStore in a folder: one subfolder per revision, named by the hash of its id. A revision appears by one atomic rename of a
 * complete, flushed folder, so a crash leaves at most a dot-prefixed folder that nobody reads and a put of a later day removes. WaybillError `usage` STORE_UNUSABLE
 * when the folder cannot be written, `unreachable` STORE_FULL when it has no room.
 */
export function createFolderRetainedStore(directory: string): RetainedStore {
  const folderOf = (revisionId: string): string => join(directory, pathSegment("r", revisionId, nodeHasher("sha256")));

  const store: RetainedStore = {
    async put(retained, documents, parts) {
      const id = retained.revision.reporting_revision_id;
      if (await confirmEqual(folderOf(id), retained, store)) return;
      const staging = join(directory, `${stagingPrefix}${randomUUID()}`);
      try {
        await stage(directory, staging, retained, documents, parts);
        await publish(staging, folderOf(id), directory);
      } catch (error) {
        if (isTaken(error) && (await confirmEqual(folderOf(id), retained, store))) return;
        throw storeError(error);
      } finally {
        // What cannot be removed is a dot-prefixed folder that nobody reads; the cause of the failure must not be lost for it.
        await rm(staging, { recursive: true, force: true }).catch(() => {});
      }
    },

    async describe(revisionId) {
      const folder = folderOf(revisionId);
      const record = await readIfThere(join(folder, recordName));
      if (record === undefined) return undefined;
      const retained = readRetainedRecord(record);
      if (retained.revision.reporting_revision_id !== revisionId) throw unreadable();
      const [reportDefinition, rowSchema, canonicalization] = await Promise.all(
        Object.values(documentNames).map((name) => readIfThere(join(folder, name))),
      );
      if (reportDefinition === undefined || rowSchema === undefined || canonicalization === undefined)
        throw unreadable();
      const documents = restoreDocuments(retained.revision, { reportDefinition, rowSchema, canonicalization });
      return { retained, documents };
    },

    openPart: (revisionId, part) => checkedPart(join(folderOf(revisionId), safeName(part.name)), part),
  };
  return store;
}

/** True when exactly this content is there; CONTENT_CONFLICT when other content is. The parts are hashed again. */
async function confirmEqual(folder: string, retained: RetainedRevision, store: RetainedStore): Promise<boolean> {
  const present = await readIfThere(join(folder, recordName));
  if (present === undefined) return false;
  if (Buffer.compare(present, retainedRecordBytes(retained)) !== 0) throw new DeliveryError("CONTENT_CONFLICT");
  const id = retained.revision.reporting_revision_id;
  await store.describe(id);
  for (const part of retained.parts) for await (const _ of store.openPart(id, part));
  return true;
}

async function stage(
  directory: string,
  staging: string,
  retained: RetainedRevision,
  documents: DefinitionDocuments,
  parts: ReadonlyMap<string, ByteSource>,
): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await mkdir(staging, { mode: 0o700 });
  await removeAbandoned(directory, (await stat(staging)).mtimeMs - abandonedMs);
  for (const part of retained.parts) {
    const source = parts.get(part.name);
    if (source === undefined) throw new RangeError(`the part ${part.name} was not given`);
    await writePart(join(staging, safeName(part.name)), part, source);
  }
  for (const [document, name] of Object.entries(documentNames)) {
    await writeFlushed(join(staging, name), documents[document as keyof typeof documentNames].bytes);
  }
  await writeFlushed(join(staging, recordName), retainedRecordBytes(retained));
  await flushFolder(staging);
}

/** Both times come from the file system, so no clock of this process matters. */
async function removeAbandoned(directory: string, olderThanMs: number): Promise<void> {
  for (const name of await readdir(directory)) {
    if (!name.startsWith(stagingPrefix)) continue;
    const path = join(directory, name);
    // Another writer may have finished or removed it meanwhile.
    const there = await stat(path).catch(() => undefined);
    if (there !== undefined && there.mtimeMs < olderThanMs) await rm(path, { recursive: true, force: true });
  }
}

/** Copies one part and proves on the way that it is what the record says. */
async function writePart(path: string, part: RetainedPart, source: ByteSource): Promise<void> {
  const hasher = nodeHasher("sha256");
  let sizeBytes = 0;
  const file = await open(path, "wx", 0o600);
  try {
    for await (const chunk of source.open()) {
      hasher.update(chunk);
      sizeBytes += chunk.length;
      await file.writeFile(chunk);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  if (sizeBytes !== part.sizeBytes || hasher.hex() !== part.sha256) {
    throw new RangeError(`the bytes of part ${part.name} are not those that its record names`);
  }
}

async function writeFlushed(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes names in a folder durable. */
async function flushFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Renaming a folder over one that is not empty fails, so of racing writers exactly one appears. */
async function publish(staging: string, folder: string, directory: string): Promise<void> {
  await rename(staging, folder);
  await flushFolder(directory);
}

/** Yields the bytes of a part; REVISION_UNREADABLE at the end when size or hash differ, or when it is gone. */
async function* checkedPart(path: string, part: RetainedPart): AsyncIterable<Uint8Array> {
  const hasher = nodeHasher("sha256");
  let sizeBytes = 0;
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1024 })) {
      hasher.update(chunk);
      sizeBytes += chunk.length;
      yield chunk;
    }
  } catch (error) {
    throw unreadable(error);
  }
  if (sizeBytes !== part.sizeBytes || hasher.hex() !== part.sha256) throw unreadable();
}

/** Part names come from a record; only the shape that retention gives them becomes a path. */
function safeName(name: string): string {
  if (!/^rows-\d{5,}\.parquet$/.test(name)) throw unreadable();
  return name;
}

async function readIfThere(path: string): Promise<Uint8Array | undefined> {
  try {
    return new Uint8Array(await readFile(path));
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT") return undefined;
    // A file where the folder is expected: nothing is retained there, and putting will say why.
    if (code === "ENOTDIR") return undefined;
    throw unreadable(error);
  }
}

/** A process short of handles or memory says nothing about the bytes; every other failure to read them does. */
function unreadable(cause?: unknown): unknown {
  const code = codeOf(cause);
  if (code === "EMFILE" || code === "ENFILE" || code === "ENOMEM") return cause;
  return new DeliveryError("REVISION_UNREADABLE", { cause });
}

function isTaken(error: unknown): boolean {
  const code = codeOf(error);
  return code === "EEXIST" || code === "ENOTEMPTY" || code === "ENOTDIR";
}

function storeError(error: unknown): unknown {
  const code = codeOf(error);
  switch (code) {
    case undefined:
      return error;
    case "ENOSPC":
    case "EDQUOT": {
      const message = "the retained folder has no room left; make room and try again";
      return new WaybillError("unreachable", [{ code: "STORE_FULL", message, field: "retained" }], { cause: error });
    }
    default: {
      const message = `the retained folder cannot be written (${code}); choose another one that this user may write to`;
      return new WaybillError("usage", [{ code: "STORE_UNUSABLE", message, field: "retained" }], { cause: error });
    }
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && /^E[A-Z]+$/.test(String(error.code))
    ? String(error.code)
    : undefined;
}
