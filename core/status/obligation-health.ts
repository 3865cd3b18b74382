import { canonicalJson } from "../canonical-json.ts";
import { sha256Hex } from "../digest/node-hasher.ts";
import { type FailureCode, failureTable, type RecommendedAction, type ResponsibleParty } from "../failure-table.ts";
import type { JsonObject } from "../json.ts";
import { instantToUs, usToInstant } from "../model/instant.ts";
import type { Finality, Obligation, ObligationFacts } from "../model/records.ts";

/** What one obligation's ledger rows say at one instant. */
export interface ObligationState {
  readonly facts: ObligationFacts;
  readonly asOfUs: bigint;
  readonly revisionCount: number;
  /** The current revision of the slice. */
  readonly current: { readonly reporting_revision_id: string; readonly finality: Finality } | undefined;
  readonly materializationCount: number;
  readonly successfulMaterializationCount: number;
  /** How far the current revision's verified, unexpired, unwithdrawn resources stay readable: the earliest of their ends. */
  readonly readableUntilUs: bigint | undefined;
  /** Whether the current revision was ever ready, expired and withdrawn resources included. */
  readonly everReady: boolean;
  /** Of the current revision's latest attempt, when it failed. */
  readonly lastFailure: FailureCode | undefined;
}

interface Trouble {
  readonly code: "REPORT_OVERDUE" | "DELIVERY_FAILED" | "RESOURCE_EXPIRED" | "RECEIPT_REQUIRED";
  readonly severity: "delayed" | "action_required";
  readonly party: ResponsibleParty;
  readonly action: RecommendedAction;
  readonly openedAtUs: bigint;
}

/**
 * The wire projection of an obligation at an instant. Pure. Health follows CONTRACT section 11: an unmet requirement is
 * `waiting` until `expected_at`, `delayed` for the recovery window from then on, `action_required` after it; a met one is
 * `complete`. Receipts and adjustments are not recorded yet, so `consumer_receipt` stays `pending` once something is published.
 */
export function projectObligation(state: ObligationState, recoveryWindowUs: bigint): Obligation {
  const { facts, current } = state;
  const troubles = [...deliveryTroubles(state, recoveryWindowUs), ...receiptTroubles(state)];
  const unmet = !isMet(state);
  const managed = facts.destination_ref !== undefined;
  const withReceipts = facts.reconciliation_mode === "consumer_receipt";
  return {
    ...facts,
    reconciliation_status: withReceipts ? "pending" : "not_required",
    health: troubles.some(({ severity }) => severity === "action_required")
      ? "action_required"
      : troubles.length > 0
        ? "delayed"
        : unmet
          ? "waiting"
          : "complete",
    production_status: current !== undefined ? "published" : isDue(state) ? "pending" : "not_due",
    revision_count: state.revisionCount,
    adjustment_count: 0,
    ...(managed
      ? {
          materialization_count: state.materializationCount,
          successful_materialization_count: state.successfulMaterializationCount,
        }
      : {}),
    ...(withReceipts
      ? {
          receipt_count: 0,
          accepted_receipt_count: 0,
          adjustment_receipt_count: 0,
          accepted_adjustment_receipt_count: 0,
          pending_adjustment_count: 0,
        }
      : {}),
    issues: troubles.map((trouble) => issueOf(facts, current?.reporting_revision_id, trouble)),
    ...(managed && !unmet && state.readableUntilUs !== undefined
      ? { resource_retained_until: usToInstant(state.readableUntilUs) }
      : {}),
  };
}

function isDue({ facts, asOfUs }: ObligationState): boolean {
  return asOfUs >= instantToUs(facts.expected_at);
}

function hasRequiredRevision({ facts, current }: ObligationState): boolean {
  return current !== undefined && (facts.required_finality === "snapshot" || current.finality === "official");
}

function isMet(state: ObligationState): boolean {
  if (!hasRequiredRevision(state)) return false;
  return state.facts.destination_ref === undefined || state.readableUntilUs !== undefined;
}

function deliveryTroubles(state: ObligationState, recoveryWindowUs: bigint): readonly Trouble[] {
  if (isMet(state)) return [];
  const expectedAtUs = instantToUs(state.facts.expected_at);
  const recovered = state.asOfUs >= expectedAtUs + recoveryWindowUs;
  const severity = recovered ? "action_required" : "delayed";
  const seller = { party: "seller", action: recovered ? "contact_seller" : "wait_for_retry" } as const;
  if (!hasRequiredRevision(state)) {
    return isDue(state) ? [{ code: "REPORT_OVERDUE", severity, ...seller, openedAtUs: expectedAtUs }] : [];
  }
  if (state.everReady && state.lastFailure === undefined) {
    return [{ code: "RESOURCE_EXPIRED", severity: "action_required", ...expired, openedAtUs: expectedAtUs }];
  }
  if (!isDue(state)) return [];
  const blame = recovered && state.lastFailure !== undefined ? failureTable[state.lastFailure] : seller;
  const { party, action } = blame;
  return [{ code: "DELIVERY_FAILED", severity, party, action, openedAtUs: expectedAtUs }];
}

const expired = { party: "seller", action: "contact_seller" } as const;

/** The wire demands this as soon as anything is published, delivered or not. */
function receiptTroubles({ facts, current }: ObligationState): readonly Trouble[] {
  if (facts.reconciliation_mode !== "consumer_receipt" || current === undefined) return [];
  const openedAtUs = instantToUs(facts.scope_resolved_at);
  return [
    { code: "RECEIPT_REQUIRED", severity: "action_required", party: "buyer", action: "contact_buyer", openedAtUs },
  ];
}

function issueOf(facts: ObligationFacts, revisionId: string | undefined, trouble: Trouble): JsonObject {
  const obligationId = facts.reporting_obligation_id;
  return {
    // The same condition keeps its id from poll to poll and when it grows worse.
    issue_id: `iss_${sha256Hex(canonicalJson([obligationId, trouble.code, revisionId ?? null])).slice(0, 26)}`,
    code: trouble.code,
    severity: trouble.severity,
    opened_at: usToInstant(trouble.openedAtUs),
    responsible_party: trouble.party,
    recommended_action: trouble.action,
    reporting_obligation_id: obligationId,
    delivery_config_id: facts.delivery_config_id,
    delivery_config_version: facts.delivery_config_version,
    feed_purpose: facts.feed_purpose,
    ...(revisionId === undefined ? {} : { reporting_revision_id: revisionId }),
  };
}
