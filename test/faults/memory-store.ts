import { createHash } from "node:crypto";
import { DeliveryError } from "../../core/errors.ts";
import { checkedBody } from "../../drivers/file-transfer/checked-body.ts";
import { isSafeKey } from "../../drivers/file-transfer/layout.ts";
import type { ObjectStore } from "../../drivers/file-transfer/object-store.ts";
import { guarded } from "../../drivers/provider-errors.ts";

/** A place that several store objects share. `computesSha256`: `stat` answers a hash of the stored bytes, as S3 can. */
export interface MemoryPlace {
  readonly objects: Map<string, { bytes: Uint8Array; version: number }>;
  readonly unfinished: Map<string, bigint>;
  readonly versions: boolean;
  readonly computesSha256: boolean;
}

export function createMemoryPlace(
  options: { readonly versions?: boolean; readonly computesSha256?: boolean } = {},
): MemoryPlace {
  return {
    objects: new Map(),
    unfinished: new Map(),
    versions: options.versions ?? false,
    computesSha256: options.computesSha256 ?? false,
  };
}

/** The smallest store that keeps every promise of the port; the suites run on it to show that they ask for nothing local. */
export function createMemoryStore(place: MemoryPlace): ObjectStore {
  const { objects, unfinished } = place;
  const factsOf = (stored: { bytes: Uint8Array; version: number }) => ({
    sizeBytes: stored.bytes.length,
    ...(place.versions ? { nativeVersion: `v${stored.version}` } : {}),
    ...(place.computesSha256 ? { sha256: createHash("sha256").update(stored.bytes).digest("hex") } : {}),
  });
  const safe = (key: string): void => {
    if (!isSafeKey(key) || !key.includes("/")) throw new DeliveryError("DESTINATION_UNSAFE");
  };

  return {
    location: "memory://place",
    putIfAbsent: (key, body, put) =>
      guarded(put.signal, async () => {
        safe(key);
        const chunks: Uint8Array[] = [];
        for await (const chunk of checkedBody(body, put.signal)) chunks.push(Uint8Array.from(chunk));
        if (objects.has(key)) return { outcome: "exists" };
        objects.set(key, { bytes: Buffer.concat(chunks), version: 1 });
        return { outcome: "created" };
      }),
    open: (key, open) =>
      guarded(open.signal, async () => {
        safe(key);
        const stored = objects.get(key);
        if (stored === undefined) return undefined;
        if (open.nativeVersion !== undefined && open.nativeVersion !== factsOf(stored).nativeVersion) return undefined;
        return stream(stored.bytes, open.signal);
      }),
    stat: (key, call) =>
      guarded(call.signal, async () => {
        safe(key);
        const stored = objects.get(key);
        return stored === undefined ? undefined : factsOf(stored);
      }),
    remove: (key, call) =>
      guarded(call.signal, async () => {
        safe(key);
        objects.delete(key);
      }),
    async *list(folder, call) {
      for (const [key, stored] of objects) {
        call.signal.throwIfAborted();
        if (folder === "" || key.startsWith(`${folder}/`)) yield { key, ...factsOf(stored) };
      }
    },
    collectLeftovers: async (folder, call) => {
      const old = [...unfinished].filter(
        ([key, startedUs]) =>
          (folder === "" || key.startsWith(`${folder}/`)) &&
          (call.startedBeforeUs === undefined || startedUs < call.startedBeforeUs),
      );
      for (const [key] of old) unfinished.delete(key);
      return old.length;
    },
    close: async () => undefined,
  };
}

async function* stream(bytes: Uint8Array, signal: AbortSignal): AsyncIterable<Uint8Array> {
  for (let offset = 0; offset < bytes.length; offset += 64 * 1024) {
    signal.throwIfAborted();
    yield bytes.subarray(offset, offset + 64 * 1024);
  }
}
