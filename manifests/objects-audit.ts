import type { DecodedRecord, DecodeLimits } from "../core/encoding/encoding.ts";
import { DeliveryError, WaybillError } from "../core/errors.ts";
import type { FailureCode } from "../core/failure-table.ts";
import type { FileEntry, PhysicalChecksum } from "../core/model/records.ts";
import { decodeFindings, decodeObject } from "./decode-object.ts";
import type { KeyedRow } from "./digest-rows.ts";
import { FindingList } from "./finding-list.ts";
import type { AnyManifest } from "./manifest-shape.ts";
import { ObjectReader } from "./object-reader.ts";
import type { Place } from "./place.ts";
import type { VerifierPlatform } from "./platform.ts";
import type { RowAudit } from "./row-audit.ts";
import type { VerifyLimits, VerifyProgress } from "./verification.ts";

/** A data object that is safe to open. */
export interface NamedObject {
  readonly entry: FileEntry;
  /** Bare name in the place. */
  readonly name: string;
}

export interface ObjectsAuditInput {
  readonly place: Place;
  readonly platform: VerifierPlatform;
  readonly manifest: AnyManifest;
  readonly objects: readonly NamedObject[];
  /** Judges the rows. Undefined: rows are counted where that needs no profile. */
  readonly rows: RowAudit | undefined;
  /** False leaves the objects hashed and nothing more. */
  readonly decode: boolean;
  readonly profile: Parameters<typeof decodeObject>[2];
  /** Further checksums that records promise, sha512 among them. */
  readonly promised: readonly PhysicalChecksum[];
  readonly limits: VerifyLimits;
  readonly findings: FindingList;
  readonly onFailure: (code: FailureCode) => void;
  readonly onProgress: ((progress: VerifyProgress) => void) | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Reads every object once: size, hash and rows in the same pass. */
export class ObjectsAudit {
  /** SHA-256 of every object that was read to its end. */
  readonly checksums: PhysicalChecksum[] = [];
  /** Rows of the objects that are whole and could be decoded. */
  rowCount = 0;
  /** Every object is whole and its rows were counted. */
  isComplete = true;
  private readonly input: ObjectsAuditInput;
  private objectsDone = 0;
  private bytesRead = 0;
  private rowsSeen = 0;

  constructor(input: ObjectsAuditInput) {
    this.input = input;
  }

  /** The right rows of all objects, in order. Findings are complete only when this was read to its end. */
  async *rows(): AsyncIterable<readonly KeyedRow[]> {
    for (const object of this.input.objects) {
      yield* this.object(object);
      this.objectsDone += 1;
      this.progress(0);
    }
  }

  private async *object({ entry, name }: NamedObject): AsyncIterable<readonly KeyedRow[]> {
    const { input } = this;
    const { findings } = input;
    const chunks = await this.open(entry, name);
    if (chunks === undefined) {
      this.isComplete = false;
      return;
    }
    const promised = input.promised.filter((checksum) => checksum.object_ref === entry.object_ref);
    const sha256 = input.platform.hasher("sha256");
    const sha512 = promised.some(({ algorithm }) => algorithm === "sha512")
      ? input.platform.hasher("sha512")
      : undefined;
    const hashers = sha512 === undefined ? [sha256] : [sha256, sha512];
    const reader = new ObjectReader(chunks, entry.size_bytes, hashers, (bytes) => this.progress(bytes));
    // Rows of an object with other bytes than promised say nothing; what is wrong with them is kept back until the hash is known.
    const rowFindings = new FindingList(input.limits.maxFindings);
    let counted: number | undefined;
    try {
      counted = yield* this.decoded(reader, entry, rowFindings);
      await reader.drain();
    } finally {
      await reader.close();
    }
    if (!this.isWhole(reader, entry)) {
      this.isComplete = false;
      return;
    }
    const hex = sha256.hex();
    this.checksums.push({ object_ref: entry.object_ref, algorithm: "sha256", value: hex });
    if (!this.matches(entry, promised, hex, sha512?.hex())) {
      this.isComplete = false;
      return;
    }
    findings.addAll(rowFindings);
    if (counted === undefined) this.isComplete = false;
    else {
      this.rowCount += counted;
      if (counted !== entry.row_count) {
        const message = `${entry.object_ref} has other rows than the manifest says`;
        const counts = { expected: String(entry.row_count), actual: String(counted) };
        findings.add({ code: "ROW_COUNT_MISMATCH", message, object_ref: entry.object_ref, ...counts });
      }
    }
  }

  private async open(entry: FileEntry, name: string): Promise<AsyncIterable<Uint8Array> | undefined> {
    const { place, findings } = this.input;
    const version = entry.native_version_ref;
    try {
      const chunks = await place.open(name, version === undefined ? {} : { nativeVersion: version });
      if (chunks !== undefined) return chunks;
      const message = `${entry.object_ref} is not there`;
      findings.add({ code: "RESOURCE_READ_FAILED", message, object_ref: entry.object_ref });
    } catch (error) {
      if (!(error instanceof DeliveryError)) throw error;
      this.readFailed(error, entry.object_ref);
    }
    return undefined;
  }

  private readFailed({ code }: DeliveryError, objectRef: string): void {
    const isUnsafe = code === "DESTINATION_UNSAFE";
    const message = isUnsafe ? `${objectRef} is no plain object` : `${objectRef} cannot be read: ${code}`;
    const finding = isUnsafe ? "UNSAFE_RESOURCE" : "RESOURCE_READ_FAILED";
    this.input.onFailure(code);
    this.input.findings.add({ code: finding, message, object_ref: objectRef, actual: code });
  }

  /** Passes on the right rows; returns how many records there were, undefined when they could not all be decoded. */
  private async *decoded(
    reader: ObjectReader,
    entry: FileEntry,
    rowFindings: FindingList,
  ): AsyncGenerator<readonly KeyedRow[], number | undefined> {
    const { decode, manifest, platform, profile, rows } = this.input;
    if (!decode) return undefined;
    const records = decodeObject(reader.chunks(), manifest, profile, platform, this.decodeLimits());
    if (records === undefined) return undefined;
    let count = 0;
    try {
      for await (const batch of records) {
        count += batch.length;
        this.rowsSeen += batch.length;
        if (rows === undefined) reportProblems(batch, entry.object_ref, rowFindings);
        const keyed = rows?.add(batch, entry.object_ref, rowFindings) ?? [];
        if (keyed.length > 0) yield keyed;
      }
      return count;
    } catch (error) {
      // Decoders may wrap what the source threw.
      if (reader.failure !== undefined) return undefined;
      if (!(error instanceof WaybillError) || error.kind !== "content") throw error;
      for (const finding of decodeFindings(error, entry.object_ref)) rowFindings.add(finding);
      return undefined;
    }
  }

  private decodeLimits(): DecodeLimits {
    const { limits } = this.input;
    return { ...limits, maxRows: Math.min(limits.maxRows, Math.max(0, limits.maxTotalRows - this.rowsSeen)) };
  }

  private isWhole(reader: ObjectReader, entry: FileEntry): boolean {
    const { object_ref } = entry;
    if (reader.failure !== undefined) {
      this.readFailed(reader.failure, object_ref);
      return false;
    }
    if (reader.sizeBytes === entry.size_bytes && !reader.isTooLong) return true;
    const actual = reader.isTooLong ? `more than ${entry.size_bytes}` : String(reader.sizeBytes);
    const message = `${object_ref} has another size`;
    const facts = { object_ref, expected: String(entry.size_bytes), actual };
    this.input.findings.add({ code: "OBJECT_SIZE_MISMATCH", message, ...facts });
    return false;
  }

  private matches(
    entry: FileEntry,
    promised: readonly PhysicalChecksum[],
    sha256: string,
    sha512: string | undefined,
  ): boolean {
    const { object_ref } = entry;
    let right = true;
    const compare = (source: string, expected: string, actual: string | undefined): void => {
      if (actual === undefined || expected.toLowerCase() === actual) return;
      right = false;
      const message = `${object_ref} has other bytes than the ${source} says`;
      const facts = { object_ref, expected: expected.toLowerCase(), actual };
      this.input.findings.add({ code: "OBJECT_DIGEST_MISMATCH", message, ...facts });
    };
    compare("manifest", entry.sha256, sha256);
    if (!right) return false;
    for (const { algorithm, value } of promised) {
      compare("verification record", value, algorithm === "sha256" ? sha256 : sha512);
    }
    return right;
  }

  private progress(bytes: number): void {
    const { manifest, objects, onProgress, signal } = this.input;
    signal?.throwIfAborted();
    this.bytesRead += bytes;
    onProgress?.({
      objectsDone: this.objectsDone,
      objects: objects.length,
      bytesRead: this.bytesRead,
      totalBytes: manifest.total_size_bytes,
      rows: this.rowsSeen,
    });
  }
}

/** Without documents a record can still be no record at all. */
function reportProblems(records: readonly DecodedRecord[], objectRef: string, findings: FindingList): void {
  for (const { number, problem } of records) {
    if (problem === undefined) continue;
    findings.add({ code: "ROW_SCHEMA_INVALID", message: problem.message, object_ref: objectRef, row: number });
  }
}
