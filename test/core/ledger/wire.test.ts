import { afterEach, beforeEach, expect, it } from "vitest";
import { findRevision, listMaterializations, obligationProjection } from "../../../core/ledger/queries.ts";
import {
  createObligation,
  finishFailed,
  installConfiguration,
  placeTombstone,
  publishRevision,
} from "../../../core/ledger/transitions.ts";
import { instantToUs } from "../../../core/model/instant.ts";
import type { Obligation } from "../../../core/model/records.ts";
import type { Database } from "../../../core/store/sql.ts";
import { freshPglite } from "../../conformance/ledger/fresh-pglite.ts";
import {
  aConfiguration,
  aDestination,
  aRevision,
  obligationFacts,
  officialEvidence,
  retainedParts,
} from "../../conformance/ledger/records.ts";
import { claimed, delivered, type LedgerWorld, ledgerWorld, opened, owed } from "../../conformance/ledger/world.ts";
import { type OfficialCheck, officialSchema } from "../../servers/official-schemas.ts";
import { describePeer } from "../../servers/peers.ts";

const operator = { operator: true } as const;

describePeer("adcp", "what the ledger gives out is valid by the official schemas", () => {
  let world: LedgerWorld;
  let db: Database;
  beforeEach(async () => {
    world = await ledgerWorld(freshPglite);
    db = world.db;
  });
  afterEach(() => db.close());

  const checks = new Map<string, OfficialCheck>();
  const valid = (name: string, value: unknown): void => {
    const check = checks.get(name) ?? officialSchema(name);
    checks.set(name, check);
    expect(check(value)).toEqual([]);
  };
  const at = (instant: string) => world.clock.set(instantToUs(instant));
  const projection = async (id = "obl-1"): Promise<Obligation> => {
    const obligation = await obligationProjection(db, operator, id);
    if (obligation === undefined) throw new Error("no such obligation");
    valid("core/reporting-obligation", obligation);
    return obligation;
  };

  it("an obligation from waiting over delay and failure to complete and expired", async () => {
    await installConfiguration(db, { configuration: aConfiguration(), destination: aDestination() });
    await createObligation(db, obligationFacts());
    expect(await projection()).toMatchObject({ health: "waiting", production_status: "not_due", revision_count: 0 });
    await at("2026-08-27T04:00:00Z");
    expect(await projection()).toMatchObject({ health: "delayed", production_status: "pending" });
    await at("2026-08-27T06:00:00Z");
    expect((await projection()).health).toBe("action_required");

    await publishRevision(db, { revision: aRevision(), retained: retainedParts() });
    expect(await projection()).toMatchObject({ production_status: "published", issues: [{ code: "DELIVERY_FAILED" }] });
    const failing = await claimed(db, await opened(db));
    await finishFailed(db, failing, { code: "DESTINATION_FORBIDDEN" });
    expect((await projection()).issues).toMatchObject([{ recommended_action: "repair_access" }]);

    const record = await delivered(db, await opened(db), aRevision());
    expect(await projection()).toMatchObject({
      health: "complete",
      revision_count: 1,
      materialization_count: 2,
      successful_materialization_count: 1,
      issues: [],
      resource_retained_until: record.resource?.expires_at,
    });
    await at(record.resource?.expires_at ?? "");
    expect(await projection()).toMatchObject({ health: "action_required", issues: [{ code: "RESOURCE_EXPIRED" }] });
  });

  it("a restatement makes an obligation unmet until it is delivered too, and an older delivery does not meet it", async () => {
    const { revision } = await owed(db);
    await delivered(db, await opened(db), revision);
    const b = aRevision({ reporting_revision_id: "rev-b", supersedes_reporting_revision_id: "rev-a" });
    await publishRevision(db, { revision: b, retained: retainedParts() });
    expect(await projection()).toMatchObject({ health: "waiting", revision_count: 2 });
    await delivered(db, await opened(db, "exact"), revision);
    expect(await projection()).toMatchObject({ health: "waiting", successful_materialization_count: 2 });
    await delivered(db, await opened(db, "current", { revisionId: "rev-b" }), b);
    expect(await projection()).toMatchObject({ health: "complete", successful_materialization_count: 3 });
  });

  it("a withdrawn delivery meets nothing", async () => {
    const { revision } = await owed(db);
    const { reporting_materialization_id } = await delivered(db, await opened(db), revision);
    await placeTombstone(db, { materializationId: reporting_materialization_id, what: "access", reason: "test" });
    expect((await projection()).health).toBe("action_required");
  });

  it("a billing obligation waits for its official close, then for a receipt", async () => {
    const billing = {
      feed_purpose: "billing",
      required_finality: "official",
      reconciliation_mode: "consumer_receipt",
    } as const;
    await installConfiguration(db, { configuration: aConfiguration(billing), destination: aDestination() });
    await createObligation(db, obligationFacts(billing));
    expect(await projection()).toMatchObject({ health: "waiting", reconciliation_status: "pending", receipt_count: 0 });
    await at("2026-08-27T04:00:01Z");
    const official = aRevision(officialEvidence);
    await publishRevision(db, { revision: official, retained: retainedParts() });
    const record = await delivered(db, await opened(db), official);
    valid("core/reporting-materialization", record);
    expect(await projection()).toMatchObject({ health: "action_required", issues: [{ code: "RECEIPT_REQUIRED" }] });
  });

  it("revisions and materializations in every status", async () => {
    for (const hosting of ["producer", "buyer"] as const) {
      world = await ledgerWorld(freshPglite);
      db = world.db;
      const { revision } = await owed(db, { hosting });
      valid("core/reporting-revision", (await findRevision(db, operator, "rev-a"))?.revision);
      await finishFailed(db, await claimed(db, await opened(db)), { code: "DESTINATION_FULL" });
      const status = hosting === "producer" ? "available" : "delivered";
      await delivered(db, await opened(db), revision, { status });
      await opened(db, "exact");
      const { items } = await listMaterializations(db, operator);
      expect(items.map((item) => item.status)).toEqual(["failed", status, "pending"]);
      for (const item of items) valid("core/reporting-materialization", item);
    }
  });

  it("change records, and doorbells once a subscriber's members are added", async () => {
    const { revision } = await owed(db);
    await delivered(db, await opened(db), revision);
    const b = aRevision({ reporting_revision_id: "rev-b", supersedes_reporting_revision_id: "rev-a" });
    await publishRevision(db, { revision: b, retained: retainedParts() });
    const changes = await db.query<{ record: string }>("select record from account_change order by seq");
    expect(changes).toHaveLength(3);
    for (const { record } of changes) valid("core/account-change", JSON.parse(record));

    const events = await db.query<{ event_type: string; payload: string }>(
      "select event_type, payload from outbox order by seq",
    );
    expect(events.map(({ event_type }) => event_type)).toEqual([
      "reporting.ledger_changed",
      "reporting.delivery_ready",
      "reporting.ledger_changed",
    ]);
    const schemas = new Map([
      ["reporting.ledger_changed", "core/reporting-ledger-changed-webhook"],
      ["reporting.delivery_ready", "core/reporting-delivery-ready-webhook"],
    ]);
    for (const { event_type, payload } of events) {
      const fired = {
        ...JSON.parse(payload),
        idempotency_key: "0123456789abcdef",
        notification_id: "rn_1",
        notification_type: event_type,
        fired_at: "2026-08-27T04:00:00Z",
        subscriber_id: "sub-1",
      };
      valid(schemas.get(event_type) ?? "", fired);
    }
  });
});
