import { canonicalBytes, canonicalJson } from "../canonical-json.ts";
import { sha256Hex } from "../digest/node-hasher.ts";
import { DeliveryError, WaybillError } from "../errors.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import type { Revision } from "../model/records.ts";
import { JsonError, parseJsonBytes } from "../strict-json.ts";
import { profileFromDocuments } from "./profile-from-documents.ts";
import type { DefinitionDocuments, PinnedDocument, RetainedRevision } from "./retained.ts";

const formatVersion = 1;

/** Bytes of `revision.json` of a retained revision: canonical JSON that carries its own hash, so that a changed digit is noticed. */
export function retainedRecordBytes(retained: RetainedRevision): Uint8Array {
  const { revision, parts, mediaBuyTotals } = retained;
  const content = { revision, parts, mediaBuyTotals };
  return canonicalBytes({ waybill_retained: formatVersion, sha256: sha256Hex(canonicalJson(content)), content });
}

/** Reads it back. DeliveryError REVISION_UNREADABLE when it is not what retainedRecordBytes wrote. */
export function readRetainedRecord(bytes: Uint8Array): RetainedRevision {
  let record: JsonValue;
  try {
    record = parseJsonBytes(bytes);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw new DeliveryError("REVISION_UNREADABLE", { cause: error });
  }
  const { waybill_retained: version, sha256, content } = isObject(record) ? record : {};
  if (version !== formatVersion || content === undefined || sha256 !== sha256Hex(canonicalJson(content))) {
    throw new DeliveryError("REVISION_UNREADABLE");
  }
  return content as unknown as RetainedRevision;
}

/** The documents beside a retained revision, checked against the pins in the revision. DeliveryError REVISION_UNREADABLE when they differ. */
export function restoreDocuments(
  revision: Revision,
  bytes: {
    readonly reportDefinition: Uint8Array;
    readonly rowSchema: Uint8Array;
    readonly canonicalization: Uint8Array;
  },
): DefinitionDocuments {
  const digest = revision.canonical_content_digest;
  if (digest === undefined) throw new DeliveryError("REVISION_UNREADABLE");
  const pin = (document: Uint8Array, sha256: string, uri: string): PinnedDocument => {
    if (sha256Hex(document) !== sha256) throw new DeliveryError("REVISION_UNREADABLE");
    return { bytes: document, sha256, uri };
  };
  try {
    return {
      reportDefinitionId: revision.report_definition_id,
      reportingProfile: revision.reporting_profile,
      reportDefinition: pin(bytes.reportDefinition, revision.report_definition_sha256, revision.report_definition_uri),
      rowSchema: pin(bytes.rowSchema, revision.schema_sha256, revision.schema_uri),
      canonicalization: pin(bytes.canonicalization, digest.canonicalization_sha256, digest.canonicalization_uri),
      profile: profileFromDocuments(bytes),
    };
  } catch (error) {
    if (!(error instanceof WaybillError)) throw error;
    throw new DeliveryError("REVISION_UNREADABLE", { cause: error });
  }
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
