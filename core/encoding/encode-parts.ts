import { DeliveryError } from "../errors.ts";
import type { LogicalRow, RowProfile } from "../rows/profile.ts";
import type { EncodedPart, Encoding } from "./encoding.ts";
import { createParquetPartMaker } from "./parquet-part.ts";
import { PartFile } from "./part-file.ts";
import type { PartMaker } from "./part-maker.ts";
import { partName } from "./part-name.ts";
import { KeyOrder } from "./part-proof.ts";
import { RowCursor } from "./row-cursor.ts";
import { createTextPartMaker } from "./text-part.ts";

export interface EncodePartsInput {
  /** The revision's rows in served order, which is key order. */
  readonly rows: AsyncIterable<readonly LogicalRow[]>;
  /** Local paths of the retained Parquet parts that hold the same rows, in order. Parquet is made from them. */
  readonly retainedFiles: readonly string[];
  readonly profile: RowProfile;
  readonly encoding: Encoding;
  /** Existing folder that the parts are made in. */
  readonly directory: string;
  readonly signal: AbortSignal;
  /** Told now and then how many rows were encoded so far. */
  readonly onProgress?: (rowsEncoded: number) => void;
}

/**
 * Encodes a revision into parts of `rowsPerPart` rows; a revision without rows is one part. Every part is hashed while it is written,
 * read back, decoded and compared with the rows before any of them gets its name, so a part under its name is whole and right.
 * DeliveryError ROW_NOT_ENCODABLE (its cause names row and member), REVISION_UNREADABLE when the rows are not in key order,
 * CONFIGURATION_INVALID for an encoding that does not exist. On an error or abort nothing is left behind.
 */
export async function encodeParts(input: EncodePartsInput): Promise<readonly EncodedPart[]> {
  const { encoding, directory, signal } = input;
  if (!isEncoding(encoding)) throw new DeliveryError("CONFIGURATION_INVALID");
  const cursor = new RowCursor(input.rows);
  const made: { readonly file: PartFile; readonly rowCount: number }[] = [];
  let maker: PartMaker | undefined;
  let rowsEncoded = 0;
  try {
    maker = await createMaker(input, (count) => {
      signal.throwIfAborted();
      rowsEncoded += count;
      input.onProgress?.(rowsEncoded);
    });
    let firstNumber = 1;
    do {
      signal.throwIfAborted();
      const file = new PartFile(directory, partName(made.length, encoding));
      made.push({ file, rowCount: 0 });
      const rowCount = await maker.make(file, cursor.take(encoding.rowsPerPart), firstNumber);
      made[made.length - 1] = { file, rowCount };
      firstNumber += rowCount;
    } while (!(await cursor.isDone()));
    const parts: EncodedPart[] = [];
    for (const { file, rowCount } of made) parts.push(await file.publish(rowCount));
    return parts;
  } finally {
    await maker?.close();
    await cursor.close();
    for (const { file } of made) await file.discard();
  }
}

async function createMaker(input: EncodePartsInput, onRows: (count: number) => void): Promise<PartMaker> {
  const { encoding, profile, signal } = input;
  const order = new KeyOrder(profile.primaryKeys);
  if (encoding.format === "parquet") {
    const { retainedFiles, directory } = input;
    return createParquetPartMaker(encoding, profile, retainedFiles, directory, order, signal, onRows);
  }
  return createTextPartMaker(encoding, encoding.format, profile, order, signal, onRows);
}

/** Whether these settings name an encoding that exists: snappy is Parquet only, levels are 1..9 (gzip) and 1..19 (zstd). */
export function isEncoding(encoding: Encoding): boolean {
  const { format, compression, level, rowsPerPart } = encoding;
  if (compression === "snappy" && format !== "parquet") return false;
  if (!Number.isSafeInteger(rowsPerPart) || rowsPerPart < 1) return false;
  const maxLevel = compression === "gzip" ? 9 : 19;
  return level === undefined || (Number.isInteger(level) && level >= 1 && level <= maxLevel);
}
