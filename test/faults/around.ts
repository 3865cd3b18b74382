import { DeliveryError } from "../../core/errors.ts";
import type { LocalFile, LocalFileSystem } from "../../drivers/file-transfer/local/file-system.ts";
import type { ObjectStore } from "../../drivers/file-transfer/object-store.ts";

/** One call to a destination: a method of the port, or of the file system below the local store. */
export interface Call {
  readonly method: string;
  /** Key or path. */
  readonly target: string;
}

/** Stands around every call: may look, fail before it, or fail after it took effect. */
export type Around = <T>(call: Call, act: () => Promise<T>) => Promise<T>;

/** The process died here. Not a DeliveryError: no driver can have an answer to it. */
export class Crash extends Error {
  override readonly name = "Crash";
}

/** Same port, each call through `around`. A stream is one call when it opens and one (`read`) when its first chunk is taken. */
export function aroundStore(store: ObjectStore, around: Around): ObjectStore {
  return {
    location: store.location,
    putIfAbsent: (key, body, options) =>
      around({ method: "putIfAbsent", target: key }, () => store.putIfAbsent(key, body, options)),
    open: async (key, options) => {
      const stream = await around({ method: "open", target: key }, () => store.open(key, options));
      return stream === undefined ? undefined : aroundStream({ method: "read", target: key }, stream, around);
    },
    stat: (key, options) => around({ method: "stat", target: key }, () => store.stat(key, options)),
    remove: (key, options) => around({ method: "remove", target: key }, () => store.remove(key, options)),
    list: (folder, options) => aroundStream({ method: "list", target: folder }, store.list(folder, options), around),
    collectLeftovers: (folder, options) =>
      around({ method: "collectLeftovers", target: folder }, () => store.collectLeftovers(folder, options)),
    close: () => store.close(),
  };
}

/** Same stream: one call when its first item is taken. */
export async function* aroundStream<T>(call: Call, stream: AsyncIterable<T>, around: Around): AsyncIterable<T> {
  const items = stream[Symbol.asyncIterator]();
  // Also when `around` throws after the call: the operating system closes the files of a dead process.
  try {
    let next = await around(call, () => items.next());
    for (; next.done !== true; next = await items.next()) yield next.value;
  } finally {
    await items.return?.();
  }
}

/** Same file system, each call through `around`, also those of the files it opens. */
export function aroundFileSystem(fs: LocalFileSystem, around: Around): LocalFileSystem {
  return {
    open: async (path, flags, mode) => {
      let opened: LocalFile | undefined;
      const open = async (): Promise<LocalFile> => {
        opened = await fs.open(path, flags, mode);
        return opened;
      };
      try {
        return aroundFile(await around({ method: "open", target: path }, open), path, around);
      } catch (error) {
        await opened?.close();
        throw error;
      }
    },
    link: (existing, path) => around({ method: "link", target: path }, () => fs.link(existing, path)),
    unlink: (path) => around({ method: "unlink", target: path }, () => fs.unlink(path)),
    mkdir: (path) => around({ method: "mkdir", target: path }, () => fs.mkdir(path)),
    rmdir: (path) => around({ method: "rmdir", target: path }, () => fs.rmdir(path)),
    realpath: (path) => around({ method: "realpath", target: path }, () => fs.realpath(path)),
    lstat: (path) => around({ method: "lstat", target: path }, () => fs.lstat(path)),
    readdir: (path, options) => around({ method: "readdir", target: path }, () => fs.readdir(path, options)),
  };
}

function aroundFile(file: LocalFile, path: string, around: Around): LocalFile {
  return {
    write: (bytes, offset, length) =>
      around({ method: "write", target: path }, () => file.write(bytes, offset, length)),
    read: (into, offset, length, position) =>
      around({ method: "read", target: path }, () => file.read(into, offset, length, position)),
    sync: () => around({ method: "sync", target: path }, () => file.sync()),
    stat: () => around({ method: "fstat", target: path }, () => file.stat()),
    // The operating system closes the files of a dead process, so a crash never keeps one open.
    close: async () => {
      try {
        await around({ method: "close", target: path }, async () => undefined);
      } finally {
        await file.close();
      }
    },
  };
}

/** Notes every call, in order. */
export function recordCalls(): { readonly calls: readonly Call[]; readonly around: Around } {
  const calls: Call[] = [];
  return {
    calls,
    around: (call, act) => {
      calls.push(call);
      return act();
    },
  };
}

/** Dies before or after the n-th call (from 0). A dead process makes no further call, so all later ones fail too. */
export function crashAt(n: number, when: "before" | "after"): Around {
  let seen = 0;
  let dead = false;
  return async (_call, act) => {
    if (dead) throw new Crash("dead");
    const here = seen++ === n;
    if (here && when === "before") {
      dead = true;
      throw new Crash("before");
    }
    const result = await act();
    if (here) dead = true;
    if (dead) throw new Crash("after");
    return result;
  };
}

/**
 * Throws `error` at the calls that match, `times` times, then lets everything pass. `after`: the call took effect and its reply was
 * lost, as with a reset connection. Defaults: DESTINATION_UNREACHABLE, before, once.
 */
export function failWhere(
  matches: (call: Call) => boolean,
  options: { readonly error?: () => Error; readonly when?: "before" | "after"; readonly times?: number } = {},
): Around {
  let left = options.times ?? 1;
  const error = options.error ?? (() => new DeliveryError("DESTINATION_UNREACHABLE"));
  return async (call, act) => {
    if (left === 0 || !matches(call)) return act();
    left--;
    if (options.when === "after") await act();
    throw error();
  };
}

/** An error as the operating system raises it. */
export function systemError(errno: string): Error {
  return Object.assign(new Error(errno), { code: errno });
}
