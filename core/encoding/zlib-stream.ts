import type { Transform } from "node:stream";
import type { ZlibOptions } from "node:zlib";

/** Lets a zlib stream keep all output of one step: without it the stream waits for a reader before it takes the step's end. */
export const unboundedOutput: ZlibOptions & { readonly highWaterMark: number } = {
  highWaterMark: Number.MAX_SAFE_INTEGER,
};

/** Runs a zlib stream step by step: feed bytes, take what came out of them. The caller bounds a step by what it feeds. */
export class ZlibStepper {
  /** Bytes given to `step` so far. */
  fedBytes = 0;
  private readonly stream: Transform & { readonly bytesWritten: number };

  constructor(stream: Transform & { readonly bytesWritten: number }) {
    this.stream = stream;
  }

  /** Bytes the codec has used; less than `fedBytes` once its stream has ended inside them. */
  get consumedBytes(): number {
    return this.stream.bytesWritten;
  }

  async step(input: Uint8Array): Promise<readonly Buffer[]> {
    this.fedBytes += input.length;
    await new Promise<void>((resolve, reject) => {
      this.stream.once("error", reject);
      this.stream.write(input, (error) => {
        this.stream.off("error", reject);
        if (error) reject(error);
        else resolve();
      });
    });
    const output: Buffer[] = [];
    for (;;) {
      const chunk: Buffer | null = this.stream.read();
      if (chunk === null) return output;
      output.push(chunk);
    }
  }

  async finish(): Promise<readonly Buffer[]> {
    // The end of writing comes before the codec's last output; only the end of reading comes behind it.
    this.stream.end();
    const output: Buffer[] = [];
    for await (const chunk of this.stream) output.push(chunk);
    return output;
  }

  close(): void {
    this.stream.destroy();
  }
}
