import { randomUUID } from "node:crypto";
import { type FileHandle, mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { nodeHasher } from "../core/digest/node-hasher.ts";
import type { FileEntry } from "../core/model/records.ts";
import { readManifest } from "../manifests/manifest.ts";
import { resolveObjectRef } from "../manifests/object-ref.ts";
import type { Place } from "../manifests/place.ts";
import { folderPlace } from "./folder-place.ts";

/**
 * A copy in the making: a place that hands out the source's bytes and keeps them in a folder, so that what was verified is what was
 * stored. Objects that an earlier run stored whole are taken from there after they were hashed again.
 */
export class StagedCopy implements Place {
  readonly location: string;
  /** Why the folder could not be written. The reader of the place only sees that it ended. */
  failure: unknown;
  private readonly source: Place;
  private readonly directory: string;
  private readonly manifestName: string;
  private readonly manifestBytes: Uint8Array;
  private readonly entries: ReadonlyMap<string, FileEntry>;
  private readonly stored = new Set<string>();

  constructor(source: Place, directory: string, manifest: { readonly name: string; readonly bytes: Uint8Array }) {
    this.source = source;
    this.location = source.location;
    this.directory = directory;
    this.manifestName = manifest.name;
    this.manifestBytes = manifest.bytes;
    const files = readManifest(manifest.bytes).manifest?.files ?? [];
    this.entries = new Map(files.map((entry) => [resolveObjectRef(entry.object_ref, source.location) ?? "", entry]));
  }

  async open(
    name: string,
    options?: { readonly nativeVersion?: string },
  ): Promise<AsyncIterable<Uint8Array> | undefined> {
    if (name === this.manifestName) return once(this.manifestBytes);
    if (await this.wasStored(name)) return folderPlace(this.directory).open(name);
    const chunks = await this.source.open(name, options);
    return chunks === undefined ? undefined : this.tee(name, chunks);
  }

  /** Forgets objects, so that the next run fetches them again. */
  async discard(names: Iterable<string>): Promise<void> {
    for (const name of names) {
      this.stored.delete(name);
      await rm(join(this.directory, name), { force: true });
    }
  }

  /** Stores the manifest, last, removes what does not belong to this copy and makes it all durable. */
  async complete(): Promise<void> {
    for await (const _ of this.tee(this.manifestName, once(this.manifestBytes)));
    if (this.failure !== undefined) throw this.failure;
    for (const name of await readdir(this.directory)) {
      if (!this.stored.has(name)) await rm(join(this.directory, name), { recursive: true, force: true });
    }
    await syncFolder(this.directory);
  }

  /** An object of the manifest that lies in the folder with exactly the promised bytes. */
  private async wasStored(name: string): Promise<boolean> {
    const entry = this.entries.get(name);
    if (entry === undefined) return false;
    const chunks = await folderPlace(this.directory).open(name);
    if (chunks === undefined) return false;
    const hasher = nodeHasher("sha256");
    for await (const chunk of chunks) hasher.update(chunk);
    if (hasher.hex() === entry.sha256.toLowerCase()) {
      this.stored.add(name);
      return true;
    }
    await this.discard([name]);
    return false;
  }

  private async *tee(name: string, chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const temporary = join(this.directory, `.${name}.${randomUUID()}`);
    let file: FileHandle | undefined;
    let isWhole = false;
    try {
      file = await this.guarded(() => createFile(this.directory, temporary));
      for await (const chunk of chunks) {
        await this.guarded(() => file?.appendFile(chunk));
        yield chunk;
      }
      await this.guarded(() => file?.sync());
      isWhole = true;
    } finally {
      await file?.close();
      if (isWhole) {
        await this.guarded(() => rename(temporary, join(this.directory, name)));
        this.stored.add(name);
      } else await rm(temporary, { force: true });
    }
  }

  private async guarded<T>(write: () => Promise<T> | undefined): Promise<T | undefined> {
    try {
      return await write();
    } catch (error) {
      this.failure ??= error;
      throw error;
    }
  }
}

async function createFile(directory: string, path: string): Promise<FileHandle> {
  await mkdir(directory, { recursive: true });
  return await open(path, "wx", 0o644);
}

/** Makes renames in a folder durable, where the system can. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function* once(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}
