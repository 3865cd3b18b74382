import { createHash } from "node:crypto";
import type { ByteSource } from "../core/bytes.ts";
import { nodeHasher, sha256Hex } from "../core/digest/node-hasher.ts";
import { DeliveryError } from "../core/errors.ts";
import { pathSegment } from "../core/model/id.ts";
import type { RetainedPart, RetainedRevision, RetainedStore } from "../core/rows/retained.ts";
import { readRetainedRecord, restoreDocuments, retainedRecordBytes } from "../core/rows/retained-record.ts";
import type { ObjectStore } from "../drivers/file-transfer/object-store.ts";
import { compareStored, readSmall } from "../drivers/file-transfer/stored-content.ts";

const recordName = "revision.json";
const documentNames = ["definition.json", "row-schema.json", "canonicalization.json"] as const;
const maxDocumentBytes = 16 * 1024 * 1024;

/**
 * A RetainedStore in any object store, one key folder per revision. The record is written last, create-only, so its presence means that
 * all is there; a put that died in between is completed by the next one. Trouble with the store is the store's DeliveryError.
 */
export function createObjectRetainedStore(objects: ObjectStore): RetainedStore {
  const keyOf = (revisionId: string, name: string): string =>
    `${pathSegment("r", revisionId, nodeHasher("sha256"))}/${name}`;
  const { signal } = new AbortController();

  async function place(key: string, body: ByteSource, contentType: string): Promise<void> {
    const { outcome } = await objects.putIfAbsent(key, body, { contentType, attemptKey: key, signal });
    const found = await compareStored(objects, key, body, { signal, trustStoreHash: outcome === "created" });
    if (found.state === "differs") throw new DeliveryError("CONTENT_CONFLICT");
    if (found.state === "absent") throw new DeliveryError("DESTINATION_UNREACHABLE");
  }

  async function read(key: string): Promise<Uint8Array | undefined> {
    return (await readSmall(objects, key, maxDocumentBytes, signal))?.bytes;
  }

  return {
    async put(retained, documents, parts) {
      const id = retained.revision.reporting_revision_id;
      for (const part of retained.parts) {
        const source = parts.get(part.name);
        if (source === undefined) throw new RangeError(`the part ${part.name} was not given`);
        await place(keyOf(id, safeName(part.name)), source, "application/vnd.apache.parquet");
      }
      const pinned = [documents.reportDefinition, documents.rowSchema, documents.canonicalization];
      for (const [index, name] of documentNames.entries()) {
        await place(keyOf(id, name), inMemory(pinned[index]?.bytes ?? new Uint8Array()), "application/json");
      }
      await place(keyOf(id, recordName), inMemory(retainedRecordBytes(retained)), "application/json");
    },

    async describe(revisionId) {
      const record = await read(keyOf(revisionId, recordName));
      if (record === undefined) return undefined;
      const retained: RetainedRevision = readRetainedRecord(record);
      if (retained.revision.reporting_revision_id !== revisionId) throw new DeliveryError("REVISION_UNREADABLE");
      const [reportDefinition, rowSchema, canonicalization] = await Promise.all(
        documentNames.map((name) => read(keyOf(revisionId, name))),
      );
      if (reportDefinition === undefined || rowSchema === undefined || canonicalization === undefined) {
        throw new DeliveryError("REVISION_UNREADABLE");
      }
      const documents = restoreDocuments(retained.revision, { reportDefinition, rowSchema, canonicalization });
      return { retained, documents };
    },

    openPart: (revisionId, part) => checkedPart(objects, keyOf(revisionId, safeName(part.name)), part, signal),
  };
}

/** Bytes of a part, hashed as they pass; REVISION_UNREADABLE at the end when they are not what the record names. */
async function* checkedPart(
  objects: ObjectStore,
  key: string,
  part: RetainedPart,
  signal: AbortSignal,
): AsyncIterable<Uint8Array> {
  const stream = await objects.open(key, { signal });
  if (stream === undefined) throw new DeliveryError("REVISION_UNREADABLE");
  const hash = createHash("sha256");
  let sizeBytes = 0;
  for await (const chunk of stream) {
    hash.update(chunk);
    sizeBytes += chunk.length;
    yield chunk;
  }
  if (sizeBytes !== part.sizeBytes || hash.digest("hex") !== part.sha256)
    throw new DeliveryError("REVISION_UNREADABLE");
}

function inMemory(bytes: Uint8Array): ByteSource {
  return {
    sizeBytes: bytes.length,
    sha256: sha256Hex(bytes),
    async *open() {
      yield bytes;
    },
  };
}

/** Part names come from a record; only the shape that retention gives them becomes a key. */
function safeName(name: string): string {
  if (!/^rows-\d{5,}\.parquet$/.test(name)) throw new DeliveryError("REVISION_UNREADABLE");
  return name;
}
