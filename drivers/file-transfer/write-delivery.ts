import type { ByteSource } from "../../core/bytes.ts";
import { DeliveryError } from "../../core/errors.ts";
import type { Attempt } from "../driver.ts";
import { objectKey } from "./layout.ts";
import type { ObjectStore } from "./object-store.ts";
import { compareStored } from "./stored-content.ts";

/** One object of a delivery, ready to be written. */
export interface OutgoingObject {
  /** Bare name in the delivery's folder. */
  readonly name: string;
  readonly body: ByteSource;
  readonly contentType: string;
}

export interface PlacedObject {
  readonly name: string;
  readonly nativeVersion?: string;
}

/** Where objects go, and whether the running encoder is the one the plan was made for. */
export interface DeliveryTarget {
  readonly store: ObjectStore;
  readonly folder: string;
  readonly encoderChanged: boolean;
  readonly attempt: Attempt;
}

/**
 * Creates objects and reads each back, or finds that equal ones already stand there. Other bytes at a name are ENCODER_CHANGED when
 * another encoder may have written them, else CONTENT_CONFLICT; nothing is overwritten. After a change of encoder nothing is created
 * either: bytes of two encoders under one plan could not be told from a conflict later.
 */
export async function placeObjects(
  target: DeliveryTarget,
  objects: readonly OutgoingObject[],
): Promise<readonly PlacedObject[]> {
  const created = new Set<string>();
  for (const object of objects) if (await createdNow(target, object)) created.add(object.name);
  // Only after all are written, so that one that was lost meanwhile is seen before the manifest promises it.
  const placed: PlacedObject[] = [];
  for (const object of objects) placed.push(await readBack(target, object, created.has(object.name)));
  return placed;
}

async function createdNow(target: DeliveryTarget, object: OutgoingObject): Promise<boolean> {
  if (target.encoderChanged) return false;
  const { attempt, folder, store } = target;
  const { outcome } = await store.putIfAbsent(objectKey(folder, object.name), object.body, {
    contentType: object.contentType,
    attemptKey: attempt.key,
    signal: attempt.signal,
  });
  return outcome === "created";
}

async function readBack(target: DeliveryTarget, object: OutgoingObject, created: boolean): Promise<PlacedObject> {
  const { attempt, encoderChanged, folder, store } = target;
  const options = { signal: attempt.signal, trustStoreHash: created };
  const found = await compareStored(store, objectKey(folder, object.name), object.body, options);
  if (found.state === "equal") {
    const { nativeVersion } = found.facts;
    return { name: object.name, ...(nativeVersion === undefined ? {} : { nativeVersion }) };
  }
  if (encoderChanged) throw new DeliveryError("ENCODER_CHANGED");
  // Bytes we created a moment ago and that are not there now: someone, or the store, lost them. A later try settles which.
  if (created || found.state === "absent") throw new DeliveryError("DESTINATION_UNREACHABLE");
  throw new DeliveryError("CONTENT_CONFLICT");
}
