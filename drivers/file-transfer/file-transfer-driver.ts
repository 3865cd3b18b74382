import type { Encoding } from "../../core/encoding/encoding.ts";
import { encoderFingerprint } from "../../core/encoding/fingerprint.ts";
import { DeliveryError } from "../../core/errors.ts";
import { manifestName } from "../../manifests/manifest.ts";
import { sideFileNames } from "../../manifests/side-files.ts";
import type { Attempt, Driver, DriverPlan, DriverTraits } from "../driver.ts";
import { evidenceOf, readEvidence, readStaged } from "./delivery-evidence.ts";
import { encodingOf, type FileTransferPlan, locationOf, planDelivery, readPlan } from "./delivery-plan.ts";
import type { FileSettings } from "./file-settings.ts";
import { findManifest } from "./find-commit.ts";
import { objectKey } from "./layout.ts";
import type { ObjectStore } from "./object-store.ts";
import { observeDelivery } from "./observe-delivery.ts";
import { encodedParts, manifestBytes, manifestObject, partObjects, sideObjects } from "./outgoing-objects.ts";
import type { FixFor } from "./proof-fixes.ts";
import { type ConsumerIdentity, proveDestination } from "./prove-destination.ts";
import { type DeliveryTarget, placeObjects } from "./write-delivery.ts";

export interface FileTransferOptions {
  readonly traits: DriverTraits;
  readonly settings: FileSettings;
  /** Writes, and reads back what it wrote, with the seller's own identity. */
  readonly writer: ObjectStore;
  /** Opens a store with the identity that reads as the buyer does. Called for every probe, so that nothing of an earlier call is reused. */
  openReader(): ObjectStore;
  /** Present when the read-back is done as the buyer, and claims to be. */
  readonly consumer?: ConsumerIdentity;
  /** What to do about a destination that fails its proof, in the transport's words. */
  readonly fixFor?: FixFor;
  /** Temporary files of the read-back. */
  readonly spoolDirectory: string;
  /** Names what makes the bytes. Default: the running encoder of core. */
  readonly fingerprint?: (encoding: Encoding) => string;
}

/**
 * Manifest-last delivery over any object store: parts, then side files, then `manifest.json` as the one atomic step. Everything is
 * create-only in a folder that belongs to this materialization alone, so any call may be repeated and a late one completes only its own
 * dead folder.
 */
export function createFileTransferDriver(options: FileTransferOptions): Driver {
  const { settings, traits, writer } = options;
  const fingerprint = options.fingerprint ?? encoderFingerprint;
  const read = (plan: DriverPlan): FileTransferPlan =>
    readPlan(plan, { transport: traits.transport, location: writer.location });
  const targetOf = (plan: FileTransferPlan, attempt: Attempt): DeliveryTarget => ({
    store: writer,
    folder: plan.folder,
    encoderChanged: fingerprint(encodingOf(plan)) !== plan.encoder_fingerprint,
    attempt,
  });

  return {
    traits,

    prepare: (input) =>
      planDelivery(input, {
        transport: traits.transport,
        location: writer.location,
        settings,
        fingerprint: fingerprint(settings.encoding),
      }),

    prove: (attempt) =>
      proveDestination({
        writer,
        openReader: () => options.openReader(),
        consumer: options.consumer,
        fixFor: options.fixFor ?? (() => undefined),
        attempt,
      }),

    async write(driverPlan, content, attempt) {
      const plan = read(driverPlan);
      const parts = await encodedParts(plan, content);
      const target = targetOf(plan, attempt);
      const placed = await placeObjects(target, partObjects(plan, parts));
      const manifest = manifestBytes(plan, parts, placed);
      await placeObjects(target, sideObjects(content, parts, manifest));
      return {
        manifest: new TextDecoder().decode(manifest),
        parts: parts.map((part) => ({ name: part.name, size_bytes: part.sizeBytes })),
      };
    },

    async commit(driverPlan, staged, attempt) {
      const plan = read(driverPlan);
      const { manifest, parts } = readStaged(staged);
      // The last look before the promise: what was written must still be there.
      for (const part of parts) {
        const facts = await writer.stat(objectKey(plan.folder, part.name), { signal: attempt.signal });
        if (facts?.sizeBytes !== part.size_bytes) throw new DeliveryError("DESTINATION_UNREACHABLE");
      }
      const mark = manifestObject(manifest);
      const [placed] = await placeObjects(targetOf(plan, attempt), [mark]);
      return evidenceOf(locationOf(plan), mark.body.sha256, placed?.nativeVersion);
    },

    async findCommit(driverPlan, attempt) {
      const plan = read(driverPlan);
      const found = await findManifest(writer, plan, attempt.signal);
      if (found === undefined) return undefined;
      return evidenceOf(locationOf(plan), found.sha256, found.nativeVersion);
    },

    async probe(driverPlan, commit, profile, attempt) {
      const plan = read(driverPlan);
      const reader = options.openReader();
      try {
        const { spoolDirectory } = options;
        return await observeDelivery({ reader, plan, commit: readEvidence(commit), profile, attempt, spoolDirectory });
      } finally {
        await reader.close();
      }
    },

    resource(driverPlan, commit) {
      const plan = read(driverPlan);
      const { location, manifest_sha256, native_version_ref } = readEvidence(commit);
      return {
        // The folder's own segment: unique per materialization and free of the characters an id may not have.
        resource_ref: `manifest.${plan.folder.split("/").at(-1)}`,
        kind: "manifest",
        location,
        ...(native_version_ref === undefined ? {} : { native_version_ref }),
        manifest_version: "1.0",
        manifest_sha256,
        immutability: traits.immutability,
      };
    },

    async withdraw(driverPlan, what, attempt) {
      const plan = read(driverPlan);
      if (what === "access") throw new DeliveryError("CONFIGURATION_INVALID");
      // The mark first: a reader that still sees it must find all it promises.
      for (const name of [manifestName, ...plan.parts, ...sideFileNames]) {
        await writer.remove(objectKey(plan.folder, name), { signal: attempt.signal });
      }
      await writer.collectLeftovers(plan.folder, { signal: attempt.signal });
    },

    collectLeftovers: async (driverPlan, startedBeforeUs, attempt) =>
      writer.collectLeftovers(read(driverPlan).folder, { signal: attempt.signal, startedBeforeUs }),

    close: () => writer.close(),
  };
}
