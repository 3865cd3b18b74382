import type { LogicalRow } from "../rows/profile.ts";

/** Rows of a stream of batches, taken in runs of any length. */
export class RowCursor {
  private readonly source: AsyncIterator<readonly LogicalRow[]>;
  private batch: readonly LogicalRow[] = [];
  private position = 0;
  private ended = false;

  constructor(batches: AsyncIterable<readonly LogicalRow[]>) {
    this.source = batches[Symbol.asyncIterator]();
  }

  /** Whether no row is left; reads ahead when it must. */
  async isDone(): Promise<boolean> {
    while (this.position === this.batch.length && !this.ended) {
      const next = await this.source.next();
      if (next.done === true) this.ended = true;
      else {
        this.batch = next.value;
        this.position = 0;
      }
    }
    return this.position === this.batch.length;
  }

  /** Up to `count` rows, in batches. */
  async *take(count: number): AsyncIterable<readonly LogicalRow[]> {
    for (let left = count; left > 0 && !(await this.isDone()); ) {
      const rows = this.batch.slice(this.position, this.position + left);
      this.position += rows.length;
      left -= rows.length;
      yield rows;
    }
  }

  /** Ends the source, so that what it holds is closed. */
  async close(): Promise<void> {
    if (!this.ended) await this.source.return?.();
  }
}
