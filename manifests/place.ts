/**
 * Where a verifier reads a delivered folder from. Names are bare (`manifest.json`, `part-00000.jsonl`), resolved against the manifest's own folder.
 * A place is opened with the reader's credentials and has no cache of the writer's bytes.
 */
export interface Place {
  /** For messages: the folder as the user named it, without credentials. */
  readonly location: string;
  /** Stored bytes, never decoded. `undefined` when there is no such object. Throws DeliveryError when it cannot tell. */
  open(name: string, options?: { readonly nativeVersion?: string }): Promise<AsyncIterable<Uint8Array> | undefined>;
}
