import { DeliveryError, toDeliveryError } from "../core/errors.ts";
import type { FailureCode } from "../core/failure-table.ts";
import type { FindingList } from "./finding-list.ts";
import { readWhole } from "./object-reader.ts";
import type { Place } from "./place.ts";
import type { VerifierPlatform } from "./platform.ts";
import { parseSums, type SideFileName, sideFileNames, sumsName } from "./sha256-sums.ts";

export interface SideFileBytes {
  readonly bytes: Uint8Array;
  readonly sha256: string;
}

/** The side files that are there. What cannot be read is a finding; what is not there is no matter. */
export async function readSideFiles(
  place: Place,
  platform: VerifierPlatform,
  options: {
    /** Names of data objects, which are read as such and not twice. */
    readonly except: ReadonlySet<string>;
    readonly maxBytes: number;
    readonly findings: FindingList;
    readonly onFailure: (code: FailureCode) => void;
  },
): Promise<ReadonlyMap<SideFileName, SideFileBytes>> {
  const files = new Map<SideFileName, SideFileBytes>();
  for (const name of sideFileNames) {
    if (options.except.has(name)) continue;
    try {
      const chunks = await place.open(name);
      if (chunks === undefined) continue;
      const bytes = await readWhole(chunks, options.maxBytes);
      if (bytes !== "too large") files.set(name, { bytes, sha256: sha256Of(bytes, platform) });
      else {
        const expected = `at most ${options.maxBytes} bytes`;
        options.findings.add({
          code: "RESOURCE_TOO_LARGE",
          message: `${name} is too large`,
          object_ref: name,
          expected,
        });
      }
    } catch (error) {
      if (!(error instanceof DeliveryError)) throw error;
      const { code } = toDeliveryError(error);
      options.onFailure(code);
      const message = `${name} cannot be read: ${code}`;
      options.findings.add({ code: "RESOURCE_READ_FAILED", message, object_ref: name, actual: code });
    }
  }
  return files;
}

export function sha256Of(bytes: Uint8Array, platform: VerifierPlatform): string {
  const hasher = platform.hasher("sha256");
  hasher.update(bytes);
  return hasher.hex();
}

/** Compares SHA256SUMS with the hashes of everything that belongs to the delivery, by name: it lists exactly that. */
export function checkSums(file: SideFileBytes, hashes: ReadonlyMap<string, string>, findings: FindingList): void {
  const sums = parseSums(new TextDecoder().decode(file.bytes));
  const mismatch = (message: string, expected: string | null = null, actual: string | null = null): void => {
    findings.add({ code: "SIDE_FILE_MISMATCH", message, object_ref: sumsName, expected, actual });
  };
  if (sums === undefined) {
    mismatch(`${sumsName} is not a list of "<sha256>  <name>" lines`);
    return;
  }
  for (const [name, sha256] of sums) {
    const actual = hashes.get(name);
    if (actual === undefined)
      mismatch(`${sumsName} lists ${name}, which does not belong to the delivery or is gone`, sha256);
    else if (actual !== sha256) mismatch(`${sumsName} has another hash for ${name}`, sha256, actual);
  }
  for (const [name, sha256] of hashes) if (!sums.has(name)) mismatch(`${sumsName} does not list ${name}`, sha256);
}
