import { createHash, randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { DeliveryError } from "../errors.ts";
import type { EncodedPart } from "./encoding.ts";

/** A data object while it is made: bytes under a temporary name in the final folder, until `publish`. */
export class PartFile {
  readonly name: string;
  /** Where the bytes are until `publish`. */
  readonly temporaryPath: string;
  private readonly path: string;
  private sizeBytes = 0;
  private sha256 = "";

  constructor(directory: string, name: string) {
    this.name = name;
    this.path = join(directory, name);
    this.temporaryPath = join(directory, `.${name}.${randomUUID()}.partial`);
  }

  /** Writes the object, hashing the bytes on their way. */
  async write(chunks: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
    const hash = createHash("sha256");
    const file = await open(this.temporaryPath, "wx");
    try {
      for await (const chunk of chunks) {
        signal.throwIfAborted();
        hash.update(chunk);
        this.sizeBytes += chunk.length;
        await file.appendFile(chunk);
      }
    } finally {
      await file.close();
    }
    this.sha256 = hash.digest("hex");
  }

  /** Takes size and hash of a file that another program wrote to `temporaryPath`. */
  async adopt(signal: AbortSignal): Promise<void> {
    const hash = createHash("sha256");
    for await (const chunk of readChunks(this.temporaryPath)) {
      signal.throwIfAborted();
      hash.update(chunk);
      this.sizeBytes += chunk.length;
    }
    this.sha256 = hash.digest("hex");
  }

  /** The bytes as the disk gives them back; INTERNAL at their end when they are not those that were written. */
  async *read(signal: AbortSignal): AsyncIterable<Uint8Array> {
    const hash = createHash("sha256");
    for await (const chunk of readChunks(this.temporaryPath)) {
      signal.throwIfAborted();
      hash.update(chunk);
      yield chunk;
    }
    if (hash.digest("hex") !== this.sha256) {
      throw new DeliveryError("INTERNAL", {
        cause: new Error(`${this.name} reads back other bytes than were written`),
      });
    }
  }

  /** Gives the file its name. */
  async publish(rowCount: number): Promise<EncodedPart> {
    await rename(this.temporaryPath, this.path);
    return { name: this.name, path: this.path, sizeBytes: this.sizeBytes, sha256: this.sha256, rowCount };
  }

  /** Removes what was not published. */
  async discard(): Promise<void> {
    await rm(this.temporaryPath, { force: true });
  }
}

function readChunks(path: string): AsyncIterable<Buffer> {
  return createReadStream(path, { highWaterMark: 256 * 1024 });
}
