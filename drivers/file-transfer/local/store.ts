import { createHash, randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { ByteSource } from "../../../core/bytes.ts";
import { DeliveryError } from "../../../core/errors.ts";
import { errnoOf, guarded } from "../../provider-errors.ts";
import { checkedBody } from "../checked-body.ts";
import { isSafeKey } from "../layout.ts";
import type { ListedObject, ObjectStore } from "../object-store.ts";
import { type LocalFacts, type LocalFile, type LocalFileSystem, nodeFileSystem } from "./file-system.ts";

const readChunkBytes = 256 * 1024;
const temporaryName = /^\.waybill-[A-Za-z0-9_-]+\.tmp$/;

export interface LocalStoreOptions {
  /** Absolute path of an existing folder; it may itself be a symbolic link, nothing below it may. Never created. */
  readonly root: string;
  readonly fileSystem?: LocalFileSystem;
}

/**
 * Objects as files below one folder. A file gets its name by link(2), which never replaces: complete, synced and exclusive in one
 * step, also between processes and on NFS. A file system without hard links is DESTINATION_UNSAFE. A folder that is not there is
 * DESTINATION_MISSING (an unmounted share must not fill the disk below it).
 */
export function createLocalStore(options: LocalStoreOptions): ObjectStore {
  const fs = options.fileSystem ?? nodeFileSystem;

  return {
    location: pathToFileURL(options.root).href,

    putIfAbsent: (key, body, put) =>
      guarded(put.signal, async () => {
        const { folder, name } = split(key);
        const path = await makeFolder(folder);
        const target = join(path, name);
        if (put.lookFirst !== false && (await factsOf(target)) !== undefined) return { outcome: "exists" };
        const temporary = join(path, temporaryNameFor(put.attemptKey));
        try {
          await writeComplete(temporary, body, put.signal);
          const outcome = await linkExclusively(temporary, target);
          await syncFolder(path);
          return { outcome };
        } finally {
          // Also after a failure: what is left at this name is never an object. A second error would hide the first.
          await fs.unlink(temporary).catch(() => undefined);
        }
      }),

    open: (key, open) =>
      guarded(open.signal, async () => {
        if (open.nativeVersion !== undefined) throw new DeliveryError("DESTINATION_UNSAFE");
        const path = await locate(key);
        return path !== undefined && (await factsOf(path)) !== undefined ? read(path, open.signal) : undefined;
      }),

    stat: (key, call) =>
      guarded(call.signal, async () => {
        const path = await locate(key);
        const facts = path === undefined ? undefined : await factsOf(path);
        return facts === undefined ? undefined : { sizeBytes: facts.size };
      }),

    remove: (key, call) =>
      guarded(call.signal, async () => {
        const path = await locate(key);
        if (path === undefined) return;
        await unlinkIfThere(path);
        await removeEmptyFolders(key, path);
      }),

    list: (folder, call) => list(folder, call.signal),

    collectLeftovers: (folder, call) =>
      guarded(call.signal, async () => {
        let collected = 0;
        for await (const entry of walk(folder)) {
          if (!temporaryName.test(entry.name)) continue;
          const path = join(entry.parent, entry.name);
          const startedUs = BigInt(Math.trunc((await fs.lstat(path)).mtimeMs)) * 1000n;
          if (call.startedBeforeUs !== undefined && startedUs >= call.startedBeforeUs) continue;
          if (await unlinkIfThere(path)) collected++;
        }
        return collected;
      }),

    close: async () => undefined,
  };

  /** The root without symbolic links in it, so that everything below can be compared with its real path. */
  async function realRoot(): Promise<string> {
    try {
      const root = await fs.realpath(options.root);
      if ((await fs.lstat(root)).isDirectory()) return root;
    } catch (error) {
      if (errnoOf(error) !== "ENOENT" && errnoOf(error) !== "ENOTDIR") throw error;
    }
    throw new DeliveryError("DESTINATION_MISSING");
  }

  /**
   * Path of a folder below the root, or undefined when there is none. Its real path must be the same text: a symbolic link on the
   * way, or a folder that differs only in case where the file system folds case, would put objects where the plan does not say.
   */
  async function realFolder(root: string, folder: string): Promise<string | undefined> {
    const path = join(root, folder);
    try {
      if ((await fs.realpath(path)) !== path) throw new DeliveryError("DESTINATION_UNSAFE");
      return path;
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  async function locate(key: string): Promise<string | undefined> {
    const { folder, name } = split(key);
    const path = await realFolder(await realRoot(), folder);
    return path === undefined ? undefined : join(path, name);
  }

  /** Again when a folder above vanished in between: another writer took it along with its last object. */
  async function makeFolder(folder: string): Promise<string> {
    for (let again = 3; ; again--) {
      try {
        return await makeFolderOnce(folder);
      } catch (error) {
        if (again === 0 || errnoOf(error) !== "ENOENT") throw error;
      }
    }
  }

  async function makeFolderOnce(folder: string): Promise<string> {
    const root = await realRoot();
    let path = root;
    for (const segment of folder.split("/")) {
      const parent = path;
      path = join(parent, segment);
      try {
        await fs.mkdir(path);
        await syncFolder(parent);
      } catch (error) {
        if (errnoOf(error) !== "EEXIST") throw error;
        // A dangling link "exists" for mkdir and not for realpath; without this look the next step would follow it.
        if (!(await fs.lstat(path)).isDirectory()) throw new DeliveryError("DESTINATION_UNSAFE");
      }
    }
    if ((await realFolder(root, folder)) === undefined) throw new DeliveryError("DESTINATION_UNREACHABLE");
    return path;
  }

  /** A regular file, or undefined. Anything else at the name of an object is not ours to judge or to follow. */
  async function factsOf(path: string): Promise<LocalFacts | undefined> {
    try {
      const facts = await fs.lstat(path);
      if (facts.isFile()) return facts;
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return undefined;
      throw error;
    }
    throw new DeliveryError("DESTINATION_UNSAFE");
  }

  async function writeComplete(path: string, body: ByteSource, signal: AbortSignal): Promise<void> {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    await withFile(fs.open(path, flags, 0o666), async (file) => {
      for await (const chunk of checkedBody(body, signal)) await writeAll(file, chunk);
      await file.sync();
    });
  }

  async function linkExclusively(temporary: string, target: string): Promise<"created" | "exists"> {
    try {
      await fs.link(temporary, target);
      return "created";
    } catch (error) {
      const errno = errnoOf(error) ?? "";
      if (errno === "EEXIST") return "exists";
      // In a folder where we just created a file, these mean that the file system has no hard links.
      if (["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes(errno)) {
        throw new DeliveryError("DESTINATION_UNSAFE", { cause: error });
      }
      throw error;
    }
  }

  async function* read(path: string, signal: AbortSignal): AsyncIterable<Uint8Array> {
    const opened = (): Promise<LocalFile> =>
      // O_NONBLOCK: a FIFO put here since the look must not hang the worker.
      fs.open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const file = await guarded(signal, opened);
    try {
      if (!(await guarded(signal, () => file.stat())).isFile()) throw new DeliveryError("DESTINATION_UNSAFE");
      for (;;) {
        const buffer = new Uint8Array(readChunkBytes);
        const { bytesRead } = await guarded(signal, () => file.read(buffer, 0, buffer.length, null));
        if (bytesRead === 0) return;
        yield buffer.subarray(0, bytesRead);
      }
    } finally {
      await file.close();
    }
  }

  async function* list(folder: string, signal: AbortSignal): AsyncIterable<ListedObject> {
    const root = await guarded(signal, realRoot);
    const entries = walk(folder)[Symbol.asyncIterator]();
    for (;;) {
      const next = await guarded(signal, () => entries.next());
      if (next.done === true) return;
      const { parent, name } = next.value;
      if (temporaryName.test(name)) continue;
      const { size } = await guarded(signal, () => fs.lstat(join(parent, name)));
      yield { key: join(parent, name).slice(root.length + 1), sizeBytes: size };
    }
  }

  /** Regular files below a folder; symbolic links are neither followed nor listed. */
  async function* walk(folder: string): AsyncGenerator<{ readonly parent: string; readonly name: string }> {
    if (folder !== "" && !isSafeKey(folder)) throw new DeliveryError("DESTINATION_UNSAFE");
    const root = await realRoot();
    const waiting = [await realFolder(root, folder)];
    for (let parent = waiting.pop(); parent !== undefined; parent = waiting.pop()) {
      for (const entry of await fs.readdir(parent, { withFileTypes: true })) {
        if (entry.isDirectory()) waiting.push(join(parent, entry.name));
        else if (entry.isFile()) yield { parent, name: entry.name };
      }
    }
  }

  async function unlinkIfThere(path: string): Promise<boolean> {
    try {
      await fs.unlink(path);
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return false;
      throw error;
    }
    await syncFolder(dirname(path));
    return true;
  }

  /** An object store has no folders, so the last object takes its folders along. A writer that loses its folder here tries again. */
  async function removeEmptyFolders(key: string, path: string): Promise<void> {
    let folder = dirname(path);
    for (let depth = key.split("/").length - 1; depth > 0; depth--) {
      try {
        await fs.rmdir(folder);
      } catch (error) {
        if (["ENOTEMPTY", "EEXIST", "ENOENT", "EBUSY"].includes(errnoOf(error) ?? "")) return;
        throw error;
      }
      folder = dirname(folder);
      await syncFolder(folder);
    }
  }

  /** Makes names in a folder survive a power cut. Where folders cannot be synced (EINVAL, some FUSE mounts) the mount orders them itself. */
  async function syncFolder(path: string): Promise<void> {
    await withFile(fs.open(path, constants.O_RDONLY | constants.O_DIRECTORY), async (folder) => {
      try {
        await folder.sync();
      } catch (error) {
        if (errnoOf(error) !== "EINVAL") throw error;
      }
    });
  }
}

function split(key: string): { readonly folder: string; readonly name: string } {
  const slash = key.lastIndexOf("/");
  if (!isSafeKey(key) || slash < 1) throw new DeliveryError("DESTINATION_UNSAFE");
  return { folder: key.slice(0, slash), name: key.slice(slash + 1) };
}

function temporaryNameFor(attemptKey: string): string {
  const owner = createHash("sha256").update(attemptKey).digest("hex").slice(0, 16);
  return `.waybill-${owner}-${randomBytes(8).toString("hex")}.tmp`;
}

/** Closes on every way out. An error of the work is the one that is told; an error of close (late ENOSPC on a network mount) is told too. */
async function withFile(opening: Promise<LocalFile>, work: (file: LocalFile) => Promise<void>): Promise<void> {
  const file = await opening;
  try {
    await work(file);
  } catch (error) {
    await file.close().catch(() => undefined);
    throw error;
  }
  await file.close();
}

async function writeAll(file: LocalFile, chunk: Uint8Array): Promise<void> {
  for (let offset = 0; offset < chunk.length; ) {
    const { bytesWritten } = await file.write(chunk, offset, chunk.length - offset);
    offset += bytesWritten;
  }
}
