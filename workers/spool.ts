import { randomUUID } from "node:crypto";
import * as promises from "node:fs/promises";
import { join } from "node:path";
import { errnoOf } from "../drivers/provider-errors.ts";

/** A folder of the spool in use. */
export interface SpoolFolder {
  readonly directory: string;
  /** Lets `trim` remove it. Call once. */
  release(): void;
}

/** Work files that can always be made again: retained parts and encoded files. Bounded by a quota, content-addressed by its keys. */
export interface Spool {
  /**
   * The folder `key`, filled by `make` if it is not there. Of concurrent callers one makes it; a folder under its name is complete.
   * When the disk is full, what nobody uses is removed and `make` called once more, with another directory.
   */
  use(key: string, make: (directory: string) => Promise<void>): Promise<SpoolFolder>;
  /** Nobody gets a folder that is there now and whose key starts with `prefix`; those in use are removed when they are released and trimmed. */
  drop(prefix: string): Promise<void>;
  /** Removes the longest unused folders until the rest fits the quota. Returns bytes left. */
  trim(): Promise<number>;
}

/** The calls to the operating system that the spool itself makes, so that tests can interrupt each of them. */
export type SpoolFileSystem = Pick<typeof promises, "lstat" | "mkdir" | "readdir" | "rename" | "rm" | "utimes">;

export interface SpoolOptions {
  /** Created if missing; belongs to one process. */
  readonly directory: string;
  /** Bytes that unused folders may take. Default 10 GiB. */
  readonly quotaBytes?: number;
  readonly fileSystem?: SpoolFileSystem;
}

const defaultQuotaBytes = 10 * 1024 ** 3;
/** Anything half made or half removed. */
const temporaryPrefix = ".tmp-";

/** A folder's name: its key, and how often the key was dropped while in use. Keys hold no dot. */
interface FolderName {
  readonly key: string;
  readonly generation: number;
}

function nameOf({ key, generation }: FolderName): string {
  return generation === 0 ? key : `${key}.${generation}`;
}

function parseName(name: string): FolderName {
  const [key = "", generation = "0"] = name.split(".");
  return { key, generation: Number(generation) };
}

/** Opens the spool and removes what a killed process left half made, or had dropped. */
export async function openSpool(options: SpoolOptions): Promise<Spool> {
  const root = options.directory;
  const fs = options.fileSystem ?? promises;
  const quotaBytes = options.quotaBytes ?? defaultQuotaBytes;
  /** Counts holders by folder name. */
  const inUse = new Map<string, number>();
  const making = new Map<string, Promise<void>>();
  const generations = new Map<string, number>();
  /** Looking and renaming take turns, so that nothing is removed between being found and being held. */
  let turn: Promise<unknown> = Promise.resolve();

  await fs.mkdir(root, { recursive: true, mode: 0o700 });
  await removeLeftovers();

  async function removeLeftovers(): Promise<void> {
    const names = await fs.readdir(root);
    for (const { key, generation } of names.map(parseName)) {
      if (generation > (generations.get(key) ?? 0)) generations.set(key, generation);
    }
    for (const name of names) if (name.startsWith(".") || isDropped(name)) await remove(join(root, name));
  }

  function isDropped(name: string): boolean {
    const { key, generation } = parseName(name);
    return generation < (generations.get(key) ?? 0);
  }

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = turn.then(work);
    turn = result.catch(() => undefined);
    return result;
  }

  function hold(name: string): () => void {
    inUse.set(name, (inUse.get(name) ?? 0) + 1);
    return () => {
      const count = (inUse.get(name) ?? 1) - 1;
      if (count === 0) inUse.delete(name);
      else inUse.set(name, count);
    };
  }

  async function remove(path: string): Promise<void> {
    await fs.rm(path, { recursive: true, force: true });
  }

  /** False when it was not there. Noting the use is what `trim` goes by. */
  function touch(name: string): Promise<boolean> {
    return inTurn(async () => {
      const now = new Date();
      return await found(fs.utimes(join(root, name), now, now));
    });
  }

  async function fill(name: string, make: (directory: string) => Promise<void>): Promise<void> {
    const staging = join(root, `${temporaryPrefix}${randomUUID()}`);
    try {
      await fs.mkdir(staging, { mode: 0o700 });
      await make(staging);
      await fs.rename(staging, join(root, name));
    } catch (error) {
      // The error that matters is the first; what stays is removed when the spool is opened again.
      await remove(staging).catch(() => undefined);
      throw error;
    }
  }

  async function fillWithRoom(name: string, make: (directory: string) => Promise<void>): Promise<void> {
    try {
      await fill(name, make);
    } catch (error) {
      if (errnoOf(error) !== "ENOSPC" || (await evictDownTo(0)).removed === 0) throw error;
      await fill(name, make);
    }
  }

  /** Renaming first: a half removed folder must not have a name that says it is complete. */
  async function evict(name: string): Promise<boolean> {
    const rubbish = join(root, `${temporaryPrefix}${randomUUID()}`);
    const taken = await inTurn(async () => !inUse.has(name) && (await found(fs.rename(join(root, name), rubbish))));
    if (taken) await remove(rubbish);
    return taken;
  }

  async function evictDownTo(limitBytes: number): Promise<{ readonly bytes: number; readonly removed: number }> {
    const folders = [];
    for (const name of await fs.readdir(root)) {
      const facts = name.startsWith(".") ? undefined : await factsOf(name);
      if (facts !== undefined) folders.push(facts);
    }
    let bytes = folders.reduce((sum, folder) => sum + folder.bytes, 0);
    let removed = 0;
    for (const folder of folders.sort((a, b) => a.usedAtMs - b.usedAtMs)) {
      if (bytes <= limitBytes && !isDropped(folder.name)) continue;
      if (!(await evict(folder.name))) continue;
      bytes -= folder.bytes;
      removed++;
    }
    return { bytes, removed };
  }

  /** Undefined when someone else removed it meanwhile. */
  async function factsOf(name: string) {
    const path = join(root, name);
    try {
      const { mtimeMs } = await fs.lstat(path);
      let bytes = 0;
      for (const file of await fs.readdir(path)) bytes += (await fs.lstat(join(path, file))).size;
      return { name, usedAtMs: mtimeMs, bytes };
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  return {
    async use(key, make) {
      for (;;) {
        const name = nameOf({ key, generation: generations.get(key) ?? 0 });
        const release = hold(name);
        try {
          if (await touch(name)) return { directory: join(root, name), release };
          const byOther = making.get(name);
          const made = byOther ?? fillWithRoom(name, make).finally(() => making.delete(name));
          if (byOther === undefined) {
            making.set(name, made);
            await made;
            return { directory: join(root, name), release };
          }
          // Its failure may be its own abort: then this caller makes the folder.
          await made.catch(() => undefined);
        } catch (error) {
          release();
          throw error;
        }
        release();
      }
    },

    async drop(prefix) {
      for (const name of await fs.readdir(root)) {
        if (!name.startsWith(prefix) || name.startsWith(".")) continue;
        if (await evict(name)) continue;
        const { key, generation } = parseName(name);
        generations.set(key, Math.max(generation + 1, generations.get(key) ?? 0));
      }
    },

    trim: async () => (await evictDownTo(quotaBytes)).bytes,
  };
}

async function found(call: Promise<unknown>): Promise<boolean> {
  try {
    await call;
    return true;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return false;
    throw error;
  }
}
