import type { Hasher } from "../core/digest/hasher.ts";
import type { DecodedRecord, DecodeLimits } from "../core/encoding/encoding.ts";
import type { Problem } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import type { LogicalRow, RowProfile } from "../core/rows/profile.ts";

export type { Hasher };

/** What the verifier needs from where it runs; the verifier itself imports nothing of Node. */
export interface VerifierPlatform {
  hasher(algorithm: "sha256" | "sha512"): Hasher;
  /** Streaming inflate of one gzip member or a zstd stream. Ends with a WaybillError problem RESOURCE_TOO_LARGE at a limit, INVALID_STREAM when damaged or followed by trailing bytes. */
  decompress(
    compression: "gzip" | "zstd",
    bytes: AsyncIterable<Uint8Array>,
    limits: DecodeLimits,
  ): AsyncIterable<Uint8Array>;
  /** Rows of one Parquet object, consumed from a stream that is hashed by the caller while it passes. */
  parquetRows(
    bytes: AsyncIterable<Uint8Array>,
    profile: RowProfile,
    limits: DecodeLimits,
  ): AsyncIterable<readonly DecodedRecord[]>;
  /** Sorts canonical rows by key bytes when files arrive unsorted; bounded memory. Yields in unsigned byte order of `key`. */
  sort(rows: AsyncIterable<readonly SortableRow[]>): AsyncIterable<readonly SortableRow[]>;
  /**
   * A check of rows against a row schema (JSON Schema 2020-12) of others, which may say more than a row profile does. Without it such
   * rules are reported as not checked. WaybillError `content` when the schema is no schema.
   */
  schemaCheck?(schema: JsonObject): SchemaCheck;
}

export interface SchemaCheck {
  check(row: LogicalRow, rowNumber: number): readonly Problem[];
  /** Sentences: rules of the schema that are not run, such as regular expressions of others. */
  readonly notChecked: readonly string[];
}

export interface SortableRow {
  readonly key: Uint8Array;
  readonly canonical: Uint8Array;
}
