import type { LogicalRow } from "../rows/profile.ts";
import type { PartFile } from "./part-file.ts";

/** Makes the data objects of one revision in one encoding, one after the other. */
export interface PartMaker {
  /**
   * Writes the rows to the part's temporary file and proves it by decoding it again. `firstNumber` is the served number of the first
   * row, from 1. Gives the number of rows. DeliveryError ROW_NOT_ENCODABLE when the format cannot hold them without loss.
   */
  make(part: PartFile, rows: AsyncIterable<readonly LogicalRow[]>, firstNumber: number): Promise<number>;
  close(): Promise<void>;
}
