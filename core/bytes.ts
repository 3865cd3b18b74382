/** Bytes that can be read again and again, with their size and hash known beforehand. */
export interface ByteSource {
  readonly sizeBytes: number;
  /** Lower-case hex SHA-256 of exactly the bytes `open` yields. */
  readonly sha256: string;
  /** A fresh stream from the first byte. */
  open(): AsyncIterable<Uint8Array>;
}
