import { createHash } from "node:crypto";
import type { ByteSource } from "../../core/bytes.ts";
import { DeliveryError, isAbort } from "../../core/errors.ts";

/**
 * The bytes of a body while a store sends them on, hashed as they pass. Ends with REVISION_UNREADABLE when they are not what the body
 * promised. The last bytes are held back until that is known: a store that counts bytes must never take a wrong body for a complete
 * one. An error of the source is not the destination's: a DeliveryError passes, anything else is INTERNAL.
 */
export async function* checkedBody(body: ByteSource, signal: AbortSignal): AsyncIterable<Uint8Array> {
  const hash = createHash("sha256");
  let sizeBytes = 0;
  let held: Uint8Array | undefined;
  for await (const chunk of fromSource(body)) {
    signal.throwIfAborted();
    if (chunk.length === 0) continue;
    hash.update(chunk);
    sizeBytes += chunk.length;
    if (sizeBytes > body.sizeBytes) throw new DeliveryError("REVISION_UNREADABLE");
    if (held !== undefined) yield held;
    held = chunk;
  }
  if (sizeBytes !== body.sizeBytes || hash.digest("hex") !== body.sha256)
    throw new DeliveryError("REVISION_UNREADABLE");
  if (held !== undefined) yield held;
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
