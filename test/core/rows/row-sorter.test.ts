import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openEngine } from "../../../core/rows/duckdb.ts";
import type { LogicalRow, RowProfile } from "../../../core/rows/profile.ts";
import { createRowSorter } from "../../../core/rows/row-sorter.ts";
import { compareBytes, sortKey } from "../../../core/rows/sort-key.ts";

const profile: RowProfile = {
  members: [
    { name: "text", type: { kind: "string" }, missing: "forbidden" },
    { name: "n", type: { kind: "integer" }, missing: "forbidden" },
    { name: "flag", type: { kind: "boolean" }, missing: "forbidden" },
  ],
  primaryKeys: ["text", "n", "flag"],
  controlTotals: [],
};

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "waybill-test-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

async function sortedNumbers(rows: readonly LogicalRow[]): Promise<readonly number[]> {
  const engine = await openEngine({ directory, database: "disk" });
  try {
    const sorter = await createRowSorter(engine, profile);
    const fingerprint = new Uint8Array(16);
    const sortable = rows.map((row, number) => ({ row, key: sortKey(row, profile.primaryKeys), number, fingerprint }));
    for (let from = 0; from < rows.length; from += 777) sorter.append(sortable.slice(from, from + 777));
    await sorter.sort();
    const numbers: number[] = [];
    for await (const origins of sorter.origins()) numbers.push(...origins.map(({ number }) => number));
    return numbers;
  } finally {
    await engine.close();
  }
}

describe("row sorter", () => {
  it("orders any keys by their canonical bytes, equal keys by source row", async () => {
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom(
        "a",
        "a!",
        "a\u0000",
        "\ufb33",
        "\u{1f600}",
        "\uffff",
        "é",
        "e\u0301",
        '"',
        "\\",
        "\n",
        "",
        "10",
        "9",
      ),
    );
    const row = fc.record({
      text,
      n: fc.oneof(fc.integer(), fc.constantFrom(1, 2, 10, -1, -10, 1e15)),
      flag: fc.boolean(),
    });
    const rows = fc.sample(row, { numRuns: 5000, seed: 7 });
    const keys = rows.map((entry) => sortKey(entry, profile.primaryKeys));
    const wanted = rows
      .map((_, index) => index)
      .sort(
        (left, right) => compareBytes(keys[left] ?? new Uint8Array(), keys[right] ?? new Uint8Array()) || left - right,
      );
    expect(await sortedNumbers(rows)).toEqual(wanted);
  });

  it("does not use the order of the values: 10 comes before 9, a! before a", async () => {
    const rows = [9, 10, 2].map((n) => ({ text: "a", n, flag: true }));
    expect(await sortedNumbers([...rows, { text: "a!", n: 1, flag: true }])).toEqual([3, 1, 2, 0]);
  });
});
