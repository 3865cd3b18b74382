import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Encoding } from "../../core/encoding/encoding.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Driver, DriverPlan, DriverTraits } from "../../drivers/driver.ts";
import { createFileTransferDriver } from "../../drivers/file-transfer/file-transfer-driver.ts";
import type { ObjectStore } from "../../drivers/file-transfer/object-store.ts";
import type { ConsumerIdentity } from "../../drivers/file-transfer/prove-destination.ts";
import { type Around, aroundStore } from "../faults/around.ts";
import { collect, sha256Hex } from "../faults/bodies.ts";
import type { DriverRig } from "./driver.ts";

/** What a file transport's test brings; the rest of a rig follows from the port. */
export interface FilePlace {
  readonly traits: DriverTraits;
  /** The destination's settings, as a person wrote them. */
  readonly settings: JsonObject;
  openWriter(): ObjectStore;
  /** A store with the identity that reads back. */
  openReader(): ObjectStore;
  /** Who reads back, when that is not the writer. */
  readonly consumer?: ConsumerIdentity;
  /** Writes or replaces an object behind the port's back. */
  replace(key: string, bytes: Uint8Array): Promise<void>;
  readonly canaries: readonly string[];
  close(): Promise<void>;
}

export interface FileDriverOptions {
  readonly writer?: Around;
  readonly reader?: Around;
  readonly fingerprint?: string;
  readonly encoding?: Partial<Encoding>;
}

/** A rig for a driver over an object store. */
export interface FileRig extends DriverRig {
  openDriverWith(options: FileDriverOptions): Driver;
  /** The writer's store, without faults. */
  readonly store: ObjectStore;
  replace(key: string, bytes: Uint8Array): Promise<void>;
  /** Stored bytes of a bare name in the plan's folder. */
  read(plan: DriverPlan, name: string): Promise<Uint8Array | undefined>;
  /** Reader stores that drivers of this rig have opened so far. */
  readersOpened(): number;
}

/** Three rows per part, so that a few rows make several parts. */
const encoding: Encoding = { format: "jsonl", compression: "none", rowsPerPart: 3 };

/** Makes a rig of a place. */
export async function createFileRig(place: FilePlace): Promise<FileRig> {
  const spoolDirectory = await mkdtemp(join(tmpdir(), "waybill-spool-"));
  const store = place.openWriter();
  const signal = new AbortController().signal;
  let readersOpened = 0;
  const wrapped = (opened: ObjectStore, around: Around | undefined): ObjectStore =>
    around === undefined ? opened : aroundStore(opened, around);
  const openDriverWith = (options: FileDriverOptions): Driver => {
    const { fingerprint } = options;
    return createFileTransferDriver({
      traits: place.traits,
      settings: { encoding: { ...encoding, ...options.encoding }, template: [] },
      writer: wrapped(place.openWriter(), options.writer),
      openReader: () => {
        readersOpened++;
        return wrapped(place.openReader(), options.reader);
      },
      spoolDirectory,
      ...(place.consumer === undefined ? {} : { consumer: place.consumer }),
      ...(fingerprint === undefined ? {} : { fingerprint: () => fingerprint }),
    });
  };
  const read = async (plan: DriverPlan, name: string) =>
    collect(await store.open(`${folderOf(plan)}/${name}`, { signal }));
  const contents = async (plan: DriverPlan): Promise<ReadonlyMap<string, string>> => {
    const found = new Map<string, string>();
    for await (const { key } of store.list(folderOf(plan), { signal })) {
      const bytes = await collect(await store.open(key, { signal }));
      if (bytes !== undefined) found.set(key, sha256Hex(bytes));
    }
    return new Map([...found].sort());
  };

  return {
    settings: place.settings,
    canaries: place.canaries,
    store,
    openDriver: async () => openDriverWith({}),
    openDriverWith,
    replace: place.replace,
    read,
    readersOpened: () => readersOpened,
    contents,
    async commitMarks(plan) {
      return [...(await contents(plan)).keys()].filter((key) => key.endsWith("/manifest.json")).length;
    },
    async damage(plan) {
      const bytes = await read(plan, partsOf(plan)[0] ?? "");
      if (bytes === undefined) throw new Error("there is no part to damage");
      await place.replace(`${folderOf(plan)}/${partsOf(plan)[0]}`, flipped(bytes));
    },
    async close() {
      await store.close();
      await rm(spoolDirectory, { recursive: true, force: true });
      await place.close();
    },
  };
}

/** Key of a plan's folder. */
export function folderOf(plan: DriverPlan): string {
  return String(plan["folder"]);
}

/** Names of a plan's data objects. */
export function partsOf(plan: DriverPlan): readonly string[] {
  return plan["parts"] as readonly string[];
}

/** The same bytes with one bit changed in the middle: the size stays. */
export function flipped(bytes: Uint8Array): Uint8Array {
  const changed = Uint8Array.from(bytes);
  const middle = Math.floor(changed.length / 2);
  changed[middle] = (changed[middle] ?? 0) ^ 1;
  return changed;
}
