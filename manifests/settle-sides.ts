import { type Claim, revisionPins } from "./expected-records.ts";
import type { FindingList } from "./finding-list.ts";
import type { AnyManifest } from "./manifest-shape.ts";
import type { VerifierPlatform } from "./platform.ts";
import { type SideFileBytes, sha256Of } from "./read-side-files.ts";
import type { SideFileName } from "./sha256-sums.ts";
import { differingMembers, readSideRevision, type SideRevision } from "./side-revision.ts";
import type { DeliveredDocuments, DocumentPins, Expectation } from "./verification.ts";

/** What the files beside the objects come to once they were compared with what they should be. */
export interface Sides {
  readonly files: ReadonlyMap<SideFileName, SideFileBytes>;
  /** What `revision.json` says about the rows. Empty when a record from outside says it. */
  readonly claims: readonly Claim[];
  /** All three, each with the hash that it must have. */
  readonly documents: DeliveredDocuments | undefined;
}

interface Settling {
  readonly manifest: AnyManifest;
  readonly files: ReadonlyMap<SideFileName, SideFileBytes>;
  readonly given: DeliveredDocuments | undefined;
  readonly expect: Expectation;
  /** From records outside of the folder. */
  readonly pins: DocumentPins | undefined;
}

const documentNames = [
  ["reportDefinition", "definition.json", "report_definition_sha256"],
  ["rowSchema", "row-schema.json", "schema_sha256"],
  ["canonicalization", "canonicalization.json", "canonicalization_sha256"],
] as const;

/** A file beside the objects that is not what the records, or the folder itself, say it is becomes a finding and is not used. */
export function settleSides(
  settling: Settling,
  platform: VerifierPlatform,
  findings: FindingList,
  notChecked: string[],
): Sides {
  const { expect, files } = settling;
  const revision = sideRevision(settling, findings);
  const pins: DocumentPins = { ...(revision === undefined ? {} : revisionPins(revision)), ...settling.pins };
  const documents = sideDocuments(settling, pins, platform, findings, notChecked);
  const isClaim = revision !== undefined && expect.revision === undefined;
  return { files, documents, claims: isClaim ? [claimOf(revision)] : [] };
}

function claimOf({ row_count, control_totals, canonical_content_digest: digest }: SideRevision): Claim {
  const source = "revision.json";
  return { source, rowCount: row_count, controlTotals: control_totals, canonicalDigest: digest?.value };
}

function sideRevision({ expect, files, manifest }: Settling, findings: FindingList): SideRevision | undefined {
  const name = "revision.json";
  const file = files.get(name);
  if (file === undefined) return undefined;
  const mismatch = (
    message: string,
    facts: { column?: string; expected?: string; actual?: string } = {},
  ): undefined => {
    findings.add({ code: "SIDE_FILE_MISMATCH", message, object_ref: name, ...facts });
  };
  const read = readSideRevision(file.bytes);
  if (typeof read === "string") return mismatch(`${name} is damaged: ${read}`);
  const { revision, document } = read;
  if (expect.revision !== undefined) {
    const members = differingMembers(expect.revision, document);
    if (members.length > 0)
      return mismatch(`${name} is not the revision of the ledger; it differs in ${members.join(", ")}`);
    return revision;
  }
  const { reporting_revision_id: expected, period } = manifest;
  const actual = revision.reporting_revision_id;
  if (actual !== expected) {
    return mismatch(`${name} is another revision`, { column: "reporting_revision_id", expected, actual });
  }
  for (const member of ["start", "end", "source_timezone"] as const) {
    const sides = { expected: period[member], actual: revision.period[member] };
    if (sides.expected === sides.actual) continue;
    return mismatch(`${name} is of another period`, { column: `period.${member}`, ...sides });
  }
  return revision;
}

function sideDocuments(
  { files, given }: Settling,
  pins: DocumentPins,
  platform: VerifierPlatform,
  findings: FindingList,
  notChecked: string[],
): DeliveredDocuments | undefined {
  const documents: { -readonly [name in keyof DeliveredDocuments]?: Uint8Array } = {};
  for (const [member, name, pinName] of documentNames) {
    const side = files.get(name);
    const own = given === undefined ? undefined : { bytes: given[member], sha256: sha256Of(given[member], platform) };
    const pin = (pins[pinName] ?? own?.sha256)?.toLowerCase();
    for (const [file, label] of [
      [side, name],
      [own, `the given ${name}`],
    ] as const) {
      if (file === undefined || pin === undefined || file.sha256 === pin) continue;
      const message = `${label} is not the pinned document`;
      const facts = { object_ref: file === side ? name : null, expected: pin, actual: file.sha256 };
      findings.add({ code: "SIDE_FILE_MISMATCH", message, ...facts });
    }
    const usable = [own, side].find((file) => file !== undefined && (pin === undefined || file.sha256 === pin));
    if (usable === undefined) continue;
    documents[member] = usable.bytes;
    if (pin === undefined) notChecked.push(`${name}: no record pins its hash`);
  }
  const { canonicalization, reportDefinition, rowSchema } = documents;
  if (canonicalization === undefined || reportDefinition === undefined || rowSchema === undefined) return undefined;
  return { canonicalization, reportDefinition, rowSchema };
}
