import { DeliveryError, failureOf } from "../core/errors.ts";
import type { FailureCode } from "../core/failure-table.ts";
import type { ControlTotal, PhysicalChecksum } from "../core/model/records.ts";
import { compareClaims } from "./compare-claims.ts";
import { encodingProblem } from "./decode-object.ts";
import { type DigestOutcome, digestRows, digestSorted } from "./digest-rows.ts";
import { type Claim, checkManifestIdentity, checkRecords, claimsOf, pinsOf } from "./expected-records.ts";
import { FindingList } from "./finding-list.ts";
import { type AnyManifest, manifestName as defaultManifestName, readManifest, sumProblems } from "./manifest.ts";
import { nameObjects } from "./name-objects.ts";
import { readWhole } from "./object-reader.ts";
import { type NamedObject, ObjectsAudit, type ObjectsAuditInput } from "./objects-audit.ts";
import { checkSums, readSideFiles, sha256Of } from "./read-side-files.ts";
import { RowAudit } from "./row-audit.ts";
import { type RowReading, rowReading } from "./row-reading.ts";
import { type Sides, settleSides } from "./settle-sides.ts";
import { sumsName } from "./sha256-sums.ts";
import {
  defaultVerifyLimits,
  type Expectation,
  type VerificationReport,
  type VerifyInput,
  type VerifyLimits,
} from "./verification.ts";

export type {
  DeliveredDocuments,
  DocumentPins,
  Expectation,
  VerificationLevel,
  VerificationReport,
  VerifyInput,
  VerifyLimits,
  VerifyProgress,
} from "./verification.ts";
export { defaultVerifyLimits } from "./verification.ts";

/**
 * Reads a delivery as its buyer does and compares it with itself and with all that is expected, in the order of CONTRACT section 9. Goes on
 * after a finding wherever more can be learned: one damaged object does not hide another. Every object is read once, as a stream, in
 * bounded memory; only rows that turn out to be unsorted after many megabytes are read a second time. What is wrong with the delivery is
 * in the report; only an abort and errors of the caller's own are thrown.
 */
export async function verifyDelivery(input: VerifyInput): Promise<VerificationReport> {
  return new Verification(input).run();
}

class Verification {
  private readonly input: VerifyInput;
  private readonly expect: Expectation;
  private readonly limits: VerifyLimits;
  private readonly findings: FindingList;
  private readonly notChecked: string[] = [];
  private readonly failures: FailureCode[] = [];
  private readonly onFailure = (code: FailureCode): void => {
    this.failures.push(code);
  };
  private manifestSha256: string | undefined;
  private manifest: AnyManifest | undefined;
  private checksums: readonly PhysicalChecksum[] = [];
  private rowCount: number | undefined;
  private controlTotals: readonly ControlTotal[] | undefined;
  private canonicalDigest: string | undefined;

  constructor(input: VerifyInput) {
    this.input = input;
    this.expect = input.expect ?? {};
    this.limits = { ...defaultVerifyLimits, ...input.limits };
    this.findings = new FindingList(this.limits.maxFindings);
  }

  async run(): Promise<VerificationReport> {
    const { expect, findings, input } = this;
    input.signal?.throwIfAborted();
    checkRecords(expect, input.nowUs, findings);
    this.noteMissingRecords();
    const bytes = await this.readManifestBytes();
    if (bytes !== undefined && this.hasExpectedHash(bytes)) {
      const { manifest, problems } = readManifest(bytes);
      for (const { message, field } of problems)
        findings.add({ code: "INVALID_MANIFEST", message, column: field ?? null });
      if (manifest !== undefined) {
        this.manifest = manifest;
        await this.checkContent(manifest);
      }
    }
    if (this.manifest === undefined) this.notChecked.push("objects and rows: there is no manifest to go by");
    return this.report();
  }

  private noteMissingRecords(): void {
    const { materialization, revision } = this.expect;
    if (this.expectedManifestHash() === undefined) {
      this.notChecked.push("manifest hash against the ledger: no materialization record was given");
    }
    if (revision === undefined && materialization?.verification === undefined) {
      this.notChecked.push("row count, control totals and canonical digest against the ledger: no record was given");
    }
    if (materialization?.resource !== undefined && this.input.nowUs === undefined) {
      this.notChecked.push("expiry of the resource: no clock was given");
    }
  }

  private expectedManifestHash(): string | undefined {
    const { manifestSha256, materialization } = this.expect;
    return (manifestSha256 ?? materialization?.resource?.manifest_sha256)?.toLowerCase();
  }

  /** Step 3. Undefined when nothing can be read. */
  private async readManifestBytes(): Promise<Uint8Array | undefined> {
    const { place, manifestName = defaultManifestName } = this.input;
    const version = this.expect.materialization?.resource?.native_version_ref;
    const unreadable = (why: string): void => {
      this.findings.add({ code: "RESOURCE_NOT_READY", message: `the manifest ${why}`, object_ref: manifestName });
    };
    try {
      const chunks = await place.open(manifestName, version === undefined ? {} : { nativeVersion: version });
      if (chunks === undefined) return void unreadable("is not there (yet)");
      const bytes = await readWhole(chunks, this.limits.maxManifestBytes);
      if (bytes !== "too large") return bytes;
      const expected = `at most ${this.limits.maxManifestBytes} bytes`;
      const message = "the manifest is too large";
      this.findings.add({ code: "RESOURCE_TOO_LARGE", message, object_ref: manifestName, expected });
    } catch (error) {
      if (!(error instanceof DeliveryError)) throw error;
      this.onFailure(error.code);
      unreadable(`cannot be read: ${error.code}`);
    }
    return undefined;
  }

  /** Step 4, before a byte of it is parsed. */
  private hasExpectedHash(bytes: Uint8Array): boolean {
    const actual = sha256Of(bytes, this.input.platform);
    this.manifestSha256 = actual;
    const expected = this.expectedManifestHash();
    if (expected === undefined || expected === actual) return true;
    const message = "this is not the manifest that the ledger knows";
    this.findings.add({ code: "MANIFEST_DIGEST_MISMATCH", message, expected, actual });
    return false;
  }

  private async checkContent(manifest: AnyManifest): Promise<void> {
    const { expect, findings, input, limits } = this;
    const { manifestName = defaultManifestName, place } = input;
    checkManifestIdentity(manifest, expect, findings);
    for (const { message, field } of sumProblems(manifest)) {
      findings.add({ code: "MANIFEST_IDENTITY_MISMATCH", message, column: field ?? null });
    }
    const objects = nameObjects(
      manifest,
      { folder: input.folder ?? place.location, manifestName, expect, limits },
      findings,
    );
    const sides = await this.readSides(manifest, objects);
    const reading = this.readingOf(manifest, sides);
    const audit = await this.readObjects(manifest, objects ?? [], reading);
    const wasReadInFull = objects !== undefined && objects.length === manifest.files.length && audit.isComplete;
    if (wasReadInFull) this.rowCount = audit.rowCount;
    else {
      this.controlTotals = undefined;
      this.canonicalDigest = undefined;
      this.notChecked.push("row count, control totals and digest of the rows: not all rows could be read");
    }
    const claims: Claim[] = [...claimsOf(expect), ...sides.claims];
    const ruled = new Set(reading?.profile.controlTotals.map((rule) => rule.name));
    const { canonicalDigest, controlTotals, rowCount } = this;
    compareClaims({ rowCount, controlTotals, canonicalDigest }, manifest, claims, ruled, findings);
    if (objects !== undefined) this.checkSums(sides, objects, manifestName);
  }

  private checkSums({ files }: Sides, objects: readonly NamedObject[], manifestName: string): void {
    const file = files.get(sumsName);
    if (file === undefined) return;
    const hashes = new Map([[manifestName, this.manifestSha256 ?? ""]]);
    for (const [name, { sha256 }] of files) if (name !== sumsName) hashes.set(name, sha256);
    // What the manifest promises: an object with other bytes is a finding of its own already.
    for (const { entry, name } of objects) hashes.set(name, entry.sha256.toLowerCase());
    checkSums(file, hashes, this.findings);
  }

  private async readSides(manifest: AnyManifest, objects: readonly NamedObject[] | undefined): Promise<Sides> {
    const { findings, input, limits } = this;
    const files =
      input.sideFiles === "ignore"
        ? new Map()
        : await readSideFiles(input.place, input.platform, {
            except: new Set(objects?.map(({ name }) => name)),
            maxBytes: limits.maxSideFileBytes,
            findings,
            onFailure: this.onFailure,
          });
    const settling = { manifest, files, given: input.documents, expect: this.expect, pins: pinsOf(this.expect) };
    return settleSides(settling, input.platform, findings, this.notChecked);
  }

  private readingOf(manifest: AnyManifest, sides: Sides): RowReading | undefined {
    if (sides.documents === undefined) {
      this.notChecked.push(
        "rows against the row schema, control totals and digest: the documents of the definition are not at hand",
      );
      return undefined;
    }
    const totals = (this.expect.revision ?? manifest).control_totals;
    return rowReading(sides.documents, totals, this.input.platform, this.findings, this.notChecked);
  }

  /** Steps 8 to 11, and the digest. */
  private async readObjects(
    manifest: AnyManifest,
    objects: readonly NamedObject[],
    reading: RowReading | undefined,
  ): Promise<ObjectsAudit> {
    const { findings, input, limits } = this;
    const { platform, profile: verificationProfile = "canonical_digest" } = input;
    const unsupported = encodingProblem(manifest);
    if (unsupported !== undefined) findings.add(unsupported);
    const wantsDigest = verificationProfile === "canonical_digest" && reading?.canTrustDigest === true;
    if (verificationProfile !== "canonical_digest") {
      this.notChecked.push(`canonical digest: the verification profile ${verificationProfile} leaves it out`);
    }
    const auditInput = (target: FindingList, rows: RowAudit | undefined): ObjectsAuditInput => ({
      place: input.place,
      platform,
      manifest,
      objects,
      rows,
      decode: unsupported === undefined,
      profile: reading?.profile,
      promised: this.expect.materialization?.verification?.physical_checksums ?? [],
      limits,
      findings: target,
      onFailure: this.onFailure,
      onProgress: input.onProgress,
      signal: input.signal,
    });
    const newRows = (): RowAudit | undefined =>
      reading === undefined ? undefined : new RowAudit(reading.profile, reading.schema, wantsDigest);
    const rows = newRows();
    const audit = new ObjectsAudit(auditInput(findings, rows));
    let outcome = await digestRows(audit.rows(), platform);
    this.checksums = audit.checksums;
    if (rows === undefined || !audit.isComplete) return audit;
    this.controlTotals = rows.result();
    if (this.controlTotals === undefined) this.notChecked.push("control totals: not every row could be summed");
    if (!wantsDigest) return audit;
    if (!rows.isDigestible) {
      this.notChecked.push("canonical digest: not every row satisfies the row schema");
      return audit;
    }
    if (outcome.kind === "unsorted") {
      const again = new FindingList(limits.maxFindings);
      const second = new ObjectsAudit(auditInput(again, newRows()));
      outcome = await digestSorted(second.rows(), platform);
      findings.addAll(again);
      if (!second.isComplete) return audit;
    }
    this.settleDigest(outcome);
    return audit;
  }

  private settleDigest(outcome: Extract<DigestOutcome, { kind: "digest" }>): void {
    for (const { key, objectRef, number } of outcome.duplicates) {
      this.findings.add({
        code: "ROW_SCHEMA_INVALID",
        message: "two rows have the same key",
        object_ref: objectRef ?? null,
        row: number ?? null,
        key: new TextDecoder().decode(key),
      });
    }
    if (outcome.duplicates.length === 0) this.canonicalDigest = outcome.value;
    else this.notChecked.push("canonical digest: rows with the same key have none");
  }

  private report(): VerificationReport {
    const { findings, omitted } = this.findings.result();
    const ok = findings.length === 0;
    return {
      ok,
      level: ok ? (this.matchesLedger() ? "MATCHES_LEDGER" : "SELF_CONSISTENT") : null,
      location: this.input.place.location,
      row_count: this.rowCount ?? null,
      control_totals: this.controlTotals ?? null,
      canonical_digest: this.canonicalDigest ?? null,
      manifest_sha256: this.manifestSha256 ?? null,
      physical_checksums: this.checksums,
      findings,
      findings_omitted: omitted,
      not_checked: [...new Set(this.notChecked)],
      manifest: this.manifest ?? null,
      retryable:
        !ok &&
        isRetryable(
          findings.map(({ code }) => code),
          this.failures,
        ),
      failures: this.failures,
    };
  }

  /** Everything that a record outside of the folder says about hash, rows, totals and digest was recomputed and equal. */
  private matchesLedger(): boolean {
    const claims = claimsOf(this.expect);
    if (this.expectedManifestHash() === undefined || claims.length === 0) return false;
    if (this.rowCount === undefined || this.controlTotals === undefined) return false;
    const wantsDigest = claims.some((claim) => claim.canonicalDigest !== undefined);
    return (
      !wantsDigest ||
      this.canonicalDigest !== undefined ||
      (this.input.profile ?? "canonical_digest") !== "canonical_digest"
    );
  }
}

/** Only a place that was not ready or not reachable can look different later; everything else stays wrong. */
function isRetryable(codes: readonly string[], failures: readonly FailureCode[]): boolean {
  const passing = new Set(["MATERIALIZATION_NOT_READY", "RESOURCE_NOT_READY"]);
  const isTransient = failures.every((code) => failureOf(code).next !== "stop");
  if (failures.length > 0) passing.add("RESOURCE_READ_FAILED");
  return isTransient && codes.every((code) => passing.has(code));
}
