import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { canonicalJson } from "../../core/canonical-json.ts";
import { canonicalContent } from "../../core/digest/canonical-content.ts";
import { sha256Hex } from "../../core/digest/node-hasher.ts";
import { sortKey } from "../../core/rows/sort-key.ts";
import { digestRows, digestSorted, type KeyedRow } from "../../manifests/digest-rows.ts";
import { externalSort } from "../../manifests/external-sort.ts";
import { nodePlatform } from "../../manifests/node-platform.ts";
import type { SortableRow } from "../../manifests/platform.ts";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "waybill-sort-"));
});
afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
});

async function* batches<T>(rows: readonly T[], size: number): AsyncIterable<readonly T[]> {
  for (let at = 0; at < rows.length; at += size) yield rows.slice(at, at + size);
}

async function sorted(rows: readonly SortableRow[], memoryBytes: number, fanIn = 3): Promise<readonly SortableRow[]> {
  const result: SortableRow[] = [];
  for await (const batch of externalSort(batches(rows, 7), { directory, memoryBytes, fanIn })) result.push(...batch);
  return result;
}

describe("the external sort", () => {
  it("orders by unsigned bytes and keeps ties in order of arrival, in memory and over many runs", async () => {
    const row = fc.record({ key: fc.uint8Array({ maxLength: 4 }), canonical: fc.uint8Array({ maxLength: 20 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(row, { maxLength: 120 }), fc.constantFrom(1, 2000, 1e9), async (rows, memoryBytes) => {
        const expected = [...rows].sort((left, right) => Buffer.compare(left.key, right.key));
        expect(await sorted(rows, memoryBytes)).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });

  it("leaves no file behind, also when its consumer stops early or its source fails", async () => {
    const rows = Array.from({ length: 100 }, (_, index) => ({
      key: Uint8Array.of(255 - index),
      canonical: new Uint8Array(50),
    }));
    for await (const batch of externalSort(batches(rows, 5), { directory, memoryBytes: 1 })) {
      expect(batch[0]?.key).toEqual(Uint8Array.of(156));
      break;
    }
    const failing = async function* (): AsyncIterable<readonly SortableRow[]> {
      yield* batches(rows, 5);
      throw new Error("the source broke");
    };
    await expect(async () => {
      for await (const _ of externalSort(failing(), { directory, memoryBytes: 1 }));
    }).rejects.toThrow("the source broke");
    expect(await readdir(directory)).toEqual([]);
  });
});

describe("the digest of rows", () => {
  const keys = ["k"];
  const keyed = (values: readonly (string | number)[]): readonly KeyedRow[] =>
    values.map((k, index) => ({
      key: sortKey({ k }, keys),
      canonical: canonicalJson({ k, z: "\u00e9" }),
      objectRef: "a",
      number: index + 1,
    }));
  const platform = (): ReturnType<typeof nodePlatform> =>
    nodePlatform({ spoolDirectory: directory, sortMemoryBytes: 1 });

  it("is the same in any order of arrival, and needs a second pass only when order is lost after the window", async () => {
    const values = fc.uniqueArray(fc.oneof(fc.string({ unit: "grapheme" }), fc.integer()), { maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(values, async (list) => {
        const rows = keyed(list);
        const expected = sha256Hex(
          canonicalContent(
            list.map((k) => ({ k, z: "\u00e9" })),
            keys,
          ),
        );
        const wide = await digestRows(batches(rows, 3), platform());
        expect(wide).toMatchObject({ kind: "digest", value: expected, duplicates: [] });
        const narrow = await digestRows(batches(rows, 3), platform(), { bytes: 1, rows: 1 });
        if (narrow.kind === "digest") expect(narrow.value).toBe(expected);
        else expect((await digestSorted(batches(rows, 3), platform())).value).toBe(expected);
      }),
      { numRuns: 40 },
    );
  });

  it("loses order after the window and says so, having read its source to the end", async () => {
    let read = 0;
    const source = async function* (): AsyncIterable<readonly KeyedRow[]> {
      for await (const batch of batches(keyed(["b", "c", "d", "a", "e", "f"]), 1)) {
        yield batch;
        read += 1;
      }
    };
    expect(await digestRows(source(), platform(), { bytes: 1, rows: 1 })).toEqual({ kind: "unsorted" });
    expect(read).toBe(6);
  });

  it("names duplicates, adjacent or apart", async () => {
    expect(await digestRows(batches(keyed(["a", "a", "b"]), 2), platform())).toMatchObject({
      duplicates: [{ number: 2 }],
    });
    const apart = await digestRows(batches(keyed(["b", "a", "b"]), 2), platform());
    expect(apart).toMatchObject({ duplicates: [{ number: undefined }] });
  });
});
