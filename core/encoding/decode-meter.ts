import { WaybillError } from "../errors.ts";
import type { DecodeLimits } from "./encoding.ts";
import { tooLarge } from "./text-blocks.ts";

const ratioFromBytes = 1024 * 1024;

/** Counts one object's stored and decoded bytes while it is decompressed and ends it at its bounds. */
export class DecodeMeter {
  storedBytes = 0;
  decodedBytes = 0;
  private readonly limits: DecodeLimits;

  constructor(limits: DecodeLimits) {
    this.limits = limits;
  }

  /** Throws WaybillError RESOURCE_TOO_LARGE when `more` decoded bytes pass `maxDecodedBytes`, or with them the ratio passes `maxRatio`. */
  addDecoded(more: number): void {
    this.refuseBeyondMaximum(more);
    this.decodedBytes += more;
    const { maxRatio } = this.limits;
    if (this.decodedBytes > ratioFromBytes && this.decodedBytes > maxRatio * this.storedBytes) {
      throw tooLarge("decoded bytes per stored byte", `${maxRatio}`);
    }
  }

  /** Throws as addDecoded would, without counting: for sizes that a stream announces. */
  refuseBeyondMaximum(announced: number): void {
    const { maxDecodedBytes } = this.limits;
    if (this.decodedBytes + announced > maxDecodedBytes) throw tooLarge("decoded bytes", `${maxDecodedBytes} bytes`);
  }
}

/** A compressed stream that is damaged, cut short, or followed by bytes that do not belong to it. */
export function invalidStream(message: string, cause?: unknown): WaybillError {
  return new WaybillError(
    "content",
    [{ code: "INVALID_STREAM", message }],
    cause === undefined ? undefined : { cause },
  );
}
