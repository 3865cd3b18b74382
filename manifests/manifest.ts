import { canonicalBytes } from "../core/canonical-json.ts";
import { type Problem, WaybillError } from "../core/errors.ts";
import type { FileEntry, Manifest } from "../core/model/records.ts";
import { JsonError, parseJsonBytes } from "../core/strict-json.ts";
import { type AnyManifest, manifestShape, type ShapeResult } from "./manifest-shape.ts";
import { isObjectName } from "./object-ref.ts";

export type { AnyManifest } from "./manifest-shape.ts";

/** The commit mark of a delivery, in its folder. */
export const manifestName = "manifest.json";

/** All of a manifest that is known before the bytes are. */
export type ManifestFacts = Omit<Manifest, "manifest_version" | "complete" | "files" | "total_size_bytes">;

/**
 * The manifest of finished objects and its exact bytes (RFC 8785), which are made once and kept. Depends on its arguments alone, never
 * on a listing. WaybillError `content` with every problem when it would not be a manifest: sums that disagree, names that are not bare
 * or that a file system could take for one another.
 */
export function buildManifest(
  facts: ManifestFacts,
  files: readonly FileEntry[],
): { readonly manifest: Manifest; readonly bytes: Uint8Array } {
  const manifest: Manifest = {
    manifest_version: "1.0",
    complete: true,
    reporting_revision_id: facts.reporting_revision_id,
    reporting_obligation_id: facts.reporting_obligation_id,
    reporting_materialization_id: facts.reporting_materialization_id,
    period: facts.period,
    format: facts.format,
    compression: facts.compression,
    files,
    total_size_bytes: Number(sum(files, "size_bytes")),
    row_count: facts.row_count,
    control_totals: facts.control_totals,
    created_at: facts.created_at,
  };
  const bytes = canonicalBytes(manifest);
  parseManifest(bytes);
  return { manifest, bytes };
}

/**
 * A manifest that a delivery of ours could have: strict JSON, exactly the official members, a format we write, sums that agree, bare
 * and distinct object names. WaybillError `content` with every problem, code INVALID_MANIFEST.
 */
export function parseManifest(bytes: Uint8Array): Manifest {
  const { manifest, problems } = readManifest(bytes);
  if (manifest === undefined) throw new WaybillError("content", problems);
  const { format } = manifest;
  if (format === "avro" || format === "orc") {
    throw new WaybillError("content", [invalid("format", "must be jsonl, csv or parquet")]);
  }
  const faults = [...sumProblems(manifest), ...nameProblems(manifest.files)];
  if (faults.length > 0) throw new WaybillError("content", faults);
  return { ...manifest, format };
}

/** Strict JSON and the official shape, nothing more: sums, names and formats are the caller's matter. Never throws for bad bytes. */
export function readManifest(bytes: Uint8Array): ShapeResult {
  try {
    // The official shape is four levels deep.
    return manifestShape(parseJsonBytes(bytes, { maxDepth: 16 }));
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return { problems: [{ code: "INVALID_MANIFEST", message: `manifest: ${error.message}` }] };
  }
}

/** Where the totals of a manifest are not the sums over its files. */
export function sumProblems(manifest: AnyManifest): readonly Problem[] {
  const problems: Problem[] = [];
  for (const [total, member] of [
    ["total_size_bytes", "size_bytes"],
    ["row_count", "row_count"],
  ] as const) {
    if (sum(manifest.files, member) === BigInt(manifest[total])) continue;
    problems.push(invalid(total, `is not the sum of ${member} over its files`));
  }
  return problems;
}

function nameProblems(files: readonly FileEntry[]): readonly Problem[] {
  const problems: Problem[] = [];
  const seen = new Set<string>();
  files.forEach((file, index) => {
    const field = `files[${index}].object_ref`;
    const folded = file.object_ref.toLowerCase();
    if (!isObjectName(file.object_ref)) problems.push(invalid(field, "is not a bare object name"));
    if (seen.has(folded)) problems.push(invalid(field, "is an earlier name, or differs from it by case only"));
    seen.add(folded);
  });
  return problems;
}

function invalid(field: string, what: string): Problem {
  return { code: "INVALID_MANIFEST", message: `manifest: ${field} ${what}`, field };
}

function sum(files: readonly FileEntry[], member: "size_bytes" | "row_count"): bigint {
  return files.reduce((total, file) => total + BigInt(file[member]), 0n);
}
