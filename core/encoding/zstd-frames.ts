import type { ByteReader } from "./byte-reader.ts";
import { type DecodeMeter, invalidStream } from "./decode-meter.ts";
import { tooLarge } from "./text-blocks.ts";

/** The pieces of zstd frames in order, as RFC 8878 frames them. Nothing is decoded here. */
export type ZstdPiece =
  | { readonly kind: "header"; readonly bytes: Uint8Array; readonly windowBytes: number }
  | { readonly kind: "block"; readonly bytes: Uint8Array; readonly maxOutputBytes: number }
  | { readonly kind: "end"; readonly bytes: Uint8Array };

const magicNumber = 0xfd2fb528;
const skippableMagic = 0x184d2a50;
const blockBytes = 128 * 1024;
/** What the reference decoder takes by default (`--long` needs a flag there, too). */
const maxWindowBytes = 128 * 1024 * 1024;

/**
 * Cuts a zstd stream into frame headers, blocks and frame ends, so that a decoder knows the most each step can give before it takes
 * it. Skippable frames are passed over. INVALID_STREAM for bytes that are no frame, truncated frames and dictionaries;
 * RESOURCE_TOO_LARGE for windows above 128 MiB and announced sizes above the meter's bound.
 */
export async function* zstdPieces(reader: ByteReader, meter: DecodeMeter): AsyncIterable<ZstdPiece> {
  for (let frames = 0; ; frames++) {
    const start = await reader.read(4);
    if (start.length === 0 && frames > 0) return;
    if (start.length < 4) throw frames === 0 ? invalidStream("not a zstd stream") : cutShort();
    const magic = littleEndian(start);
    if (magic >= skippableMagic && magic < skippableMagic + 16) {
      if (!(await reader.skip(littleEndian(await exactly(reader, 4))))) throw cutShort();
      continue;
    }
    if (magic !== magicNumber) {
      throw invalidStream(frames === 0 ? "not a zstd stream" : "bytes follow the zstd frames");
    }
    yield* frame(reader, meter, start);
  }
}

async function* frame(reader: ByteReader, meter: DecodeMeter, start: Uint8Array): AsyncIterable<ZstdPiece> {
  const descriptor = await exactly(reader, 1);
  const flags = descriptor[0] ?? 0;
  if ((flags & 0x08) !== 0) throw damaged();
  const isSingleSegment = (flags & 0x20) !== 0;
  const sizeFlag = flags >> 6;
  const windowLength = isSingleSegment ? 0 : 1;
  const dictionaryLength = [0, 1, 2, 4][flags & 3] ?? 0;
  const sizeLength = sizeFlag === 0 ? (isSingleSegment ? 1 : 0) : 2 ** sizeFlag;
  const fields = await exactly(reader, windowLength + dictionaryLength + sizeLength);
  if (littleEndian(fields.subarray(windowLength, windowLength + dictionaryLength)) !== 0) {
    throw invalidStream("the zstd stream needs a dictionary");
  }
  const size = littleEndian(fields.subarray(windowLength + dictionaryLength)) + (sizeLength === 2 ? 256 : 0);
  if (sizeLength > 0) meter.refuseBeyondMaximum(size);
  const windowBytes = isSingleSegment ? size : windowOf(fields[0] ?? 0);
  if (windowBytes > maxWindowBytes) throw tooLarge("bytes of zstd window", `${maxWindowBytes} bytes`);
  yield { kind: "header", bytes: join(start, descriptor, fields), windowBytes };

  const maxOutput = Math.min(blockBytes, windowBytes);
  for (let isLast = false; !isLast; ) {
    const head = await exactly(reader, 3);
    const word = littleEndian(head);
    isLast = (word & 1) === 1;
    const type = (word >> 1) & 3;
    const length = word >> 3;
    // 0: stored as is; 1: one byte, repeated; 2: compressed.
    if (type === 3 || length > maxOutput) throw damaged();
    const body = await exactly(reader, type === 1 ? 1 : length);
    yield { kind: "block", bytes: join(head, body), maxOutputBytes: type === 2 ? maxOutput : length };
  }
  yield { kind: "end", bytes: await exactly(reader, (flags & 0x04) !== 0 ? 4 : 0) };
}

function windowOf(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >> 3));
  return base + (base / 8) * (descriptor & 7);
}

async function exactly(reader: ByteReader, count: number): Promise<Uint8Array> {
  if (count === 0) return new Uint8Array(0);
  const bytes = await reader.read(count);
  if (bytes.length < count) throw cutShort();
  return bytes;
}

function littleEndian(bytes: Uint8Array): number {
  return bytes.reduceRight((value, byte) => value * 256 + byte, 0);
}

function join(...parts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(parts);
}

function cutShort(): Error {
  return invalidStream("the zstd stream is cut short");
}

function damaged(): Error {
  return invalidStream("the zstd stream is damaged");
}
