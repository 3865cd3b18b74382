import { type Problem, WaybillError } from "../errors.ts";
import { fullCoverage } from "../model/coverage.ts";
import { idSet, isId } from "../model/id.ts";
import { usToInstant } from "../model/instant.ts";
import type { ControlTotal, Period, Revision } from "../model/records.ts";
import { revisionProblems } from "../model/revision.ts";
import { finalityProblem } from "../schedule/finality.ts";
import { definitionFacts } from "./definition-facts.ts";
import type { DefinitionDocuments } from "./retained.ts";
import { schemaDialect } from "./row-schema.ts";

/** What a seller says about the rows of one revision; everything else follows from documents and rows. */
export interface RevisionMeta {
  readonly accountId: string;
  /** The denominator: every buy the report is about, also those without rows. `from-rows`: the buys that have rows. */
  readonly mediaBuyIds: readonly string[] | "from-rows";
  readonly period: Period;
  readonly finality: Revision["finality"];
  /** Official only. Default: the definition's policy when it has only one. */
  readonly finalityPolicyId?: string;
  /** Official only. Default: now. */
  readonly finalizedAt?: string;
  /** When the source was read. Default: now. */
  readonly observedAt?: string;
  /** Default: unknown. */
  readonly dataThrough?: { readonly instant: string; readonly precision: "exact" | "lower_bound" };
  /** The snapshot this revision restates. */
  readonly supersedes?: string;
  /** What the pipeline expects: refused when it differs from what the rows sum up to. */
  readonly declaredTotals?: readonly ControlTotal[];
  readonly declaredRowCount?: number;
}

/** The computed half of a revision. */
export interface RevisionContent {
  readonly revisionId: string;
  readonly mediaBuyIds: readonly string[];
  readonly rowCount: number;
  readonly controlTotals: readonly ControlTotal[];
  readonly canonicalSha256: string;
  readonly contentSha256: string;
}

/** Builds the wire record. WaybillError `usage` with every problem of the meta. */
export function buildRevision(
  meta: RevisionMeta,
  documents: DefinitionDocuments,
  content: RevisionContent,
  createdUs: bigint,
): Revision {
  const { canonicalization, reportDefinition, rowSchema } = documents;
  const { schemaVersion, canonicalizationId } = definitionFacts(documents);
  const created = usToInstant(createdUs);
  return {
    reporting_revision_id: content.revisionId,
    revision_content_sha256: content.contentSha256,
    report_definition_id: documents.reportDefinitionId,
    report_definition_uri: reportDefinition.uri,
    report_definition_sha256: reportDefinition.sha256,
    reporting_profile: documents.reportingProfile,
    schema_version: schemaVersion,
    schema_uri: rowSchema.uri,
    schema_sha256: rowSchema.sha256,
    schema_dialect: schemaDialect,
    schema_ref_policy: "local_fragment_only",
    account_id: meta.accountId,
    media_buy_ids: content.mediaBuyIds,
    coverage: fullCoverage(content.mediaBuyIds, meta.period.end),
    period: { start: meta.period.start, end: meta.period.end, source_timezone: meta.period.source_timezone },
    finality: meta.finality,
    ...finalityMembers(meta, documents, created),
    observed_at: meta.observedAt ?? created,
    data_through: meta.dataThrough?.instant ?? null,
    data_through_precision: meta.dataThrough?.precision ?? "unknown",
    ...(meta.supersedes === undefined ? {} : { supersedes_reporting_revision_id: meta.supersedes }),
    row_count: content.rowCount,
    control_totals: content.controlTotals,
    canonical_content_digest: {
      algorithm: "sha256",
      value: content.canonicalSha256,
      canonicalization_id: canonicalizationId,
      canonicalization_uri: canonicalization.uri,
      canonicalization_sha256: canonicalization.sha256,
    },
    created_at: created,
  };
}

function finalityMembers(meta: RevisionMeta, documents: DefinitionDocuments, created: string): Partial<Revision> {
  if (meta.finality === "snapshot") return {};
  const { finalityPolicies } = definitionFacts(documents);
  const [only] = finalityPolicies;
  const policy =
    meta.finalityPolicyId === undefined
      ? finalityPolicies.length === 1
        ? only
        : undefined
      : finalityPolicies.find((candidate) => candidate.finality_policy_id === meta.finalityPolicyId);
  if (policy === undefined) return {};
  return {
    finality_basis: policy.basis,
    finality_policy_id: policy.finality_policy_id,
    finalized_at: meta.finalizedAt ?? created,
  };
}

/** Throws WaybillError `usage` with everything that is wrong with the meta, before a single row is read. */
export function checkMeta(meta: RevisionMeta, documents: DefinitionDocuments, nowUs: bigint): void {
  const problems: Problem[] = [];
  const report = (code: string, field: string, message: string): void => {
    problems.push({ code, field, message: `${field} ${message}` });
  };
  const idRule = "must be 1 to 255 characters of A-Z a-z 0-9 _ . : -";
  if (!isId(meta.accountId)) report("INVALID_ID", "account_id", idRule);
  if (meta.supersedes !== undefined && !isId(meta.supersedes)) report("INVALID_ID", "supersedes", idRule);
  if (meta.mediaBuyIds === "from-rows") {
    if (documents.profile.mediaBuyMember === undefined) {
      report("MEDIA_BUYS_REQUIRED", "media_buy_ids", "must be given: the definition names no media_buy_member");
    }
  } else if (!meta.mediaBuyIds.every(isId)) report("INVALID_ID", "media_buy_ids", `${idRule} each`);
  if (meta.finality === "snapshot" && (meta.finalityPolicyId !== undefined || meta.finalizedAt !== undefined)) {
    report("INVALID_REVISION", "finality", "is snapshot; a policy and a close belong to official revisions only");
  }
  const placeholder = "0".repeat(64);
  const candidate = buildRevision(
    meta,
    documents,
    {
      revisionId: "r",
      mediaBuyIds: meta.mediaBuyIds === "from-rows" ? [] : idSet(meta.mediaBuyIds),
      rowCount: 0,
      controlTotals: [],
      canonicalSha256: placeholder,
      contentSha256: placeholder,
    },
    nowUs,
  );
  if (meta.finality === "official" && candidate.finality_policy_id === undefined) {
    report("FINALITY_POLICY_UNKNOWN", "finality_policy_id", "must name one of the definition's finality policies");
  } else {
    const invalid = revisionProblems(candidate);
    problems.push(...invalid);
    const unmet =
      invalid.length > 0 ? undefined : finalityProblem(candidate, definitionFacts(documents).finalityPolicies);
    if (unmet !== undefined) problems.push(unmet);
  }
  if (problems.length > 0) throw new WaybillError("usage", problems);
}
