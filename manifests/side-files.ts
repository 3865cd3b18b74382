import { canonicalBytes } from "../core/canonical-json.ts";
import { sha256Hex } from "../core/digest/node-hasher.ts";
import type { Revision } from "../core/model/records.ts";
import type { DefinitionDocuments } from "../core/rows/retained.ts";
import { manifestName } from "./manifest.ts";
import { formatSums, type NamedSum, type SideFileName, sumsName } from "./sha256-sums.ts";

export { type SideFileName, sideFileNames } from "./sha256-sums.ts";

export interface SideFile {
  readonly name: SideFileName;
  readonly bytes: Uint8Array;
  readonly sha256: string;
}

/**
 * What lies beside the parts so that a buyer who has only the folder can decode, total and digest: the revision, its pinned documents
 * byte for byte, and SHA256SUMS over parts, side files and manifest. The same delivery always gives the same bytes.
 */
export function sideFiles(
  revision: Revision,
  documents: DefinitionDocuments,
  parts: readonly NamedSum[],
  manifestBytes: Uint8Array,
): readonly SideFile[] {
  const files = [
    sideFile("revision.json", canonicalBytes(revision)),
    sideFile("definition.json", documents.reportDefinition.bytes),
    sideFile("row-schema.json", documents.rowSchema.bytes),
    sideFile("canonicalization.json", documents.canonicalization.bytes),
  ];
  const sums = [
    ...parts.map(({ name, sha256 }) => ({ name, sha256 })),
    ...files,
    { name: manifestName, sha256: sha256Hex(manifestBytes) },
  ];
  return [...files, sideFile(sumsName, new TextEncoder().encode(formatSums(sums)))];
}

function sideFile(name: SideFileName, bytes: Uint8Array): SideFile {
  return { name, bytes, sha256: sha256Hex(bytes) };
}
