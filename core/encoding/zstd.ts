import { Decoder, Encoder } from "@toondepauw/node-zstd";
import { Decompress } from "fzstd";
import { ByteReader } from "./byte-reader.ts";
import { type DecodeMeter, invalidStream } from "./decode-meter.ts";
import { tooLarge } from "./text-blocks.ts";
import { zstdPieces } from "./zstd-frames.ts";

/**
 * Decoded bytes of one frame that we write. Many readers stop after the first frame without an error, so an object is one frame
 * whenever it fits; more than this is not held in memory.
 */
export const zstdFrameBytes: number = 32 * 1024 * 1024;

/** Frames that cannot give more than this are decoded at once by the native decoder; larger ones stream. */
const atOnceBytes = 64 * 1024 * 1024;
const batchBytes = 8 * 1024 * 1024;

/** zstd frames of `zstdFrameBytes` decoded bytes each, the last one shorter. An object of one frame announces its size. */
export async function* compressZstd(chunks: AsyncIterable<Uint8Array>, level: number): AsyncIterable<Uint8Array> {
  const encoder = new Encoder(level);
  let pieces: Uint8Array[] = [];
  let length = 0;
  let frames = 0;
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; ) {
      if (length === zstdFrameBytes) {
        yield await encoder.encode(Buffer.concat(pieces, length));
        frames += 1;
        pieces = [];
        length = 0;
      }
      const piece = chunk.subarray(at, at + zstdFrameBytes - length);
      pieces.push(piece);
      length += piece.length;
      at += piece.length;
    }
  }
  const last = await encoder.encode(Buffer.concat(pieces, length));
  yield frames === 0 ? withContentSize(last, length) : last;
}

/**
 * The encoder does not announce the decoded size. Readers that allocate once need it when there is one frame; with several frames it
 * would make them stop after the first one, and without it they refuse instead.
 */
function withContentSize(frame: Buffer, size: number): Buffer {
  const announcesNothing = frame[4] === 0x00;
  if (!announcesNothing) return frame;
  const field = Buffer.alloc(4);
  field.writeUInt32LE(size);
  return Buffer.concat([frame.subarray(0, 4), Uint8Array.of(0x80), frame.subarray(5, 6), field, frame.subarray(6)]);
}

/** Bytes of a zstd stream of any number of frames. Nothing but frames may stand in it. */
export async function* decompressZstd(
  chunks: AsyncIterable<Uint8Array>,
  meter: DecodeMeter,
): AsyncIterable<Uint8Array> {
  const reader = new ByteReader(chunks);
  const decoder = new Decoder();
  let batch = new FrameBatch();
  let streamed: StreamedFrame | undefined;
  try {
    for await (const piece of zstdPieces(reader, meter)) {
      meter.storedBytes = reader.sourceBytes;
      if (streamed !== undefined) {
        for (const output of streamed.push(piece.bytes, meter)) yield output;
        if (piece.kind === "end") streamed = undefined;
        continue;
      }
      batch.add(piece.bytes, piece.kind === "block" ? piece.maxOutputBytes : 0);
      if (piece.kind === "header") batch.startFrame(piece.windowBytes);
      if (piece.kind === "end") {
        batch.endFrame();
        if (batch.maxOutputBytes < batchBytes) continue;
        yield* await decodeWhole(decoder, batch.frames(), meter);
        batch = new FrameBatch();
      } else if (batch.openOutputBytes > atOnceBytes) {
        yield* await decodeWhole(decoder, batch.frames(), meter);
        streamed = new StreamedFrame(batch.windowBytes);
        for (const open of batch.openFrame()) yield* streamed.push(open, meter);
        batch = new FrameBatch();
      }
    }
    yield* await decodeWhole(decoder, batch.frames(), meter);
  } finally {
    await reader.close();
  }
}

async function decodeWhole(
  decoder: Decoder,
  frames: readonly Uint8Array[],
  meter: DecodeMeter,
): Promise<readonly Uint8Array[]> {
  if (frames.length === 0) return [];
  let output: Buffer;
  try {
    output = await decoder.decode(Buffer.concat(frames));
  } catch (error) {
    throw invalidStream("the zstd stream is damaged", error);
  }
  meter.addDecoded(output.length);
  return [output];
}

/** Finished frames and the open one behind them. */
class FrameBatch {
  /** The most that the finished frames can give. */
  maxOutputBytes = 0;
  /** The most that the open frame can give so far. */
  openOutputBytes = 0;
  /** Window of the open frame. */
  windowBytes = 0;
  private readonly pieces: Uint8Array[] = [];
  private finished = 0;

  add(bytes: Uint8Array, maxOutputBytes: number): void {
    this.pieces.push(bytes);
    this.openOutputBytes += maxOutputBytes;
  }

  startFrame(windowBytes: number): void {
    this.windowBytes = windowBytes;
  }

  endFrame(): void {
    this.finished = this.pieces.length;
    // An empty frame still costs a call of the decoder; counting it keeps a batch of them short.
    this.maxOutputBytes += this.openOutputBytes + 1024;
    this.openOutputBytes = 0;
  }

  frames(): readonly Uint8Array[] {
    return this.pieces.slice(0, this.finished);
  }

  openFrame(): readonly Uint8Array[] {
    return this.pieces.slice(this.finished);
  }
}

/** One large frame, decoded block by block. */
class StreamedFrame {
  private output: Uint8Array[] = [];
  private readonly decompress: Decompress;
  private readonly windowBytes: number;
  private movedBytes = 0;

  constructor(windowBytes: number) {
    this.windowBytes = windowBytes;
    this.decompress = new Decompress((bytes) => {
      if (bytes.length > 0) this.output.push(bytes);
    });
  }

  push(bytes: Uint8Array, meter: DecodeMeter): readonly Uint8Array[] {
    if (bytes.length === 0) return [];
    this.output = [];
    try {
      this.decompress.push(bytes);
    } catch (error) {
      throw invalidStream("the zstd stream is damaged", error);
    }
    for (const output of this.output) meter.addDecoded(output.length);
    // Each block moves the whole window, however little it gives: a stream of tiny blocks would cost hours.
    this.movedBytes += this.windowBytes;
    if (this.movedBytes > 16 * 1024 ** 3 + 2048 * meter.decodedBytes) {
      throw tooLarge("work per decoded byte in a zstd stream", "16 GiB of window moves");
    }
    return this.output;
  }
}
