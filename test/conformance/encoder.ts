import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson } from "../../core/canonical-json.ts";
import type { DecodedRecord, EncodedPart } from "../../core/encoding/encoding.ts";
import { DeliveryError, WaybillError } from "../../core/errors.ts";
import type { LogicalRow, RowProfile } from "../../core/rows/profile.ts";
import { inKeyOrder, profiledRows } from "./arbitrary-rows.ts";
import { hardRows } from "./hard-rows.ts";

/** What an encoder under test is given; the rows are in key order unless a test says otherwise. */
export interface EncoderRun {
  readonly rows: AsyncIterable<readonly LogicalRow[]>;
  readonly profile: RowProfile;
  readonly rowsPerPart: number;
  /** Empty folder; the parts, and nothing else, are expected in it. */
  readonly directory: string;
  /** Another folder, for whatever the adapter needs beside. */
  readonly scratch: string;
  readonly signal: AbortSignal;
  readonly onProgress?: (rowsEncoded: number) => void;
}

/** Encodes a revision into parts of one format and compression. */
export type EncodeUnderTest = (run: EncoderRun) => Promise<readonly EncodedPart[]>;

/** Reads a part as a consumer would, from its bytes alone. */
export type DecodeUnderTest = (part: EncodedPart, profile: RowProfile) => AsyncIterable<readonly DecodedRecord[]>;

/** What every encoder promises, run for one format and compression. */
export function encoderConformance(
  name: string,
  encode: EncodeUnderTest,
  decode: DecodeUnderTest,
  options: { readonly names?: fc.Arbitrary<string>; readonly runs?: number } = {},
): void {
  describe(`encoder conformance: ${name}`, () => {
    it("restores the hard values exactly", async () => {
      await inWorld(async (world) => {
        const parts = await encode(world.run(hardRows.rows, hardRows.profile));
        expect(await canonicalRows(parts, hardRows.profile, decode)).toEqual(hardRows.rows.map(canonicalJson));
      });
    });

    it("restores any rows of any profile exactly", async () => {
      const sizes = fc.integer({ min: 1, max: 8 });
      const rows = profiledRows(options.names === undefined ? {} : { names: options.names });
      await fc.assert(
        fc.asyncProperty(rows, sizes, async ({ profile, rows }, rowsPerPart) => {
          await inWorld(async (world) => {
            const parts = await encode(world.run(rows, profile, { rowsPerPart }));
            expect(await canonicalRows(parts, profile, decode)).toEqual(rows.map(canonicalJson));
          });
        }),
        { numRuns: options.runs ?? 60 },
      );
    });

    it("B13 makes one readable object of a revision without rows", async () => {
      await inWorld(async (world) => {
        const parts = await encode(world.run([], hardRows.profile));
        expect(parts.map((part) => part.rowCount)).toEqual([0]);
        expect(await canonicalRows(parts, hardRows.profile, decode)).toEqual([]);
        expect(await readdir(world.directory)).toEqual(parts.map((part) => part.name));
      });
    });

    it("splits at exactly rowsPerPart rows, in order, without an empty last part", async () => {
      const { profile, rows } = numbered(6);
      const splits = new Map([
        [1, [1, 1, 1, 1, 1, 1]],
        [4, [4, 2]],
        [5, [5, 1]],
        [6, [6]],
        [7, [6]],
      ]);
      for (const [rowsPerPart, expected] of splits) {
        await inWorld(async (world) => {
          const parts = await encode(world.run(rows, profile, { rowsPerPart, batch: 4 }));
          expect(parts.map((part) => part.rowCount)).toEqual(expected);
          expect(await canonicalRows(parts, profile, decode)).toEqual(rows.map(canonicalJson));
        });
      }
    });

    it("describes each part as it is on disk, and leaves nothing else there", async () => {
      await inWorld(async (world) => {
        const { profile, rows } = numbered(5);
        const parts = await encode(world.run(rows, profile, { rowsPerPart: 2 }));
        for (const [index, part] of parts.entries()) {
          const bytes = await readFile(part.path);
          expect(part.name).toMatch(new RegExp(`^part-0000${index}\\.`));
          expect(basename(part.path)).toBe(part.name);
          expect(part.sizeBytes).toBe(bytes.length);
          expect(part.sha256).toBe(createHash("sha256").update(bytes).digest("hex"));
        }
        expect((await readdir(world.directory)).sort()).toEqual(parts.map((part) => part.name));
      });
    });

    it("gives the same bytes for the same rows, however they arrive", async () => {
      const hashes: string[] = [];
      for (const batch of [1, 7, 1_000]) {
        await inWorld(async (world) => {
          const parts = await encode(world.run(hardRows.rows, hardRows.profile, { rowsPerPart: 20, batch }));
          hashes.push(parts.map((part) => part.sha256).join());
        });
      }
      expect(new Set(hashes).size).toBe(1);
    });

    it("B14 B39 refuses text that is not well formed by row and member, and leaves nothing behind", async () => {
      await inWorld(async (world) => {
        const { profile, rows } = numbered(5);
        const broken = rows.map((row, index) => (index === 2 ? { ...row, label: "\uD800" } : row));
        const error = await failure(encode(world.run(broken, profile, { rowsPerPart: 2 })));
        expect(error).toBeInstanceOf(DeliveryError);
        expect((error as DeliveryError).code).toBe("ROW_NOT_ENCODABLE");
        const { cause } = error as DeliveryError;
        expect(cause).toBeInstanceOf(WaybillError);
        expect((cause as WaybillError).problems[0]).toMatchObject({ row: 3, member: "label" });
        expect(await readdir(world.directory)).toEqual([]);
      });
    });

    it("refuses rows that are not in strict key order, within a part and across parts", async () => {
      const { profile, rows } = numbered(4);
      const [first, second, third, fourth] = rows;
      if (first === undefined || second === undefined || third === undefined || fourth === undefined) throw new Error();
      for (const disorder of [
        [second, first, third, fourth],
        [first, third, second, fourth],
        [first, first, second, third],
      ]) {
        await inWorld(async (world) => {
          const error = await failure(encode(world.run(disorder, profile, { rowsPerPart: 2 })));
          expect((error as DeliveryError).code).toBe("REVISION_UNREADABLE");
          expect(await readdir(world.directory)).toEqual([]);
        });
      }
    });

    it("stops at an abort with the signal's reason, and leaves nothing behind", async () => {
      await inWorld(async (world) => {
        const { profile, rows } = numbered(50);
        const abort = new AbortController();
        const onProgress = (encoded: number): void => {
          if (encoded >= 20) abort.abort(new Error("stop now"));
        };
        const run = world.run(rows, profile, { rowsPerPart: 10, batch: 5, signal: abort.signal, onProgress });
        expect(await failure(encode(run))).toBe(abort.signal.reason);
        expect(await readdir(world.directory)).toEqual([]);
      });
    });

    it("passes on the error of its source, and leaves nothing behind", async () => {
      await inWorld(async (world) => {
        const { profile, rows } = numbered(10);
        const broken = new Error("source broke");
        async function* source(): AsyncIterable<readonly LogicalRow[]> {
          yield rows;
          throw broken;
        }
        const run = { ...world.run(rows, profile, { rowsPerPart: 4 }), rows: source() };
        expect(await failure(encode(run))).toBe(broken);
        expect(await readdir(world.directory)).toEqual([]);
      });
    });
  });
}

interface World {
  readonly directory: string;
  run(
    rows: readonly LogicalRow[],
    profile: RowProfile,
    options?: {
      readonly rowsPerPart?: number;
      readonly batch?: number;
      readonly signal?: AbortSignal;
      readonly onProgress?: (rowsEncoded: number) => void;
    },
  ): EncoderRun;
}

async function inWorld(body: (world: World) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "waybill-encoder-"));
  const scratch = await mkdtemp(join(tmpdir(), "waybill-encoder-scratch-"));
  try {
    await body({
      directory,
      run: (rows, profile, { rowsPerPart = 1_000, batch = 3, signal, onProgress } = {}) => ({
        rows: inBatches(rows, batch),
        profile,
        rowsPerPart,
        directory,
        scratch,
        signal: signal ?? new AbortController().signal,
        ...(onProgress === undefined ? {} : { onProgress }),
      }),
    });
  } finally {
    await rm(directory, { recursive: true });
    await rm(scratch, { recursive: true });
  }
}

async function* inBatches(rows: readonly LogicalRow[], size: number): AsyncIterable<readonly LogicalRow[]> {
  for (let at = 0; at < rows.length; at += size) yield rows.slice(at, at + size);
}

function numbered(count: number): { readonly profile: RowProfile; readonly rows: readonly LogicalRow[] } {
  const profile: RowProfile = {
    members: [
      { name: "n", type: { kind: "integer" }, missing: "forbidden" },
      { name: "label", type: { kind: "string" }, missing: "forbidden" },
    ],
    primaryKeys: ["n"],
    controlTotals: [],
  };
  const rows = Array.from({ length: count }, (_, n) => ({ n, label: `row ${n}` }));
  return { profile, rows: inKeyOrder(rows, profile.primaryKeys) };
}

async function canonicalRows(
  parts: readonly EncodedPart[],
  profile: RowProfile,
  decode: DecodeUnderTest,
): Promise<readonly string[]> {
  const all: string[] = [];
  for (const part of parts) {
    expect((await stat(part.path)).size).toBe(part.sizeBytes);
    let count = 0;
    for await (const batch of decode(part, profile)) {
      for (const { row, problem } of batch) {
        if (problem !== undefined) throw new Error(`${part.name}: ${problem.message}`);
        all.push(canonicalJson(row));
        count += 1;
      }
    }
    expect(count).toBe(part.rowCount);
  }
  return all;
}

async function failure(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error("expected a failure");
}
