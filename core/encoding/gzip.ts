import { constants, crc32, createDeflateRaw, createInflateRaw } from "node:zlib";
import { type DecodeMeter, invalidStream } from "./decode-meter.ts";
import { unboundedOutput, ZlibStepper } from "./zlib-stream.ts";

/** Input of one deflate step. Fixed, so that the bytes do not depend on how the caller cuts its chunks. */
const deflateStepBytes = 256 * 1024;
/** Input of one inflate step; deflate expands at most 1032 times, so a step gives at most 32 MiB. */
const inflateStepBytes = 32 * 1024;
const maxHeaderBytes = 128 * 1024;
const trailerBytes = 8;

/** No time, no name, unknown system: the header does not depend on when and where it is written. */
const header = Uint8Array.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);

/** One gzip member over all chunks. */
export async function* compressGzip(chunks: AsyncIterable<Uint8Array>, level: number): AsyncIterable<Uint8Array> {
  const deflater = new ZlibStepper(
    createDeflateRaw({ ...unboundedOutput, level, strategy: constants.Z_DEFAULT_STRATEGY }),
  );
  let checksum = 0;
  let size = 0;
  try {
    yield header;
    for await (const input of inSteps(chunks, deflateStepBytes)) {
      checksum = crc32(input, checksum);
      size += input.length;
      yield* await deflater.step(input);
    }
    yield* await deflater.finish();
  } finally {
    deflater.close();
  }
  const trailer = new DataView(new ArrayBuffer(trailerBytes));
  trailer.setUint32(0, checksum, true);
  trailer.setUint32(4, size % 2 ** 32, true);
  yield new Uint8Array(trailer.buffer);
}

/** Bytes of exactly one gzip member; anything before its end or behind it is INVALID_STREAM. */
export async function* decompressGzip(
  chunks: AsyncIterable<Uint8Array>,
  meter: DecodeMeter,
): AsyncIterable<Uint8Array> {
  const inflater = new ZlibStepper(createInflateRaw(unboundedOutput));
  let part: "header" | "body" | "trailer" = "header";
  let held: Uint8Array = new Uint8Array(0);
  let checksum = 0;
  let size = 0;
  try {
    for await (const chunk of chunks) {
      meter.storedBytes += chunk.length;
      let rest = chunk;
      if (part === "header") {
        held = Buffer.concat([held, rest]);
        const length = headerLength(held);
        if (length === undefined) continue;
        rest = held.subarray(length);
        held = new Uint8Array(0);
        part = "body";
      }
      while (part === "body" && rest.length > 0) {
        const input = rest.subarray(0, inflateStepBytes);
        for (const output of await inflated(inflater, input)) {
          meter.addDecoded(output.length);
          checksum = crc32(output, checksum);
          size += output.length;
          yield output;
        }
        const unused = inflater.fedBytes - inflater.consumedBytes;
        rest = rest.subarray(input.length - unused);
        if (unused > 0) part = "trailer";
      }
      if (part === "trailer") {
        held = Buffer.concat([held, rest]);
        if (held.length > trailerBytes) throw invalidStream("bytes follow the gzip member");
      }
    }
  } finally {
    inflater.close();
  }
  if (part !== "trailer" || held.length < trailerBytes) throw invalidStream("the gzip stream is cut short");
  const trailer = new DataView(held.buffer, held.byteOffset, trailerBytes);
  if (trailer.getUint32(0, true) !== checksum || trailer.getUint32(4, true) !== size % 2 ** 32) {
    throw invalidStream("the gzip checksum does not match");
  }
}

async function inflated(inflater: ZlibStepper, input: Uint8Array): Promise<readonly Buffer[]> {
  try {
    return await inflater.step(input);
  } catch (error) {
    throw invalidStream("the gzip stream is damaged", error);
  }
}

/** Length of the member header, undefined while it is not complete. */
function headerLength(bytes: Uint8Array): number | undefined {
  if (bytes.length > 0 && bytes[0] !== 0x1f) throw invalidStream("not a gzip stream");
  if (bytes.length < 10) return undefined;
  const flags = bytes[3] ?? 0;
  if (bytes[1] !== 0x8b || bytes[2] !== 8 || (flags & 0xe0) !== 0) throw invalidStream("not a gzip stream");
  let length = 10;
  if ((flags & 4) !== 0) length += 2 + (bytes[length] ?? 0) + 256 * (bytes[length + 1] ?? 0);
  for (const flag of [8, 16]) {
    if ((flags & flag) === 0) continue;
    const end = bytes.indexOf(0, length);
    length = end < 0 ? Number.MAX_SAFE_INTEGER : end + 1;
  }
  if ((flags & 2) !== 0) length += 2;
  if (length <= bytes.length) return length;
  if (bytes.length > maxHeaderBytes) throw invalidStream("the gzip header does not end");
  return undefined;
}

async function* inSteps(chunks: AsyncIterable<Uint8Array>, stepBytes: number): AsyncIterable<Uint8Array> {
  let step = Buffer.allocUnsafe(stepBytes);
  let filled = 0;
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; ) {
      const piece = chunk.subarray(at, at + stepBytes - filled);
      step.set(piece, filled);
      filled += piece.length;
      at += piece.length;
      if (filled < stepBytes) continue;
      yield step;
      step = Buffer.allocUnsafe(stepBytes);
      filled = 0;
    }
  }
  if (filled > 0) yield step.subarray(0, filled);
}
