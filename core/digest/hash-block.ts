import type { Hasher } from "./hasher.ts";

const blockBytes = 64 * 1024;
const utf8 = new TextEncoder();

/** Gathers small pieces into one block before they reach the hasher: a call per row would cost more than the hash itself. */
export class HashBlock {
  private readonly hasher: Hasher;
  private readonly block = new Uint8Array(blockBytes);
  private used = 0;

  constructor(hasher: Hasher) {
    this.hasher = hasher;
  }

  /** Appends bytes, or the UTF-8 of a well-formed text. */
  add(piece: Uint8Array | string): void {
    // A UTF-16 unit takes at most three UTF-8 bytes, so encodeInto never stops early.
    const worst = typeof piece === "string" ? piece.length * 3 : piece.length;
    if (worst > blockBytes - this.used) this.flush();
    if (worst > blockBytes) {
      this.hasher.update(typeof piece === "string" ? utf8.encode(piece) : piece);
    } else if (typeof piece === "string") {
      this.used += utf8.encodeInto(piece, this.block.subarray(this.used)).written;
    } else {
      this.block.set(piece, this.used);
      this.used += piece.length;
    }
  }

  /** Appends one ASCII character. */
  addAscii(code: number): void {
    if (this.used === blockBytes) this.flush();
    this.block[this.used++] = code;
  }

  hex(): string {
    this.flush();
    return this.hasher.hex();
  }

  private flush(): void {
    if (this.used > 0) this.hasher.update(this.block.subarray(0, this.used));
    this.used = 0;
  }
}
