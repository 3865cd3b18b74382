import type { ByteSource } from "../bytes.ts";
import type { Revision } from "../model/records.ts";
import type { RowProfile } from "./profile.ts";

/** The official documents of a report definition, byte for byte as pinned, plus our own definition file. */
export interface DefinitionDocuments {
  readonly reportDefinitionId: string;
  readonly reportingProfile: string;
  /** report-definition document; its sha256 is `report_definition_sha256`. */
  readonly reportDefinition: PinnedDocument;
  /** row schema, JSON Schema 2020-12 with the row profile in `x-waybill-*` and `x-adcp-control-total` annotations. */
  readonly rowSchema: PinnedDocument;
  /** canonicalization contract with golden vectors, re-run before it is trusted. */
  readonly canonicalization: PinnedDocument;
  readonly profile: RowProfile;
}

export interface PinnedDocument {
  readonly bytes: Uint8Array;
  readonly sha256: string;
  /** Public https URI the buyer finds it under. */
  readonly uri: string;
}

export interface RetainedPart {
  /** `rows-00000.parquet` */
  readonly name: string;
  readonly sizeBytes: number;
  readonly sha256: string;
  readonly rowCount: number;
}

/** What a retained folder's `revision.json` says; written last, so its presence means complete. */
export interface RetainedRevision {
  readonly revision: Revision;
  /** zstd Parquet in canonical key order, which is also the served order. */
  readonly parts: readonly RetainedPart[];
  /** Exact totals per media buy, for coverage and diffs. Empty when the profile names no media buy member. */
  readonly mediaBuyTotals: readonly MediaBuyTotals[];
}

export interface MediaBuyTotals {
  readonly media_buy_id: string;
  readonly row_count: number;
  /** Same names, types and scales as the revision's control totals. */
  readonly control_totals: Revision["control_totals"];
}

/**
 * Immutable home of retained content, keyed by `reporting_revision_id`.
 * put: create-only, complete or nothing; putting equal content again is success, other content under the same id is a
 * DeliveryError CONTENT_CONFLICT. open: every byte is re-hashed while read; a mismatch is DeliveryError REVISION_UNREADABLE.
 */
export interface RetainedStore {
  put(
    retained: RetainedRevision,
    documents: DefinitionDocuments,
    parts: ReadonlyMap<string, ByteSource>,
  ): Promise<void>;
  describe(
    revisionId: string,
  ): Promise<{ readonly retained: RetainedRevision; readonly documents: DefinitionDocuments } | undefined>;
  /** Bytes of one part; the caller hashes through `ByteSource.sha256` of the description. */
  openPart(revisionId: string, part: RetainedPart): AsyncIterable<Uint8Array>;
}
