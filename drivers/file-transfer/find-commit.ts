import { sha256Hex } from "../../core/digest/node-hasher.ts";
import { DeliveryError } from "../../core/errors.ts";
import type { Manifest } from "../../core/model/records.ts";
import { buildManifest, manifestName, parseManifest } from "../../manifests/manifest.ts";
import type { FileTransferPlan } from "./delivery-plan.ts";
import { objectKey } from "./layout.ts";
import type { ObjectStore } from "./object-store.ts";
import { compareStored, readSmall } from "./stored-content.ts";

/** Far above any manifest of ours: 10,000 entries take about 2 MiB. */
const maxManifestBytes = 16 * 1024 * 1024;

/**
 * The manifest of this plan, if it stands there and all it lists stands there with the bytes it lists. Undefined when there is none, or
 * when something it lists is gone: writing again puts the same bytes back. CONTENT_CONFLICT when it is not this plan's manifest, or when
 * an object has other bytes than it says.
 */
export async function findManifest(
  store: ObjectStore,
  plan: FileTransferPlan,
  signal: AbortSignal,
): Promise<{ readonly sha256: string; readonly nativeVersion?: string } | undefined> {
  const key = objectKey(plan.folder, manifestName);
  const found = await readSmall(store, key, maxManifestBytes, signal);
  if (found === undefined) return undefined;
  const { bytes, facts } = found;
  const manifest = ownManifest(plan, bytes);
  for (const file of manifest.files) {
    const expected = { sizeBytes: file.size_bytes, sha256: file.sha256 };
    const { state } = await compareStored(store, objectKey(plan.folder, file.object_ref), expected, { signal });
    if (state === "differs") throw new DeliveryError("CONTENT_CONFLICT");
    if (state === "absent") return undefined;
  }
  const version = facts.nativeVersion === undefined ? {} : { nativeVersion: facts.nativeVersion };
  return { sha256: sha256Hex(bytes), ...version };
}

/** A manifest is this plan's when it is byte for byte the plan's fixed half with files under the plan's names. */
function ownManifest(plan: FileTransferPlan, bytes: Uint8Array): Manifest {
  try {
    const manifest = parseManifest(bytes);
    const names = manifest.files.map((file) => file.object_ref);
    const expected = buildManifest(plan.manifest, manifest.files).bytes;
    if (Buffer.compare(expected, bytes) === 0 && names.join("/") === plan.parts.join("/")) return manifest;
  } catch (error) {
    throw new DeliveryError("CONTENT_CONFLICT", { cause: error });
  }
  throw new DeliveryError("CONTENT_CONFLICT");
}
