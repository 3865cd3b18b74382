import type { Hasher } from "../core/digest/hasher.ts";
import { type DeliveryError, toDeliveryError } from "../core/errors.ts";

/**
 * One pass over one object: hashes what it hands out. A decoder may stop wherever it likes; `drain` then reads on to the end, so that
 * size and hash are always those of the whole object. Reading ends one byte behind the promised size: what follows cannot make it right.
 */
export class ObjectReader {
  sizeBytes = 0;
  /** More bytes than promised came; the rest was not read. */
  isTooLong = false;
  /** Why the source could not be read to its end. */
  failure: DeliveryError | undefined;
  private readonly source: AsyncIterator<Uint8Array>;
  private readonly promisedBytes: number;
  private readonly hashers: readonly Hasher[];
  private readonly onChunk: (bytes: number) => void;
  private ended = false;

  constructor(
    chunks: AsyncIterable<Uint8Array>,
    promisedBytes: number,
    hashers: readonly Hasher[],
    onChunk: (bytes: number) => void,
  ) {
    this.source = chunks[Symbol.asyncIterator]();
    this.promisedBytes = promisedBytes;
    this.hashers = hashers;
    this.onChunk = onChunk;
  }

  /** The bytes, for one consumer. Its early end does not end the source. */
  chunks(): AsyncIterable<Uint8Array> {
    const next = async (): Promise<IteratorResult<Uint8Array, undefined>> => {
      const chunk = await this.next();
      return chunk === undefined ? { done: true, value: undefined } : { done: false, value: chunk };
    };
    return { [Symbol.asyncIterator]: () => ({ next }) };
  }

  /** Reads what the consumer left. Never throws for a source that fails: see `failure`. */
  async drain(): Promise<void> {
    try {
      while ((await this.next()) !== undefined);
    } catch (error) {
      if (error !== this.failure) throw error;
    }
  }

  /** Ends the source early and releases what it holds. */
  async close(): Promise<void> {
    if (this.ended) return;
    this.ended = true;
    await this.source.return?.();
  }

  private async next(): Promise<Uint8Array | undefined> {
    if (this.failure !== undefined) throw this.failure;
    if (this.ended) return undefined;
    let result: IteratorResult<Uint8Array>;
    try {
      result = await this.source.next();
    } catch (error) {
      this.ended = true;
      // Aborts pass through.
      this.failure = toDeliveryError(error);
      throw this.failure;
    }
    if (result.done === true) {
      this.ended = true;
      return undefined;
    }
    const chunk = result.value;
    this.sizeBytes += chunk.length;
    this.onChunk(chunk.length);
    if (this.sizeBytes > this.promisedBytes) {
      this.isTooLong = true;
      await this.close();
      return undefined;
    }
    for (const hasher of this.hashers) hasher.update(chunk);
    return chunk;
  }
}

/** All bytes of a small object; "too large" past the limit. */
export async function readWhole(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<Uint8Array | "too large"> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.length;
    if (length > maxBytes) return "too large";
    pieces.push(chunk);
  }
  const all = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
