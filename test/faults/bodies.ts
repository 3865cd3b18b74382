import { createHash } from "node:crypto";
import type { ByteSource } from "../../core/bytes.ts";

/** A body in memory, in chunks of `chunkBytes`. */
export function bodyOf(content: string | Uint8Array, chunkBytes = 64 * 1024): ByteSource {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  return {
    sizeBytes: bytes.length,
    sha256: sha256Hex(bytes),
    async *open() {
      for (let offset = 0; offset < bytes.length; offset += chunkBytes)
        yield bytes.subarray(offset, offset + chunkBytes);
    },
  };
}

/** A body whose source fails after its first chunk. */
export function failingBody(content: string, error: () => unknown): ByteSource {
  const whole = bodyOf(content, 1);
  return {
    ...whole,
    async *open() {
      for await (const chunk of whole.open()) {
        yield chunk;
        throw error();
      }
    },
  };
}

export function sha256Hex(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Everything a stream yields, as one array. Undefined stays undefined. */
export async function collect(stream: AsyncIterable<Uint8Array> | undefined): Promise<Uint8Array | undefined> {
  if (stream === undefined) return undefined;
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}
