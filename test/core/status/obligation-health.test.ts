import { describe, expect, it } from "vitest";
import { instantToUs } from "../../../core/model/instant.ts";
import { type ObligationState, projectObligation } from "../../../core/status/obligation-health.ts";
import { obligationFacts } from "../../conformance/ledger/records.ts";

const expectedAt = "2026-08-27T04:00:00Z";
const windowUs = 7_200_000_000n;

/** An obligation with nothing published, seen at an instant. */
function stateAt(asOf: string, changes: Partial<ObligationState> = {}): ObligationState {
  return {
    facts: obligationFacts({ expected_at: expectedAt }),
    asOfUs: instantToUs(asOf),
    revisionCount: 0,
    current: undefined,
    materializationCount: 0,
    successfulMaterializationCount: 0,
    readableUntilUs: undefined,
    everReady: false,
    lastFailure: undefined,
    ...changes,
  };
}

const published = { revisionCount: 1, current: { reporting_revision_id: "rev-a", finality: "snapshot" } } as const;
const ready = {
  ...published,
  materializationCount: 1,
  successfulMaterializationCount: 1,
  everReady: true,
  readableUntilUs: instantToUs("2026-11-25T00:00:00Z"),
} as const;

function seen(state: ObligationState): readonly unknown[] {
  const { health, production_status, issues } = projectObligation(state, windowUs);
  return [
    health,
    production_status,
    ...issues.map((issue) => [
      issue["code"],
      issue["severity"],
      issue["responsible_party"],
      issue["recommended_action"],
    ]),
  ];
}

describe("obligation health", () => {
  const overdue = (severity: string, action: string) => ["REPORT_OVERDUE", severity, "seller", action];
  const cases: readonly (readonly [string, ObligationState, readonly unknown[]])[] = [
    [
      "waits until the last microsecond before it is expected",
      stateAt("2026-08-27T03:59:59.999999Z"),
      ["waiting", "not_due"],
    ],
    [
      "is delayed from the instant it is expected",
      stateAt(expectedAt),
      ["delayed", "pending", overdue("delayed", "wait_for_retry")],
    ],
    [
      "is still delayed just before recovery ends",
      stateAt("2026-08-27T05:59:59.999999Z"),
      ["delayed", "pending", overdue("delayed", "wait_for_retry")],
    ],
    [
      "needs action from the instant recovery ends",
      stateAt("2026-08-27T06:00:00Z"),
      ["action_required", "pending", overdue("action_required", "contact_seller")],
    ],
    ["waits for a delivery of what is published", stateAt("2026-08-27T03:00:00Z", published), ["waiting", "published"]],
    [
      "blames the delivery once a revision is there",
      stateAt(expectedAt, published),
      ["delayed", "published", ["DELIVERY_FAILED", "delayed", "seller", "wait_for_retry"]],
    ],
    [
      "names who must act on the failure once recovery is over",
      stateAt("2026-08-27T06:00:00Z", { ...published, materializationCount: 1, lastFailure: "DESTINATION_FORBIDDEN" }),
      ["action_required", "published", ["DELIVERY_FAILED", "action_required", "buyer", "repair_access"]],
    ],
    [
      "is complete with a verified delivery of the current revision, also late",
      stateAt("2026-08-28T00:00:00Z", ready),
      ["complete", "published"],
    ],
    [
      "needs action when the delivered resource is gone, before it is even due",
      stateAt("2026-08-27T03:00:00Z", { ...ready, readableUntilUs: undefined }),
      ["action_required", "published", ["RESOURCE_EXPIRED", "action_required", "seller", "contact_seller"]],
    ],
    [
      "wants an official revision where one is required",
      stateAt("2026-08-27T06:00:00Z", { ...ready, facts: obligationFacts({ required_finality: "official" }) }),
      ["action_required", "published", overdue("action_required", "contact_seller")],
    ],
    [
      "takes an official revision where a snapshot is required",
      stateAt("2026-08-27T06:00:00Z", { ...ready, current: { reporting_revision_id: "rev-b", finality: "official" } }),
      ["complete", "published"],
    ],
  ];
  for (const [title, state, expected] of cases) it(title, () => expect(seen(state)).toEqual(expected));

  it("a recovery window of zero goes straight to action_required", () => {
    expect(projectObligation(stateAt(expectedAt), 0n).health).toBe("action_required");
  });

  it("an issue keeps its id and opening while it grows worse, and another condition has another id", () => {
    const [late] = projectObligation(stateAt(expectedAt), windowUs).issues;
    const [later] = projectObligation(stateAt("2026-08-28T00:00:00Z"), windowUs).issues;
    expect([later?.["issue_id"], later?.["opened_at"]]).toEqual([late?.["issue_id"], expectedAt]);
    const [other] = projectObligation(stateAt(expectedAt, published), windowUs).issues;
    expect(other?.["issue_id"]).not.toBe(late?.["issue_id"]);
  });

  it("an obligation without destination is complete once its revision is published, and has no delivery counts", () => {
    const { destination_ref: _, ...facts } = obligationFacts();
    const projection = projectObligation(stateAt("2026-08-27T06:00:00Z", { ...published, facts }), windowUs);
    expect(projection).toMatchObject({ health: "complete", revision_count: 1 });
    expect(Object.keys(projection)).not.toContain("materialization_count");
    expect(Object.keys(projection)).not.toContain("resource_retained_until");
  });

  it("a receipt is asked for as soon as something is published", () => {
    const facts = obligationFacts({ reconciliation_mode: "consumer_receipt" });
    expect(seen(stateAt("2026-08-27T03:00:00Z", { facts }))).toEqual(["waiting", "not_due"]);
    expect(seen(stateAt("2026-08-27T03:00:00Z", { ...ready, facts }))).toEqual([
      "action_required",
      "published",
      ["RECEIPT_REQUIRED", "action_required", "buyer", "contact_buyer"],
    ]);
  });
});
