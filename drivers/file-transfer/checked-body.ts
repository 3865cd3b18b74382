import { createHash } from "node:crypto";
import type { ByteSource } from "../../core/bytes.ts";
import { DeliveryError, isAbort } from "../../core/errors.ts";

/**
 * The bytes of a body while a store sends them on, hashed as they pass. Ends with REVISION_UNREADABLE when they are not what the body
 * promised, so a store that makes its object visible only after the last byte never shows a wrong one. An error of the source is not
 * the destination's: a DeliveryError passes, anything else is INTERNAL.
 */
export async function* checkedBody(body: ByteSource, signal: AbortSignal): AsyncIterable<Uint8Array> {
  const hash = createHash("sha256");
  let sizeBytes = 0;
  for await (const chunk of fromSource(body)) {
    signal.throwIfAborted();
    hash.update(chunk);
    sizeBytes += chunk.length;
    if (sizeBytes > body.sizeBytes) throw new DeliveryError("REVISION_UNREADABLE");
    yield chunk;
  }
  if (sizeBytes !== body.sizeBytes || hash.digest("hex") !== body.sha256)
    throw new DeliveryError("REVISION_UNREADABLE");
}

/** Only errors raised by the source pass through here; those of the consumer end the generator without being seen. */
async function* fromSource(body: ByteSource): AsyncIterable<Uint8Array> {
  try {
    yield* body.open();
  } catch (error) {
    if (error instanceof DeliveryError || isAbort(error)) throw error;
    throw new DeliveryError("INTERNAL", { cause: error });
  }
}
