import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodePlatform } from "../manifests/node-platform.ts";
import {
  type VerificationLevel,
  type VerificationReport,
  type VerifyInput,
  verifyDelivery,
} from "../manifests/verifier.ts";
import { folderPlace } from "./folder-place.ts";
import { resolveLocation } from "./location.ts";

/** `verify`'s choices beside the location. Same meaning as in VerifyInput. */
export interface VerifyLocationOptions
  extends Pick<
    VerifyInput,
    "expect" | "documents" | "profile" | "sideFiles" | "limits" | "nowUs" | "onProgress" | "signal"
  > {
  /** Less than this level is not satisfied. Default SELF_CONSISTENT. */
  readonly require?: VerificationLevel;
  /** Parent of the temporary files. Default: the system's folder for them. */
  readonly spoolDirectory?: string;
}

export interface LocationReport extends VerificationReport {
  /** The report is ok and reached the required level. */
  readonly satisfied: boolean;
}

/**
 * Verifies the delivery at a path or `file://` URL, given as folder or manifest. WaybillError `usage` when the location cannot be one;
 * everything else is in the report.
 */
export async function verifyLocation(location: string, options: VerifyLocationOptions = {}): Promise<LocationReport> {
  const { folder, manifestName } = await resolveLocation(location);
  const { require, spoolDirectory, ...rest } = options;
  return await withSpool(spoolDirectory, async (spool) => {
    const platform = nodePlatform({ spoolDirectory: spool });
    const report = await verifyDelivery({ ...rest, place: folderPlace(folder), manifestName, platform });
    return { ...report, satisfied: satisfies(report, require) };
  });
}

/** Whether a report is ok and reached a level. */
export function satisfies(report: VerificationReport, require: VerificationLevel | undefined): boolean {
  return report.ok && (require !== "MATCHES_LEDGER" || report.level === "MATCHES_LEDGER");
}

/** Runs with a temporary folder of its own, which is removed afterwards. */
export async function withSpool<T>(parent: string | undefined, body: (folder: string) => Promise<T>): Promise<T> {
  if (parent !== undefined) await mkdir(parent, { recursive: true });
  const folder = await mkdtemp(join(parent ?? tmpdir(), "waybill-verify-"));
  try {
    return await body(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
