import type { ByteSource } from "../../core/bytes.ts";

/** What a store can say about one object without reading it. */
export interface ObjectFacts {
  readonly sizeBytes: number;
  /** Provider's name of exactly these bytes (VersionId, generation), decoded. Absent where the store keeps no versions. */
  readonly nativeVersion?: string;
  /** Lower-case hex, only when the store itself computed it over the bytes it stored; never what a writer declared. */
  readonly sha256?: string;
}

export interface ListedObject extends ObjectFacts {
  readonly key: string;
}

export interface CallOptions {
  readonly signal: AbortSignal;
}

export interface PutOptions extends CallOptions {
  readonly contentType: string;
  /** `Attempt.key`: part of every staging name (temporary file, block id), so that two tries never share one. */
  readonly attemptKey: string;
  /** False: the name is not looked up before, so that only the exclusive write itself can refuse. Default true, which saves uploads. */
  readonly lookFirst?: boolean;
  /** Told to the store in place of the body's own hash, to see whether it checks. Lower-case hex; no effect without `sendsChecksum`. */
  readonly declaredSha256?: string;
}

export interface OpenOptions extends CallOptions {
  /** Bytes of exactly this version; without it, the ones a reader of the plain key gets. */
  readonly nativeVersion?: string;
}

/**
 * Where manifest-last delivery puts bytes. A store that cannot keep a promise must fail, never pretend.
 * Keys are relative to the destination, `/`-separated and safe (see layout.ts); a store still refuses one that is not.
 * Every method throws only DeliveryError, or the signal's reason unchanged. Retry and fault injection wrap the port from outside.
 */
export interface ObjectStore {
  /** The destination as a URL without credentials, without a trailing slash. */
  readonly location: string;
  /** True when the store is told the SHA-256 of a body and has to refuse other bytes. Absent: only our own check of the body stands. */
  readonly sendsChecksum?: boolean;
  /**
   * Creates `key` from `body`, streamed; when it is taken, changes nothing and says so, whatever is there. Of racing callers exactly
   * one gets `created`. The object appears complete or not at all: a body that ends early, or is not the bytes its size and sha256
   * promise, is REVISION_UNREADABLE and leaves nothing at `key`. After a thrown error the object may or may not be there.
   */
  putIfAbsent(key: string, body: ByteSource, options: PutOptions): Promise<{ readonly outcome: "created" | "exists" }>;
  /** Bytes as stored, never decoded; undefined when there is no such object. Opens lazily: an unread stream holds nothing. */
  open(key: string, options: OpenOptions): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** Undefined when there is no such object. */
  stat(key: string, options: CallOptions): Promise<ObjectFacts | undefined>;
  /** Removes the object and what only it needed. Absent already is success. */
  remove(key: string, options: CallOptions): Promise<void>;
  /** Objects below `folder/`, any order, possibly without the newest. For sweeping only: what a manifest says never comes from here. */
  list(folder: string, options: CallOptions): AsyncIterable<ListedObject>;
  /**
   * Removes what interrupted writes left below `folder/` (temporary files, unfinished uploads) and counts it. Never an object.
   * `startedBeforeUs` spares younger ones, which may still be written.
   */
  collectLeftovers(folder: string, options: CallOptions & { readonly startedBeforeUs?: bigint }): Promise<number>;
  close(): Promise<void>;
}
