import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { DeliveryError } from "../core/errors.ts";
import { isObjectName } from "../manifests/object-ref.ts";
import type { Place } from "../manifests/place.ts";

const chunkBytes = 256 * 1024;

/**
 * A folder of this machine as a place. Only plain files are opened: a link, pipe or device is DESTINATION_UNSAFE, so nothing outside of
 * the folder is ever read. READER_FORBIDDEN when this user may not read a file, DESTINATION_UNREACHABLE when the disk fails.
 */
export function folderPlace(folder: string): Place {
  return {
    location: folder,
    async open(name) {
      if (!isObjectName(name)) throw new DeliveryError("DESTINATION_UNSAFE");
      const file = await openPlain(join(folder, name));
      return file === undefined ? undefined : chunksOf(file);
    },
  };
}

async function openPlain(path: string): Promise<FileHandle | undefined> {
  let file: FileHandle;
  try {
    // Without O_NONBLOCK, opening a pipe would wait for its writer.
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    return placeError(error);
  }
  try {
    if ((await file.stat()).isFile()) return file;
  } catch (error) {
    await file.close();
    return placeError(error);
  }
  await file.close();
  throw new DeliveryError("DESTINATION_UNSAFE");
}

async function* chunksOf(file: FileHandle): AsyncIterable<Uint8Array> {
  try {
    for (;;) {
      // A fresh buffer each time: consumers keep parts of what they got.
      const buffer = new Uint8Array(chunkBytes);
      const { bytesRead } = await read(file, buffer);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

async function read(file: FileHandle, buffer: Uint8Array): Promise<{ readonly bytesRead: number }> {
  try {
    return await file.read(buffer);
  } catch (error) {
    placeError(error);
    return { bytesRead: 0 };
  }
}

/** Undefined for "no such file"; throws for everything else. */
function placeError(error: unknown): undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  switch (code) {
    case "ENOENT":
    case "ENOTDIR":
      return undefined;
    case "ELOOP":
    case "ENXIO":
      throw new DeliveryError("DESTINATION_UNSAFE", { cause: error });
    case "EACCES":
    case "EPERM":
      throw new DeliveryError("READER_FORBIDDEN", { cause: error });
    default:
      throw new DeliveryError("DESTINATION_UNREACHABLE", { cause: error });
  }
}
