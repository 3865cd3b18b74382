import { randomUUID } from "node:crypto";
import { lstat, mkdir, readdir, rename, rm, utimes } from "node:fs/promises";
import { join } from "node:path";

/** A folder of the spool in use. */
export interface SpoolFolder {
  readonly directory: string;
  /** Lets `trim` remove it. Call once. */
  release(): void;
}

/** Work files that can always be made again: retained parts and encoded files. Bounded by a quota, content-addressed by its keys. */
export interface Spool {
  /** The folder `key`, filled by `make` if it is not there. Of concurrent callers one makes it; a folder under its name is complete. */
  use(key: string, make: (directory: string) => Promise<void>): Promise<SpoolFolder>;
  /** Removes folders whose key starts with `prefix`, except those in use. */
  drop(prefix: string): Promise<void>;
  /** Removes the longest unused folders until the rest fits the quota. Returns bytes left. */
  trim(): Promise<number>;
}

export interface SpoolOptions {
  /** Created if missing; belongs to one process. */
  readonly directory: string;
  /** Bytes that unused folders may take. Default 10 GiB. */
  readonly quotaBytes?: number;
}

const makingPrefix = ".making-";

/** Opens the spool and removes what a killed process left half made. */
export async function openSpool(options: SpoolOptions): Promise<Spool> {
  const root = options.directory;
  const quotaBytes = options.quotaBytes ?? 10 * 1024 ** 3;
  await mkdir(root, { recursive: true, mode: 0o700 });
  for (const name of await readdir(root)) {
    if (name.startsWith(makingPrefix)) await rm(join(root, name), { recursive: true, force: true });
  }
  const inUse = new Map<string, number>();
  const making = new Map<string, Promise<void>>();

  async function ensure(key: string, make: (directory: string) => Promise<void>): Promise<void> {
    const target = join(root, key);
    if (await exists(target)) {
      const now = new Date();
      await utimes(target, now, now);
      return;
    }
    const staging = join(root, `${makingPrefix}${randomUUID()}`);
    try {
      await mkdir(staging, { mode: 0o700 });
      await make(staging);
      await rename(staging, target);
    } finally {
      await rm(staging, { recursive: true, force: true });
    }
  }

  return {
    async use(key, make) {
      inUse.set(key, (inUse.get(key) ?? 0) + 1);
      const release = (): void => {
        const count = (inUse.get(key) ?? 1) - 1;
        if (count === 0) inUse.delete(key);
        else inUse.set(key, count);
      };
      try {
        let made = making.get(key);
        if (made === undefined) {
          made = ensure(key, make).finally(() => making.delete(key));
          making.set(key, made);
        }
        await made;
      } catch (error) {
        release();
        throw error;
      }
      return { directory: join(root, key), release };
    },

    async drop(prefix) {
      for (const name of await readdir(root)) {
        if (name.startsWith(prefix) && !inUse.has(name)) await rm(join(root, name), { recursive: true, force: true });
      }
    },

    async trim() {
      const entries = await Promise.all(
        (await readdir(root))
          .filter((name) => !name.startsWith(makingPrefix))
          .map(async (name) => ({
            name,
            usedAtMs: (await lstat(join(root, name))).mtimeMs,
            bytes: await sizeOf(join(root, name)),
          })),
      );
      let total = entries.reduce((sum, entry) => sum + entry.bytes, 0);
      for (const entry of entries.sort((a, b) => a.usedAtMs - b.usedAtMs)) {
        if (total <= quotaBytes) break;
        if (inUse.has(entry.name)) continue;
        await rm(join(root, entry.name), { recursive: true, force: true });
        total -= entry.bytes;
      }
      return total;
    },
  };
}

async function exists(path: string): Promise<boolean> {
  return await lstat(path).then(
    () => true,
    () => false,
  );
}

async function sizeOf(directory: string): Promise<number> {
  let bytes = 0;
  for (const name of await readdir(directory)) bytes += (await lstat(join(directory, name))).size;
  return bytes;
}
