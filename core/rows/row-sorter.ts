import { DuckDBBlobVector, type DuckDBDataChunk } from "@duckdb/node-api";
import type { Engine } from "./duckdb.ts";
import type { LogicalRow, RowProfile } from "./profile.ts";
import { createTypedTable } from "./typed-table.ts";

const rowGroupRows = 65_536;

/** A validated row on its way into canonical order. */
export interface SortableRow {
  readonly row: LogicalRow;
  /** See sortKey. */
  readonly key: Uint8Array;
  /** Row number in the source. */
  readonly number: number;
  /** What the row must still be after it came back from storage. */
  readonly fingerprint: Uint8Array;
}

/** Where a sorted row came from. */
export interface SortedOrigin {
  readonly number: number;
  readonly fingerprint: Uint8Array;
}

/** Sorts any number of rows by key bytes on disk, in bounded memory. Call in this order: append*, sort, writeParts, origins. */
export interface RowSorter {
  append(rows: readonly SortableRow[]): void;
  /** Orders by unsigned key bytes, equal keys by source row number. */
  sort(signal?: AbortSignal): Promise<void>;
  /** Writes the rows without their keys as zstd Parquet files of at most `rowsPerPart` rows; one file when there are no rows. */
  writeParts(
    nameOf: (index: number) => string,
    rowsPerPart: number,
    signal?: AbortSignal,
  ): Promise<readonly WrittenPart[]>;
  /** In sorted order. */
  origins(signal?: AbortSignal): AsyncIterable<readonly SortedOrigin[]>;
}

export interface WrittenPart {
  /** Bare name of the file in the engine's folder. */
  readonly name: string;
  readonly rowCount: number;
}

/** Starts a sorter on a disk engine of its own. */
export async function createRowSorter(engine: Engine, profile: RowProfile): Promise<RowSorter> {
  const acquired = await createTypedTable(engine, "acquired", profile, [
    { name: "sort_key", type: "BLOB" },
    { name: "source_row", type: "BIGINT" },
    { name: "fingerprint", type: "BLOB" },
  ]);
  let rowCount = 0;
  return {
    append(rows) {
      rowCount += rows.length;
      const own = [
        rows.map(({ key }) => key),
        rows.map(({ number }) => BigInt(number)),
        rows.map(({ fingerprint }) => fingerprint),
      ];
      acquired.append(
        rows.map(({ row }) => row),
        own,
      );
    },
    async sort(signal) {
      acquired.finish();
      // A BLOB compares byte by byte, unsigned; that is the order of the contract.
      await engine.run("CREATE TABLE sorted AS SELECT * FROM acquired ORDER BY sort_key, source_row", signal);
      await engine.run("DROP TABLE acquired", signal);
    },
    async writeParts(nameOf, rowsPerPart, signal) {
      const parts: WrittenPart[] = [];
      for (let from = 0; from === 0 || from < rowCount; from += rowsPerPart) {
        const part = { name: nameOf(parts.length), rowCount: Math.min(rowsPerPart, rowCount - from) };
        // One thread inserted in order and nothing was deleted, so row ids count the sorted rows from 0; the reader of the parts proves it.
        const range = `rowid BETWEEN ${from} AND ${from + rowsPerPart - 1}`;
        const options = `FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${rowGroupRows}`;
        await engine.run(
          `COPY (SELECT ${acquired.members} FROM sorted WHERE ${range}) TO ${engine.file(part.name)} (${options})`,
          signal,
        );
        parts.push(part);
      }
      return parts;
    },
    async *origins(signal) {
      const chunks = engine.stream("SELECT source_row, fingerprint FROM sorted", signal);
      for await (const chunk of chunks) yield originsOf(chunk);
    },
  };
}

function originsOf(chunk: DuckDBDataChunk): readonly SortedOrigin[] {
  const numbers = chunk.getColumnVector(0);
  const fingerprints = chunk.getColumnVector(1);
  if (!(fingerprints instanceof DuckDBBlobVector)) throw new TypeError("fingerprints are bytes");
  return Array.from({ length: chunk.rowCount }, (_, index) => ({
    number: Number(numbers.getItem(index)),
    fingerprint: fingerprints.getItemBytes(index) ?? new Uint8Array(),
  }));
}
