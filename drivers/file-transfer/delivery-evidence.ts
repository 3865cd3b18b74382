import { DeliveryError } from "../../core/errors.ts";
import type { JsonObject, JsonValue } from "../../core/json.ts";
import type { CommitEvidence, Staged } from "../driver.ts";

/** What `write` leaves for `commit`: the exact manifest, and what must still stand there when it is put. */
export interface StagedDelivery extends Staged {
  readonly manifest: string;
  readonly parts: readonly { readonly name: string; readonly size_bytes: number }[];
}

/** The create-only manifest as evidence. */
export interface ManifestEvidence extends CommitEvidence {
  readonly location: string;
  readonly manifest_sha256: string;
  /** Absent where the store keeps no versions. */
  readonly native_version_ref?: string;
}

/** The evidence of a manifest that stands at `location`. */
export function evidenceOf(
  location: string,
  manifestSha256: string,
  nativeVersion: string | undefined,
): ManifestEvidence {
  return {
    location,
    manifest_sha256: manifestSha256,
    ...(nativeVersion === undefined ? {} : { native_version_ref: nativeVersion }),
  };
}

/** INTERNAL when it is not what `write` of this driver returned. */
export function readStaged(staged: Staged): StagedDelivery {
  const { parts } = staged;
  if (!Array.isArray(parts)) throw notOurs();
  return {
    manifest: textOf(staged["manifest"]),
    parts: parts.map((part: JsonObject) => ({ name: textOf(part["name"]), size_bytes: Number(part["size_bytes"]) })),
  };
}

/** INTERNAL when it is not what `commit` of this driver returned. */
export function readEvidence(commit: CommitEvidence): ManifestEvidence {
  const version = commit["native_version_ref"];
  return {
    location: textOf(commit.location),
    manifest_sha256: textOf(commit["manifest_sha256"]),
    ...(version === undefined ? {} : { native_version_ref: textOf(version) }),
  };
}

function textOf(value: JsonValue | undefined): string {
  if (typeof value !== "string") throw notOurs();
  return value;
}

function notOurs(): DeliveryError {
  return new DeliveryError("INTERNAL");
}
