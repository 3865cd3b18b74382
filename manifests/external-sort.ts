import { mkdir, mkdtemp, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { compareBytes } from "../core/rows/sort-key.ts";
import type { SortableRow } from "./platform.ts";

export interface ExternalSortOptions {
  /** Folder for a temporary folder of this sort, which is removed at its end, also when the consumer stops early. */
  readonly directory: string;
  /** Key and row bytes held in memory before they are spilled. Default 24 MiB. */
  readonly memoryBytes?: number;
  /** Runs merged at a time. Default 64. */
  readonly fanIn?: number;
}

const batchRows = 1024;
/** Rough cost of one row's objects beside its bytes. */
const rowOverheadBytes = 512;

/** Sorts rows by unsigned key bytes; equal keys keep their order of arrival. Memory is bounded, the rest is runs on disk. */
export async function* externalSort(
  rows: AsyncIterable<readonly SortableRow[]>,
  options: ExternalSortOptions,
): AsyncIterable<readonly SortableRow[]> {
  const { memoryBytes = 24 * 1024 * 1024, fanIn = 64 } = options;
  await mkdir(options.directory, { recursive: true });
  const folder = await mkdtemp(join(options.directory, "sort-"));
  try {
    const spill = new Spill(folder);
    let held: SortableRow[] = [];
    let heldBytes = 0;
    for await (const batch of rows) {
      for (const row of batch) {
        held.push(row);
        heldBytes += row.key.length + row.canonical.length + rowOverheadBytes;
      }
      if (heldBytes < memoryBytes) continue;
      await spill.write(inBatches(sorted(held)));
      held = [];
      heldBytes = 0;
    }
    if (spill.runs.length === 0) {
      yield* inBatches(sorted(held));
      return;
    }
    if (held.length > 0) await spill.write(inBatches(sorted(held)));
    held = [];
    while (spill.runs.length > fanIn) await spill.mergeFirst(fanIn);
    yield* merge(spill.runs.map(readRun));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function sorted(rows: SortableRow[]): readonly SortableRow[] {
  return rows.sort((left, right) => compareBytes(left.key, right.key));
}

async function* inBatches(rows: readonly SortableRow[]): AsyncIterable<readonly SortableRow[]> {
  for (let from = 0; from < rows.length; from += batchRows) yield rows.slice(from, from + batchRows);
}

class Spill {
  /** Paths, in order of arrival of their rows. */
  readonly runs: string[] = [];
  private readonly folder: string;
  private written = 0;

  constructor(folder: string) {
    this.folder = folder;
  }

  async write(rows: AsyncIterable<readonly SortableRow[]>): Promise<void> {
    this.runs.push(await this.writeRun(rows));
  }

  /** Replaces the oldest runs by one, so that ties stay in order of arrival. */
  async mergeFirst(count: number): Promise<void> {
    const first = this.runs.slice(0, count);
    const merged = await this.writeRun(merge(first.map(readRun)));
    this.runs.splice(0, count, merged);
    for (const path of first) await rm(path);
  }

  private async writeRun(rows: AsyncIterable<readonly SortableRow[]>): Promise<string> {
    const path = join(this.folder, `run-${this.written++}`);
    const file = await open(path, "wx", 0o600);
    try {
      for await (const batch of rows) await file.appendFile(encode(batch));
    } finally {
      await file.close();
    }
    return path;
  }
}

/** Rows as key length, row length (32 bits each), key, row. */
function encode(rows: readonly SortableRow[]): Uint8Array {
  const size = rows.reduce((total, row) => total + 8 + row.key.length + row.canonical.length, 0);
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const { key, canonical } of rows) {
    view.setUint32(at, key.length);
    view.setUint32(at + 4, canonical.length);
    bytes.set(key, at + 8);
    bytes.set(canonical, at + 8 + key.length);
    at += 8 + key.length + canonical.length;
  }
  return bytes;
}

const readBytes = 256 * 1024;

async function* readRun(path: string): AsyncGenerator<SortableRow> {
  const file = await open(path, "r");
  try {
    let buffer = new Uint8Array(0);
    const fill = async (needed: number): Promise<boolean> => {
      while (buffer.length < needed) {
        const more = new Uint8Array(Math.max(readBytes, needed - buffer.length));
        const { bytesRead } = await file.read(more);
        if (bytesRead === 0) return false;
        const joined = new Uint8Array(buffer.length + bytesRead);
        joined.set(buffer);
        joined.set(more.subarray(0, bytesRead), buffer.length);
        buffer = joined;
      }
      return true;
    };
    while (await fill(8)) {
      const view = new DataView(buffer.buffer, buffer.byteOffset);
      const keyEnd = 8 + view.getUint32(0);
      const end = keyEnd + view.getUint32(4);
      if (!(await fill(end))) throw new Error("a sort run is cut short");
      yield { key: buffer.slice(8, keyEnd), canonical: buffer.slice(keyEnd, end) };
      buffer = buffer.subarray(end);
    }
  } finally {
    await file.close();
  }
}

interface Head {
  readonly run: number;
  readonly rows: AsyncGenerator<SortableRow>;
  row: SortableRow;
}

/** Merges sorted runs through a binary heap of their heads; of equal keys the earlier run comes first. */
async function* merge(runs: readonly AsyncGenerator<SortableRow>[]): AsyncIterable<readonly SortableRow[]> {
  const heap: Head[] = [];
  try {
    for (const [run, rows] of runs.entries()) {
      const first = await rows.next();
      if (first.done !== true) push(heap, { run, rows, row: first.value });
    }
    let batch: SortableRow[] = [];
    for (let top = heap[0]; top !== undefined; top = heap[0]) {
      batch.push(top.row);
      if (batch.length === batchRows) {
        yield batch;
        batch = [];
      }
      const next = await top.rows.next();
      if (next.done !== true) top.row = next.value;
      else {
        const last = heap.pop();
        if (last === undefined || heap.length === 0) break;
        heap[0] = last;
      }
      sink(heap);
    }
    if (batch.length > 0) yield batch;
  } finally {
    for (const rows of runs) await rows.return(undefined);
  }
}

function isBefore(left: Head, right: Head): boolean {
  const order = compareBytes(left.row.key, right.row.key);
  return order < 0 || (order === 0 && left.run < right.run);
}

function push(heap: Head[], head: Head): void {
  let at = heap.length;
  heap.push(head);
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (!isBefore(head, heap[parent] as Head)) break;
    heap[at] = heap[parent] as Head;
    at = parent;
  }
  heap[at] = head;
}

function sink(heap: Head[]): void {
  const head = heap[0] as Head;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && isBefore(heap[child + 1] as Head, heap[child] as Head)) child += 1;
    if (!isBefore(heap[child] as Head, head)) break;
    heap[at] = heap[child] as Head;
    at = child;
  }
  heap[at] = head;
}
