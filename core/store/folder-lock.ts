import { randomUUID } from "node:crypto";
import { link, readFile, rename, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { WaybillError } from "../errors.ts";
import { lifeOf, ownIdentity, type ProcessIdentity } from "./process-identity.ts";

/** The exclusive right to a folder, for as long as this process lives or until `release`. */
export interface FolderLock {
  /** Repeating it is harmless. */
  release(): Promise<void>;
}

interface Holder extends ProcessIdentity {
  /** Tells two locks of one process apart. */
  readonly nonce: string;
}

const lockName = "lock";

/** Crashes in the middle of taking over a dead lock leave one more name each; beyond this a person should look. */
const maxTakeovers = 4;

/**
 * Takes `directory` (which exists) for this process alone. A lock whose process is gone is taken over at once.
 * WaybillError (usage, code FOLDER_IN_USE) names the pid that holds it, this process itself included.
 */
export async function lockFolder(directory: string): Promise<FolderLock> {
  const holder: Holder = { ...(await ownIdentity()), nonce: randomUUID() };
  const own = join(directory, `${lockName}.${holder.nonce}`);
  const path = join(directory, lockName);
  await writeHolder(own, holder);
  try {
    await take(path, own, holder, maxTakeovers);
  } finally {
    await removeIfThere(own);
  }
  return { release: () => releaseLock(path, holder) };
}

/** `own` is a finished file, so the lock never exists without its content. */
async function take(path: string, own: string, holder: Holder, takeovers: number): Promise<void> {
  // Each round ends the call, except when the lock was released between the two looks at it.
  for (;;) {
    if (await linked(own, path)) return;
    const found = await readHolder(path);
    if (found === undefined) continue;
    const life = await lifeOf(found);
    if (life !== "dead" || takeovers === 0) throw inUse(path, found, life);
    // Two processes may find the same dead lock. Only the one that holds the takeover name may replace it.
    const takeover = `${path}.takeover`;
    await take(takeover, own, holder, takeovers - 1);
    try {
      if ((await readHolder(path))?.nonce !== found.nonce) continue;
      await replace(path, own, holder);
      return;
    } finally {
      await removeIfThere(takeover);
    }
  }
}

/** rename of two links to one file does nothing, and `own` is also linked as the takeover name: hence a copy. */
async function replace(path: string, own: string, holder: Holder): Promise<void> {
  const copy = `${own}.copy`;
  await writeHolder(copy, holder);
  await rename(copy, path);
}

/** Flushed, so that a power cut does not leave an empty lock that nobody can judge. */
async function writeHolder(path: string, holder: Holder): Promise<void> {
  await writeFile(path, JSON.stringify(holder), { flag: "wx", mode: 0o600, flush: true });
}

async function releaseLock(path: string, holder: Holder): Promise<void> {
  if ((await readHolder(path))?.nonce === holder.nonce) await removeIfThere(path);
}

async function linked(own: string, path: string): Promise<boolean> {
  try {
    await link(own, path);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

/** Undefined: no lock there. Content that is not ours counts as held by nobody we can check. */
async function readHolder(path: string): Promise<Holder | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as Holder;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    return { pid: 0, startedAt: "", host: "", boot: "", namespace: "", nonce: "" };
  }
}

async function removeIfThere(path: string): Promise<void> {
  await unlink(path).catch((error) => {
    if (codeOf(error) !== "ENOENT") throw error;
  });
}

function inUse(path: string, holder: Holder, life: "alive" | "dead" | "elsewhere"): WaybillError {
  const where = life === "elsewhere" ? ` of another machine or container (${holder.host || "unknown"})` : "";
  const then = life === "alive" ? "wait for it or stop it" : `if that process is gone, delete ${path}`;
  const message = `${path} is held by process ${holder.pid}${where}; ${then}`;
  return new WaybillError("usage", [{ code: "FOLDER_IN_USE", message, field: path }]);
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
