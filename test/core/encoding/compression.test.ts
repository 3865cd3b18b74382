import { createHash, randomBytes } from "node:crypto";
import { crc32, deflateRawSync, gunzipSync, gzipSync } from "node:zlib";
import { Decoder, Encoder } from "@toondepauw/node-zstd";
import { describe, expect, it } from "vitest";
import { compressStream, decompressStream, type StreamCompression } from "../../../core/encoding/compression.ts";
import { type DecodeLimits, defaultDecodeLimits } from "../../../core/encoding/encoding.ts";
import { zstdFrameBytes } from "../../../core/encoding/zstd.ts";
import { WaybillError } from "../../../core/errors.ts";

async function* inChunks(bytes: Uint8Array, size: number): AsyncIterable<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function collect(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}

function compress(compression: StreamCompression, bytes: Uint8Array, chunk = 1 << 16, level?: number): Promise<Buffer> {
  return collect(compressStream(compression, inChunks(bytes, chunk), level));
}

function decompress(
  compression: StreamCompression,
  bytes: Uint8Array,
  overrides: Partial<DecodeLimits> = {},
  chunk = 1 << 16,
): Promise<Buffer> {
  return collect(decompressStream(compression, inChunks(bytes, chunk), { ...defaultDecodeLimits, ...overrides }));
}

async function problemOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof WaybillError)) throw new Error(`expected a WaybillError, got ${String(error)}`);
  const [problem] = error.problems;
  return `${problem?.code}: ${problem?.message}`;
}

function reportText(rows: number): Buffer {
  const lines: string[] = [];
  for (let row = 0; row < rows; row++) {
    lines.push(
      `{"creative_id":"c-${(row * 7919) % 10_007}","impressions":"${row * 31}","spend":"${row % 991}.${row}"}\n`,
    );
  }
  return Buffer.from(lines.join(""));
}

const codecs = ["none", "gzip", "zstd"] as const;

describe.each(codecs)("%s", (codec) => {
  const contents = [Buffer.alloc(0), Buffer.from("x"), reportText(20_000), randomBytes(300_000), Buffer.alloc(700_000)];

  it("gives back what went in, however the bytes are cut", async () => {
    for (const content of contents) {
      const packed = await compress(codec, content);
      for (const chunk of [1_000, 1 << 16, packed.length + 1]) {
        expect((await decompress(codec, packed, { maxRatio: 1e9 }, chunk)).equals(content)).toBe(true);
      }
    }
    const packed = await compress(codec, reportText(30));
    expect((await decompress(codec, packed, {}, 1)).equals(reportText(30))).toBe(true);
  });

  it("gives the same bytes for the same content, however it is cut", async () => {
    const content = reportText(20_000);
    const first = await compress(codec, content, 1 << 16);
    for (const chunk of [999, 1 << 18, content.length]) {
      expect((await compress(codec, content, chunk)).equals(first)).toBe(true);
    }
  });

  it("ends at the bound on decoded bytes", async () => {
    const packed = await compress(codec, reportText(20_000));
    expect(await problemOf(decompress(codec, packed, { maxDecodedBytes: 100_000 }))).toMatch(/^RESOURCE_TOO_LARGE/);
  });

  it("closes its source when its reader stops early", async () => {
    const packed = await compress(codec, reportText(20_000));
    let closed = false;
    async function* source(): AsyncIterable<Uint8Array> {
      try {
        for (;;) yield* inChunks(packed, 1_000);
      } finally {
        closed = true;
      }
    }
    for await (const _ of decompressStream(codec, source(), defaultDecodeLimits)) break;
    expect(closed).toBe(true);
  });
});

describe.each(["gzip", "zstd"] as const)("%s from others", (codec) => {
  const content = reportText(400);

  it("is INVALID_STREAM wherever it is cut short", async () => {
    const packed = await compress(codec, content);
    for (let length = 0; length < packed.length; length += length < 40 ? 1 : 997) {
      expect(await problemOf(decompress(codec, packed.subarray(0, length)))).toMatch(/^INVALID_STREAM/);
    }
    expect(await problemOf(decompress(codec, packed.subarray(0, -1)))).toMatch(/^INVALID_STREAM/);
  });

  it("is INVALID_STREAM when bytes follow it", async () => {
    const packed = await compress(codec, content);
    for (const tail of [Buffer.from([0]), Buffer.from("\n"), Buffer.alloc(1_000), content]) {
      for (const chunk of [1, packed.length, packed.length + 1, 1 << 20]) {
        const bytes = Buffer.concat([packed, tail]);
        expect(await problemOf(decompress(codec, bytes, {}, chunk))).toMatch(/^INVALID_STREAM/);
      }
    }
  });

  it("is INVALID_STREAM when it is something else", async () => {
    expect(await problemOf(decompress(codec, content))).toBe(`INVALID_STREAM: not a ${codec} stream`);
    expect(await problemOf(decompress(codec, Buffer.alloc(0)))).toMatch(/^INVALID_STREAM/);
  });
});

describe("gzip", () => {
  it("is one member with a header that names neither time nor system", async () => {
    const packed = await compress("gzip", reportText(1_000));
    expect(packed.subarray(0, 10).toString("hex")).toBe("1f8b08000000000000ff");
    expect(gunzipSync(packed).equals(reportText(1_000))).toBe(true);
  });

  it("has level 5 by default and takes another", async () => {
    const content = reportText(5_000);
    const five = await compress("gzip", content);
    expect((await compress("gzip", content, 1 << 16, 5)).equals(five)).toBe(true);
    expect((await compress("gzip", content, 1 << 16, 9)).length).toBeLessThan(five.length);
  });

  it("refuses a second member", async () => {
    const member = await compress("gzip", reportText(100));
    expect(await problemOf(decompress("gzip", Buffer.concat([member, member])))).toBe(
      "INVALID_STREAM: bytes follow the gzip member",
    );
  });

  it("reads a member with every optional header field", async () => {
    const body = Buffer.from("rows");
    const trailer = Buffer.alloc(8);
    trailer.writeUInt32LE(crc32(body), 0);
    trailer.writeUInt32LE(body.length, 4);
    const head = Buffer.from([0x1f, 0x8b, 8, 4 | 8 | 16 | 2, 1, 2, 3, 4, 0, 3, 2, 0, 9, 9]);
    const member = Buffer.concat([
      head,
      Buffer.from("name\0comment\0"),
      Buffer.from([7, 7]),
      deflateRawSync(body),
      trailer,
    ]);
    for (const chunk of [1, 5, 100]) expect((await decompress("gzip", member, {}, chunk)).toString()).toBe("rows");
  });

  it("refuses a wrong checksum, a wrong length and damage inside", async () => {
    const packed = await compress("gzip", reportText(3_000));
    for (const at of [packed.length - 1, packed.length - 5, packed.length >> 1]) {
      const damaged = Buffer.from(packed);
      damaged[at] = (damaged[at] ?? 0) ^ 0x10;
      expect(await problemOf(decompress("gzip", damaged))).toMatch(/^INVALID_STREAM/);
    }
  });

  it("ends a bomb after little of it, by ratio", async () => {
    const bomb = gzipSync(Buffer.alloc(200 * 1024 * 1024), { level: 9 });
    let decoded = 0;
    const read = async () => {
      for await (const chunk of decompressStream("gzip", inChunks(bomb, 1 << 16), defaultDecodeLimits)) {
        decoded += chunk.length;
      }
    };
    expect(await problemOf(read())).toMatch(/^RESOURCE_TOO_LARGE: more decoded bytes per stored byte/);
    expect(decoded).toBeLessThan(70 * 1024 * 1024);
  });
});

describe("zstd", () => {
  const magic = [0x28, 0xb5, 0x2f, 0xfd];

  it("is one frame that announces its size as long as it fits into one", async () => {
    const content = reportText(30_000);
    const packed = await compress("zstd", content);
    expect([...packed.subarray(0, 4)]).toEqual(magic);
    expect((packed[4] ?? 0) >> 6).toBe(2);
    expect(packed.readUInt32LE(6)).toBe(content.length);
    expect(new Decoder().decodeSync(packed).equals(content)).toBe(true);
  });

  it("is several frames that announce nothing above the frame size", async () => {
    const block = reportText(100_000);
    async function* source(): AsyncIterable<Uint8Array> {
      for (let length = 0; length <= zstdFrameBytes; length += block.length) yield block;
    }
    const packed = await collect(compressStream("zstd", source()));
    expect((packed[4] ?? 0) >> 6).toBe(0);
    const expected = createHash("sha256");
    for await (const chunk of source()) expected.update(chunk);
    const actual = createHash("sha256");
    for await (const chunk of decompressStream("zstd", inChunks(packed, 1 << 16), defaultDecodeLimits)) {
      actual.update(chunk);
    }
    expect(actual.digest("hex")).toBe(expected.digest("hex"));
  });

  it("streams a frame too large to decode at once", async () => {
    const block = reportText(100_000);
    const content = Buffer.concat(Array.from({ length: 18 }, () => block));
    expect(content.length).toBeGreaterThan(64 * 1024 * 1024);
    const packed = Buffer.concat([
      new Encoder(1).encodeSync(Buffer.from("before\n")),
      new Encoder(3).encodeSync(content),
      new Encoder(1).encodeSync(Buffer.from("after\n")),
    ]);
    let largest = 0;
    const actual = createHash("sha256");
    for await (const chunk of decompressStream("zstd", inChunks(packed, 1 << 16), defaultDecodeLimits)) {
      largest = Math.max(largest, chunk.length);
      actual.update(chunk);
    }
    expect(largest).toBeLessThanOrEqual(128 * 1024);
    const expected = createHash("sha256").update("before\n").update(content).update("after\n");
    expect(actual.digest("hex")).toBe(expected.digest("hex"));
  });

  it("passes over skippable frames and reads empty ones", async () => {
    const empty = new Encoder(3).encodeSync(Buffer.alloc(0));
    const skippable = Buffer.from([0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);
    const rows = new Encoder(3).encodeSync(Buffer.from("rows"));
    const packed = Buffer.concat([empty, skippable, rows, empty]);
    expect((await decompress("zstd", packed, {}, 1)).toString()).toBe("rows");
  });

  it("ends a bomb of repeated bytes after little of it", async () => {
    // 4 bytes per block give 128 KiB each: last block flag clear, type 1.
    const block = Buffer.from([((131_072 << 3) & 0xff) | 2, (131_072 >> 5) & 0xff, (131_072 >> 13) & 0xff, 0x61]);
    const blocks = Buffer.concat(Array.from({ length: 100_000 }, () => block));
    const bomb = Buffer.concat([Buffer.from([...magic, 0x00, 0x38]), blocks]);
    let decoded = 0;
    const read = async () => {
      for await (const chunk of decompressStream("zstd", inChunks(bomb, 1 << 12), defaultDecodeLimits)) {
        decoded += chunk.length;
      }
    };
    expect(await problemOf(read())).toMatch(/^RESOURCE_TOO_LARGE: more decoded bytes per stored byte/);
    expect(decoded).toBeLessThan(70 * 1024 * 1024);
  });

  it("refuses an announced size beyond the bound and a window beyond 128 MiB before it reads on", async () => {
    const announced = Buffer.from([...magic, 0xe0, 0, 0, 0, 0, 0, 1, 0, 0]);
    expect(await problemOf(decompress("zstd", announced))).toMatch(/^RESOURCE_TOO_LARGE: more decoded bytes/);
    const wide = Buffer.from([...magic, 0x00, 0xf8, 1, 0, 0]);
    expect(await problemOf(decompress("zstd", wide))).toMatch(/^RESOURCE_TOO_LARGE: more bytes of zstd window/);
  });

  it("refuses a frame that needs a dictionary, reserved block types and damage inside", async () => {
    expect(await problemOf(decompress("zstd", Buffer.from([...magic, 0x21, 7, 1, 1, 0, 0])))).toMatch(/dictionary/);
    expect(await problemOf(decompress("zstd", Buffer.from([...magic, 0x00, 0x38, 7, 0, 0])))).toMatch(/damaged/);
    const packed = await compress("zstd", reportText(3_000));
    const damaged = Buffer.from(packed);
    damaged.fill(0xff, 13, 40);
    expect(await problemOf(decompress("zstd", damaged))).toMatch(/^INVALID_STREAM/);
  });
});
