/** Reads a stream of chunks by counts of bytes. */
export class ByteReader {
  /** Bytes taken from the source so far, read or not. */
  sourceBytes = 0;
  private readonly source: AsyncIterator<Uint8Array>;
  private chunk: Uint8Array = new Uint8Array(0);
  private ended = false;

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.source = chunks[Symbol.asyncIterator]();
  }

  /** The next `count` bytes; fewer only at the end of the stream. */
  async read(count: number): Promise<Uint8Array> {
    if (this.chunk.length >= count) return this.take(count);
    const pieces: Uint8Array[] = [];
    let length = 0;
    while (length < count) {
      if (this.chunk.length === 0 && !(await this.fill())) break;
      const piece = this.take(count - length);
      pieces.push(piece);
      length += piece.length;
    }
    const [first] = pieces;
    if (pieces.length === 1 && first !== undefined) return first;
    const all = new Uint8Array(length);
    let at = 0;
    for (const piece of pieces) {
      all.set(piece, at);
      at += piece.length;
    }
    return all;
  }

  /** Passes over `count` bytes; false when the stream ended before. */
  async skip(count: number): Promise<boolean> {
    for (let left = count; left > 0; ) {
      if (this.chunk.length === 0 && !(await this.fill())) return false;
      left -= this.take(left).length;
    }
    return true;
  }

  /** Ends the source early, so that what it holds is closed. */
  async close(): Promise<void> {
    if (!this.ended) await this.source.return?.();
  }

  private take(count: number): Uint8Array {
    const taken = this.chunk.subarray(0, count);
    this.chunk = this.chunk.subarray(taken.length);
    return taken;
  }

  private async fill(): Promise<boolean> {
    while (this.chunk.length === 0 && !this.ended) {
      const next = await this.source.next();
      if (next.done === true) this.ended = true;
      else {
        this.chunk = next.value;
        this.sourceBytes += next.value.length;
      }
    }
    return this.chunk.length > 0;
  }
}
