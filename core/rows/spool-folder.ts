import { mkdir, mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { WaybillError } from "../errors.ts";

/** A fresh private folder below `parent`, which is created if missing. WaybillError as spoolError says. The caller removes it. */
export async function makeSpoolFolder(parent: string, prefix: string): Promise<string> {
  try {
    await mkdir(parent, { recursive: true, mode: 0o700 });
    return await mkdtemp(join(parent, prefix));
  } catch (error) {
    throw spoolError(error);
  }
}

/** A file system error of spooling as WaybillError: `unreachable` SPOOL_FULL when room is lacking, else `usage` SPOOL_UNUSABLE. Others pass. */
export function spoolError(error: unknown): unknown {
  if (!(error instanceof Error && "code" in error && /^E[A-Z]+$/.test(String(error.code)))) return error;
  if (error.code === "ENOSPC" || error.code === "EDQUOT") return spoolFull(error);
  const message = `the spool folder cannot be used (${error.code}); choose another one that this user may write to`;
  return new WaybillError("usage", [{ code: "SPOOL_UNUSABLE", message, field: "spool" }], { cause: error });
}

/** The spool has no room left; a retry may find some. */
export function spoolFull(cause: unknown): WaybillError {
  const message = "the spool folder is full; make room or choose another one";
  return new WaybillError("unreachable", [{ code: "SPOOL_FULL", message, field: "spool" }], { cause });
}
