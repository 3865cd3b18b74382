import { canonicalJson } from "../../core/canonical-json.ts";
import type { Encoding } from "../../core/encoding/encoding.ts";
import { partName } from "../../core/encoding/part-name.ts";
import { DeliveryError } from "../../core/errors.ts";
import type { JsonObject, JsonValue } from "../../core/json.ts";
import type { FileCompression, FileFormat } from "../../core/model/records.ts";
import { parseJson } from "../../core/strict-json.ts";
import { type ManifestFacts, manifestName } from "../../manifests/manifest.ts";
import type { DriverPlan, PlanInput } from "../driver.ts";
import type { FileSettings } from "./file-settings.ts";
import { deliveryFolder, objectKey } from "./layout.ts";

/** More data objects than any reader is asked to open; a split that fine is a mistake in `rows_per_part`. */
const maxParts = 10_000;
/** Wire limit of `resource.location`, characters. */
const maxLocationLength = 2048;

/** What a file delivery will do: every name, and all of the manifest that is known before the bytes are. */
export interface FileTransferPlan extends DriverPlan {
  readonly location: string;
  /** Key of the delivery's own folder, relative to the destination. */
  readonly folder: string;
  readonly encoding: {
    readonly format: FileFormat;
    readonly compression: FileCompression;
    readonly level: number | null;
    readonly rows_per_part: number;
  };
  /** Bare names of the data objects, in the order of the rows. */
  readonly parts: readonly string[];
  readonly manifest: JsonObject & ManifestFacts;
  /** What pins the side files: sha256 of the documents that decode the rows. */
  readonly documents: {
    readonly report_definition_sha256: string;
    readonly schema_sha256: string;
    readonly canonicalization_sha256: string | null;
  };
}

/**
 * Pure. CONFIGURATION_INVALID when the settings cannot carry this revision: more than 10,000 parts, or a location longer than the wire
 * allows.
 */
export function planDelivery(
  input: PlanInput,
  options: {
    readonly transport: string;
    readonly location: string;
    readonly settings: FileSettings;
    readonly fingerprint: string;
  },
): FileTransferPlan {
  const { revision } = input;
  const { encoding, template } = options.settings;
  const partCount = Math.max(1, Math.ceil(revision.row_count / encoding.rowsPerPart));
  if (partCount > maxParts) throw new DeliveryError("CONFIGURATION_INVALID");
  const facts = {
    reportDefinitionId: revision.report_definition_id,
    accountId: revision.account_id,
    period: revision.period,
  };
  const folder = deliveryFolder(template, facts, revision.reporting_revision_id, input.materializationId);
  const plan: FileTransferPlan = {
    transport: options.transport,
    encoder_fingerprint: options.fingerprint,
    location: options.location,
    folder,
    encoding: {
      format: encoding.format,
      compression: encoding.compression,
      level: encoding.level ?? null,
      rows_per_part: encoding.rowsPerPart,
    },
    parts: Array.from({ length: partCount }, (_, index) => partName(index, encoding)),
    manifest: asManifestFacts({
      reporting_revision_id: revision.reporting_revision_id,
      reporting_obligation_id: input.obligationId,
      reporting_materialization_id: input.materializationId,
      period: revision.period,
      format: encoding.format,
      compression: encoding.compression,
      row_count: revision.row_count,
      control_totals: revision.control_totals,
      created_at: input.createdAt,
    }),
    documents: {
      report_definition_sha256: revision.report_definition_sha256,
      schema_sha256: revision.schema_sha256,
      canonicalization_sha256: revision.canonical_content_digest?.canonicalization_sha256 ?? null,
    },
  };
  if (locationOf(plan).length > maxLocationLength) throw new DeliveryError("CONFIGURATION_INVALID");
  return plan;
}

/**
 * A plan as it comes back from the ledger. INTERNAL when it is not a plan of this driver, CONFIGURATION_INVALID when it was made for
 * another destination, DESTINATION_UNSAFE when one of its names could lead out of its folder.
 */
export function readPlan(
  plan: DriverPlan,
  expected: { readonly transport: string; readonly location: string },
): FileTransferPlan {
  const encoding = objectOf(plan["encoding"]);
  const documents = objectOf(plan["documents"]);
  const canonicalization = documents["canonicalization_sha256"];
  const parts = plan["parts"];
  if (!Array.isArray(parts) || parts.length === 0) throw notAPlan();
  const read: FileTransferPlan = {
    transport: textOf(plan["transport"]),
    encoder_fingerprint: textOf(plan["encoder_fingerprint"]),
    location: textOf(plan["location"]),
    folder: textOf(plan["folder"]),
    encoding: {
      format: oneOf(encoding["format"], ["jsonl", "csv", "parquet"]),
      compression: oneOf(encoding["compression"], ["none", "gzip", "zstd", "snappy"]),
      level: encoding["level"] === null ? null : numberOf(encoding["level"]),
      rows_per_part: numberOf(encoding["rows_per_part"]),
    },
    parts: parts.map((name) => textOf(name)),
    manifest: asManifestFacts(objectOf(plan["manifest"])),
    documents: {
      report_definition_sha256: textOf(documents["report_definition_sha256"]),
      schema_sha256: textOf(documents["schema_sha256"]),
      canonicalization_sha256: canonicalization === null ? null : textOf(canonicalization),
    },
  };
  if (read.transport !== expected.transport || read.location !== expected.location) {
    throw new DeliveryError("CONFIGURATION_INVALID");
  }
  for (const name of read.parts) objectKey(read.folder, name);
  return read;
}

/** The encoding a plan asks the worker for. */
export function encodingOf(plan: FileTransferPlan): Encoding {
  const { format, compression, level, rows_per_part } = plan.encoding;
  return { format, compression, ...(level === null ? {} : { level }), rowsPerPart: rows_per_part };
}

/** Where the buyer finds the manifest: the destination's location and the key. */
export function locationOf(plan: FileTransferPlan): string {
  return `${plan.location}/${objectKey(plan.folder, manifestName)}`;
}

/** The plain JSON of it, as the ledger keeps it. What came back from the ledger is checked where the manifest is built from it. */
function asManifestFacts(facts: object): JsonObject & ManifestFacts {
  return parseJson(canonicalJson(facts)) as JsonObject & ManifestFacts;
}

function objectOf(value: JsonValue | undefined): JsonObject {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw notAPlan();
  // Array.isArray does not narrow readonly arrays away.
  return value as JsonObject;
}

function textOf(value: JsonValue | undefined): string {
  if (typeof value !== "string") throw notAPlan();
  return value;
}

function numberOf(value: JsonValue | undefined): number {
  if (typeof value !== "number") throw notAPlan();
  return value;
}

function oneOf<T extends string>(value: JsonValue | undefined, allowed: readonly T[]): T {
  const found = allowed.find((word) => word === value);
  if (found === undefined) throw notAPlan();
  return found;
}

function notAPlan(): DeliveryError {
  return new DeliveryError("INTERNAL");
}
