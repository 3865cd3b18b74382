import { createReadStream } from "node:fs";
import type { ByteSource } from "../../core/bytes.ts";
import { sha256Hex } from "../../core/digest/node-hasher.ts";
import type { EncodedPart } from "../../core/encoding/encoding.ts";
import { DeliveryError } from "../../core/errors.ts";
import type { FileFormat } from "../../core/model/records.ts";
import { buildManifest, manifestName } from "../../manifests/manifest.ts";
import { sideFiles } from "../../manifests/side-files.ts";
import type { DeliveryContent } from "../driver.ts";
import { encodingOf, type FileTransferPlan } from "./delivery-plan.ts";
import type { OutgoingObject, PlacedObject } from "./write-delivery.ts";

const uploadChunkBytes = 1024 * 1024;

/**
 * What strict public readers want to see, also on compressed objects: the compression is in the manifest and never in a
 * Content-Encoding, which some stores would undo on the way out.
 */
const dataContentTypes: { readonly [format in FileFormat]: string } = {
  jsonl: "application/x-ndjson",
  csv: "text/csv",
  parquet: "application/vnd.apache.parquet",
};

/**
 * The plan's parts from the worker. REVISION_UNREADABLE when they hold other rows than the plan promises; INTERNAL when the worker
 * brought another revision or other names.
 */
export async function encodedParts(plan: FileTransferPlan, content: DeliveryContent): Promise<readonly EncodedPart[]> {
  const { documents, revision } = content;
  const planned =
    revision.reporting_revision_id === plan.manifest.reporting_revision_id &&
    documents.reportDefinition.sha256 === plan.documents.report_definition_sha256 &&
    documents.rowSchema.sha256 === plan.documents.schema_sha256;
  if (!planned) throw new DeliveryError("INTERNAL");
  const parts = await content.encoded(encodingOf(plan));
  if (parts.map(({ name }) => name).join("/") !== plan.parts.join("/")) throw new DeliveryError("INTERNAL");
  const rowCount = parts.reduce((total, part) => total + part.rowCount, 0);
  if (rowCount !== plan.manifest.row_count) throw new DeliveryError("REVISION_UNREADABLE");
  return parts;
}

/** Data objects, streamed from the worker's disk. */
export function partObjects(plan: FileTransferPlan, parts: readonly EncodedPart[]): readonly OutgoingObject[] {
  return parts.map((part) => ({
    name: part.name,
    contentType: dataContentTypes[plan.encoding.format],
    body: {
      sizeBytes: part.sizeBytes,
      sha256: part.sha256,
      open: () => createReadStream(part.path, { highWaterMark: uploadChunkBytes }),
    },
  }));
}

/** The exact manifest: the plan's fixed half, and the objects as they were placed. */
export function manifestBytes(
  plan: FileTransferPlan,
  parts: readonly EncodedPart[],
  placed: readonly PlacedObject[],
): Uint8Array {
  const versions = new Map(placed.map(({ name, nativeVersion }) => [name, nativeVersion]));
  const files = parts.map((part) => {
    const nativeVersion = versions.get(part.name);
    return {
      object_ref: part.name,
      ...(nativeVersion === undefined ? {} : { native_version_ref: nativeVersion }),
      size_bytes: part.sizeBytes,
      sha256: part.sha256,
      row_count: part.rowCount,
    };
  });
  try {
    return buildManifest(plan.manifest, files).bytes;
  } catch (error) {
    // The parts were checked against the plan, so it is the stored plan that no manifest can be made of.
    throw new DeliveryError("INTERNAL", { cause: error });
  }
}

/** Everything that lies beside the parts but is no part of the commit. */
export function sideObjects(
  content: DeliveryContent,
  parts: readonly EncodedPart[],
  manifest: Uint8Array,
): readonly OutgoingObject[] {
  return sideFiles(content.revision, content.documents, parts, manifest).map(({ name, bytes }) =>
    inMemory(name, bytes),
  );
}

/** The commit mark. */
export function manifestObject(text: string): OutgoingObject {
  return inMemory(manifestName, new TextEncoder().encode(text));
}

function inMemory(name: string, bytes: Uint8Array): OutgoingObject {
  const contentType = name.endsWith(".json") ? "application/json" : "text/plain; charset=utf-8";
  const body: ByteSource = {
    sizeBytes: bytes.length,
    sha256: sha256Hex(bytes),
    async *open() {
      yield bytes;
    },
  };
  return { name, contentType, body };
}
