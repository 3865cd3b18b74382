import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { WaybillError } from "../core/errors.ts";
import { type FolderLock, lockFolder } from "../core/store/folder-lock.ts";

/** A folder for work files that no other process uses until it is released. */
export interface WorkFolder {
  /** Emptied when it was taken: what a killed process left there is of no use. */
  readonly scratch: string;
  /** Survives: the spool can be used again. */
  readonly spool: string;
  release(): Promise<void>;
}

const maxWorkers = 64;

/** Takes the first free `worker-N` below `directory`, so that several workers of one machine can share it. */
export async function takeWorkFolder(directory: string): Promise<WorkFolder> {
  for (let number = 1; number <= maxWorkers; number++) {
    const folder = join(directory, `worker-${number}`);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const lock = await tryLock(folder);
    if (lock === undefined) continue;
    const scratch = join(folder, "scratch");
    await rm(scratch, { recursive: true, force: true });
    await mkdir(scratch, { mode: 0o700 });
    return { scratch, spool: join(folder, "spool"), release: () => lock.release() };
  }
  const message = `${maxWorkers} processes work in ${directory} already; give this one another folder`;
  throw new WaybillError("usage", [{ code: "TOO_MANY_WORKERS", message, limit: `${maxWorkers} processes` }]);
}

async function tryLock(folder: string): Promise<FolderLock | undefined> {
  try {
    return await lockFolder(folder);
  } catch (error) {
    if (error instanceof WaybillError) return undefined;
    throw error;
  }
}
