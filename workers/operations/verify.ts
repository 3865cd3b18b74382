import { access, readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { readExpectation } from "../../buyer/expectation.ts";
import { type Received, receive } from "../../buyer/receive.ts";
import { satisfies, type VerifyLocationOptions, verifyLocation } from "../../buyer/verify-location.ts";
import { WaybillError } from "../../core/errors.ts";
import type { Finding } from "../../manifests/finding.ts";
import type { VerificationLevel, VerificationReport } from "../../manifests/verifier.ts";
import type { ProgressListener } from "./progress.ts";

export interface VerifyRequest {
  /** What relative paths are relative to. */
  readonly directory: string;
  /** A path or `file://` URL of a delivery's folder or manifest. */
  readonly location: string;
  /** A file with the records from elsewhere: see readExpectation. */
  readonly expect?: string | undefined;
  readonly require?: VerificationLevel | undefined;
  readonly nowUs: bigint;
  readonly onProgress?: ProgressListener | undefined;
  readonly signal: AbortSignal;
}

/** What `verify --json` prints. */
export interface VerifyDocument {
  /** No finding, and the required level was reached. */
  readonly ok: boolean;
  readonly level: VerificationLevel | null;
  readonly location: string;
  readonly row_count: number | null;
  readonly findings: readonly Finding[];
  readonly findings_omitted: number;
  readonly control_totals: VerificationReport["control_totals"];
  readonly canonical_digest: string | null;
  readonly manifest_sha256: string | null;
  /** What the given inputs did not allow to check. */
  readonly not_checked: readonly string[];
  /** Nothing is wrong for good: a later read may see more. */
  readonly retryable: boolean;
}

/** Verifies a delivery as its buyer does, with nothing but the folder and what the buyer was told elsewhere. */
export async function verify(request: VerifyRequest): Promise<VerifyDocument> {
  const report = await verifyLocation(await locationOf(request), await optionsOf(request));
  return documentOf(report, report.satisfied);
}

/** Copies a delivery to a folder that appears only once all of it was verified. */
export async function receiveVerified(
  request: VerifyRequest & { readonly out: string },
): Promise<{ readonly received: Received; readonly document: VerifyDocument }> {
  const options = await optionsOf(request);
  const received = await receive(await locationOf(request), resolve(request.directory, request.out), options);
  return { received, document: documentOf(received.report, satisfies(received.report, request.require)) };
}

/** A manifest that is not there may still come; anything else that is not there was mistyped. */
async function locationOf({ location, directory }: VerifyRequest): Promise<string> {
  if (/^[A-Za-z][A-Za-z0-9+.-]+:/.test(location)) return location;
  const path = resolve(directory, location);
  if (!path.endsWith(".json")) {
    await access(path).catch((error: unknown) => {
      const message = `${path} does not exist or cannot be entered; name the folder of a delivery or its manifest.json`;
      throw new WaybillError("usage", [{ code: "NO_SUCH_LOCATION", field: "location", message }], { cause: error });
    });
  }
  return path;
}

async function optionsOf(request: VerifyRequest): Promise<VerifyLocationOptions> {
  const { expect, require, onProgress } = request;
  return {
    ...(expect === undefined ? {} : { expect: readExpectation(await readFile(resolve(request.directory, expect))) }),
    ...(require === undefined ? {} : { require }),
    nowUs: request.nowUs,
    onProgress: ({ bytesRead, totalBytes }) =>
      onProgress?.({ stage: "reading objects", done: bytesRead, total: totalBytes, unit: "bytes" }),
    signal: request.signal,
  };
}

function documentOf(report: VerificationReport, satisfied: boolean): VerifyDocument {
  return {
    ok: satisfied,
    level: report.level,
    location: report.location,
    row_count: report.row_count,
    findings: report.findings,
    findings_omitted: report.findings_omitted,
    control_totals: report.control_totals,
    canonical_digest: report.canonical_digest,
    manifest_sha256: report.manifest_sha256,
    not_checked: report.not_checked,
    retryable: report.retryable,
  };
}
