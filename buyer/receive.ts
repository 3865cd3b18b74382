import { lstat, mkdir, readdir, realpath, rename, rmdir } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { sha256Hex } from "../core/digest/node-hasher.ts";
import { DeliveryError, WaybillError } from "../core/errors.ts";
import { type FolderLock, lockFolder } from "../core/store/folder-lock.ts";
import type { Finding } from "../manifests/finding.ts";
import { nodePlatform } from "../manifests/node-platform.ts";
import { readWhole } from "../manifests/object-reader.ts";
import type { Place } from "../manifests/place.ts";
import { defaultVerifyLimits, type VerificationReport, verifyDelivery } from "../manifests/verifier.ts";
import { folderPlace } from "./folder-place.ts";
import { type FolderLocation, resolveLocation } from "./location.ts";
import { StagedCopy, syncFolder } from "./staged-copy.ts";
import { satisfies, type VerifyLocationOptions, withSpool } from "./verify-location.ts";

export interface Received {
  /** `unchanged`: the same delivery was there already and verified again. `refused`: it did not verify; nothing is at the final name. */
  readonly outcome: "received" | "unchanged" | "refused";
  /** Absolute path of the copy. */
  readonly directory: string;
  readonly report: VerificationReport;
}

/**
 * Copies a delivery into a folder that appears, complete, only after every byte was verified on its way. Interrupted runs go on where they
 * stopped; a second run changes nothing. WaybillError: `usage` when the output folder holds something else, cannot be written, or is
 * being written by another process; `content` when it holds a damaged copy of this delivery, `unreachable` when the disk is full.
 */
export async function receive(
  location: string,
  outDirectory: string,
  options: VerifyLocationOptions = {},
): Promise<Received> {
  const from = await resolveLocation(location);
  const directory = resolve(outDirectory);
  await refuseOverlap(from.folder, directory);
  return await withSpool(options.spoolDirectory, (spool) => new Receiver(from, directory, options, spool).run());
}

class Receiver {
  private readonly from: FolderLocation;
  private readonly directory: string;
  private readonly options: VerifyLocationOptions;
  private readonly spool: string;

  constructor(from: FolderLocation, directory: string, options: VerifyLocationOptions, spool: string) {
    this.from = from;
    this.directory = directory;
    this.options = options;
    this.spool = spool;
  }

  async run(): Promise<Received> {
    const { directory, from } = this;
    const source = folderPlace(from.folder);
    const bytes = await manifestBytes(source, from.manifestName, this.maxManifestBytes());
    // Without a manifest there is nothing to copy; the verifier says why.
    if (bytes === undefined) return { outcome: "refused", directory, report: await this.verify(source) };
    const sha256 = sha256Hex(bytes);
    const earlier = await this.earlierCopy(sha256);
    if (earlier !== undefined) return earlier;
    // One per manifest: objects of another delivery are never taken for this one's.
    const work = join(dirname(directory), `.${basename(directory)}.partial-${sha256.slice(0, 16)}`);
    try {
      return await withLock(work, async () => {
        // A run that held the lock a moment ago may have finished.
        return (await this.earlierCopy(sha256)) ?? (await this.copy(source, bytes, join(work, "delivery")));
      });
    } catch (error) {
      throw outputError(error, directory);
    }
  }

  private async copy(source: Place, bytes: Uint8Array, staging: string): Promise<Received> {
    const { directory, from, options } = this;
    const copy = new StagedCopy(source, staging, { name: from.manifestName, bytes });
    const report = await this.verify(copy);
    if (copy.failure !== undefined) throw copy.failure;
    if (!satisfies(report, options.require)) {
      await copy.discard(damagedObjects(report.findings));
      return { outcome: "refused", directory, report };
    }
    await copy.complete();
    // Replaces nothing but an empty folder.
    await rename(staging, directory);
    await syncFolder(dirname(directory));
    return { outcome: "received", directory, report };
  }

  private maxManifestBytes(): number {
    return this.options.limits?.maxManifestBytes ?? defaultVerifyLimits.maxManifestBytes;
  }

  private verify(place: Place): Promise<VerificationReport> {
    const { require: _, spoolDirectory: __, ...rest } = this.options;
    const platform = nodePlatform({ spoolDirectory: this.spool });
    const { folder, manifestName } = this.from;
    return verifyDelivery({ ...rest, place, folder, manifestName, platform });
  }

  /** The same delivery at the final name; undefined when nothing is there. */
  private async earlierCopy(sha256: string): Promise<Received | undefined> {
    const { directory } = this;
    if (await isVacant(directory)) return undefined;
    const place = folderPlace(directory);
    const bytes = await manifestBytes(place, this.from.manifestName, this.maxManifestBytes());
    if (bytes === undefined || sha256Hex(bytes) !== sha256) throw occupied(directory);
    const report = await this.verify(place);
    if (satisfies(report, this.options.require)) return { outcome: "unchanged", directory, report };
    const [first] = report.findings;
    if (first === undefined) return { outcome: "refused", directory, report };
    const message = `${directory} holds a damaged copy of this delivery (${first.code}: ${first.message}); remove it and receive again`;
    throw new WaybillError("content", [{ code: "COPY_DAMAGED", message, field: "out" }]);
  }
}

const maxLockTries = 5;

/** Runs while no other process works in `folder`, which is removed afterwards if nothing is left in it. WaybillError FOLDER_IN_USE. */
async function withLock<T>(folder: string, body: () => Promise<T>): Promise<T> {
  const lock = await lockWork(folder, maxLockTries);
  try {
    return await body();
  } finally {
    await lock.release();
    // What a refused or interrupted run stored stays for the next one.
    await rmdir(folder).catch((error) => {
      if (codeOf(error) !== "ENOTEMPTY" && codeOf(error) !== "ENOENT") throw error;
    });
  }
}

async function lockWork(folder: string, tries: number): Promise<FolderLock> {
  await mkdir(folder, { recursive: true });
  try {
    return await lockFolder(folder);
  } catch (error) {
    // A run that just ended took the folder away.
    if (codeOf(error) !== "ENOENT" || tries === 0) throw error;
    return await lockWork(folder, tries - 1);
  }
}

async function manifestBytes(place: Place, name: string, maxBytes: number): Promise<Uint8Array | undefined> {
  try {
    const chunks = await place.open(name);
    if (chunks === undefined) return undefined;
    const bytes = await readWhole(chunks, maxBytes);
    return bytes === "too large" ? undefined : bytes;
  } catch (error) {
    if (error instanceof DeliveryError) return undefined;
    throw error;
  }
}

/** Names of what must be fetched again. */
function damagedObjects(findings: readonly Finding[]): readonly string[] {
  return findings.flatMap(({ object_ref }) => (object_ref === null ? [] : [basename(object_ref)]));
}

async function isVacant(directory: string): Promise<boolean> {
  try {
    const found = await lstat(directory);
    if (!found.isDirectory()) throw occupied(directory);
    return (await readdir(directory)).length === 0;
  } catch (error) {
    if (error instanceof WaybillError) throw error;
    if (codeOf(error) === "ENOENT") return true;
    throw outputError(error, directory);
  }
}

/** A copy into its own source would find itself. */
async function refuseOverlap(source: string, directory: string): Promise<void> {
  const real = await realpath(directory).catch(() => directory);
  const [left, right] = [source + sep, real + sep];
  if (!left.startsWith(right) && !right.startsWith(left)) return;
  const message = "the output folder and the delivery lie in one another; name another folder";
  throw new WaybillError("usage", [{ code: "OUT_OVERLAPS", message, field: "out" }]);
}

function occupied(directory: string): WaybillError {
  const message = `${directory} holds something else than this delivery; nothing was overwritten, name another folder`;
  return new WaybillError("usage", [{ code: "OUT_OCCUPIED", message, field: "out" }]);
}

function outputError(error: unknown, directory: string): unknown {
  if (error instanceof WaybillError) return error;
  switch (codeOf(error)) {
    case "ENOSPC":
    case "EDQUOT": {
      const message = `there is no room left for ${directory}; what was copied is kept, so a later run goes on`;
      return new WaybillError("unreachable", [{ code: "OUT_FULL", message, field: "out" }], { cause: error });
    }
    case "EACCES":
    case "EPERM":
    case "EROFS":
    case "ENOTDIR":
    case "ENAMETOOLONG": {
      const message = `${directory} cannot be written (${codeOf(error)}); name another folder`;
      return new WaybillError("usage", [{ code: "OUT_UNWRITABLE", message, field: "out" }], { cause: error });
    }
    default:
      return error;
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
