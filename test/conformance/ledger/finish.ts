import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checkAuthority } from "../../../core/ledger/authority.ts";
import type { Lease, ReadyOutcome } from "../../../core/ledger/ledger-records.ts";
import {
  findMaterialization,
  journalOf,
  listMaterializations,
  tombstonesToCheck,
} from "../../../core/ledger/queries.ts";
import {
  claim,
  deactivateConfiguration,
  deactivateDestination,
  finishFailed,
  finishReady,
  placeTombstone,
  publishRevision,
  recordCommit,
  recordPhase,
  recordProbe,
  settleTombstone,
} from "../../../core/ledger/transitions.ts";
import type { Materialization, Revision } from "../../../core/model/records.ts";
import type { Database } from "../../../core/store/sql.ts";
import { fails, outboxOf, refused, unchanged } from "./expectations.ts";
import { aDestination, aRevision, commitEvidence, fileTransferPlan, readyOutcome, retainedParts } from "./records.ts";
import { claimed, committed, delivered, type LedgerWorld, ledgerWorld, opened, owed } from "./world.ts";

const operator = { operator: true } as const;
const configurationKey = { accountId: "acct-1", deliveryConfigId: "daily", deliveryConfigVersion: 1 };

/** From the commit to the one end: tx 1, probes, tx 2, failure, withdrawal. */
export function finishSuite(open: () => Promise<Database>): void {
  describe("the end of an attempt", () => {
    let world: LedgerWorld;
    let db: Database;
    let record: Materialization;
    let revision: Revision;
    let id: string;
    beforeEach(async () => {
      world = await ledgerWorld(open);
      db = world.db;
      revision = (await owed(db)).revision;
      record = await opened(db);
      id = record.reporting_materialization_id;
    });
    afterEach(() => db.close());

    const readyRows = async () =>
      (await outboxOf(db)).filter(([type]) => type === "reporting.delivery_ready").map(([, cause]) => cause);
    const supersede = () =>
      publishRevision(db, {
        revision: aRevision({ reporting_revision_id: "rev-b", supersedes_reporting_revision_id: "rev-a" }),
        retained: retainedParts(),
      });

    it("a matching read ends the record once, with database time, one doorbell and one change record", async () => {
      const lease = await claimed(db, record);
      await committed(db, lease);
      await recordProbe(db, lease, { outcome: "read" });
      await world.clock.advance(250);
      const result = await finishReady(db, lease, readyOutcome(revision));
      const ready = {
        ...record,
        status: "available",
        ready_at: "2026-08-27T02:00:00.250Z",
        resource: { ...readyOutcome(revision).resource, expires_at: "2026-11-25T02:00:00.250Z" },
        verification: { ...readyOutcome(revision).verification, verified_at: "2026-08-27T02:00:00.250Z" },
      };
      expect(result).toEqual({ outcome: "done", record: ready });
      expect(await findMaterialization(db, operator, id)).toMatchObject({ record: ready, phase: "done", probes: 1 });
      expect(await readyRows()).toEqual([id]);
      const [doorbell] = await db.query<{ payload: string }>("select payload from outbox where cause_id = $1", [id]);
      expect(JSON.parse(doorbell?.payload ?? "")).toEqual({
        account_id: "acct-1",
        delivery_config_id: "daily",
        delivery_config_version: 1,
        feed_purpose: "analytics",
        reporting_revision_id: "rev-a",
        reporting_materialization_id: id,
        readiness: "available",
        finality: "snapshot",
        data_through: "2026-08-27T00:00:00Z",
      });
      const changes = await db.query<{ record: string }>("select record from account_change order by seq");
      expect(JSON.parse(changes.at(-1)?.record ?? "")).toMatchObject({
        resource: {
          type: "delivery_report",
          account_id: "acct-1",
          resource_id: "rev-a",
          parent_ids: { reporting_materialization_id: id, reporting_obligation_id: "obl-1" },
        },
        action: "status_changed",
        origin: { kind: "seller_system" },
        repair: { task: "get_media_buy_delivery" },
      });
      expect((await journalOf(db, operator, id)).items.map(({ event }) => event)).toEqual([
        "opened",
        "claimed",
        "writing",
        "committed",
        "probed",
        "available",
      ]);
    });

    it("the destination's hosting decides the ready word", async () => {
      const hosted = await ledgerWorld(open);
      const { revision: own } = await owed(hosted.db, { hosting: "buyer" });
      const attempt = await opened(hosted.db);
      const lease = await claimed(hosted.db, attempt);
      await committed(hosted.db, lease);
      await unchanged(hosted.db, () => refused(finishReady(hosted.db, lease, readyOutcome(own)), "ILLEGAL_TRANSITION"));
      const result = await finishReady(hosted.db, lease, readyOutcome(own, { status: "delivered" }));
      expect(result).toMatchObject({ outcome: "done", record: { status: "delivered" } });
      await hosted.db.close();
      // One world at a time: the suite's own is opened again for afterEach.
      db = (await ledgerWorld(open)).db;
    });

    describe("once ended, nothing changes it", () => {
      const ends: readonly (readonly [string, (lease: Lease) => Promise<unknown>])[] = [
        ["available", (lease) => finishReady(db, lease, readyOutcome(revision))],
        ["failed", (lease) => finishFailed(db, lease, { code: "DESTINATION_FULL", detail: { part: 1 } })],
      ];
      for (const [status, end] of ends) {
        it(`${status} is terminal and immutable`, async () => {
          const lease = await claimed(db, record);
          await committed(db, lease);
          await end(lease);
          const before = await findMaterialization(db, operator, id);
          expect(before?.record.status).toBe(status);
          await unchanged(db, async () => {
            expect(await claim(db, { materializationId: id, workerId: "b", leaseMs: 1000 })).toBeUndefined();
            await expect(db.query("update materialization set status = 'failed'")).rejects.toThrow("immutable");
            await expect(db.query("update materialization set status = 'delivered'")).rejects.toThrow("immutable");
          });
          // Even the holder of a lease, as a withdrawal has one, cannot end it again.
          await placeTombstone(db, { materializationId: id, what: "data", reason: "test" });
          const withdrawal = await claim(db, {
            materializationId: id,
            workerId: "b",
            leaseMs: 1000,
            purpose: "withdraw",
          });
          if (withdrawal === undefined) throw new Error("the withdrawal got no lease");
          await unchanged(db, async () => {
            await refused(finishReady(db, withdrawal.lease, readyOutcome(revision)), "ILLEGAL_TRANSITION");
            await refused(finishFailed(db, withdrawal.lease, { code: "INTERNAL" }), "ALREADY_TERMINAL");
            await refused(recordPhase(db, withdrawal.lease, "writing"), "ILLEGAL_TRANSITION");
            await refused(recordCommit(db, withdrawal.lease, { location: "elsewhere" }), "ILLEGAL_TRANSITION");
            await refused(recordProbe(db, withdrawal.lease, {}), "ILLEGAL_TRANSITION");
          });
          expect((await findMaterialization(db, operator, id))?.record).toEqual(before?.record);
        });
      }
    });

    it("phases only move forward, and a commit is recorded once", async () => {
      const lease = await claimed(db, record);
      await unchanged(db, () => refused(finishReady(db, lease, readyOutcome(revision)), "ILLEGAL_TRANSITION"));
      await unchanged(db, () => refused(recordProbe(db, lease, {}), "ILLEGAL_TRANSITION"));
      await recordPhase(db, lease, "writing");
      await recordPhase(db, lease, "writing");
      const first = await recordCommit(db, lease, commitEvidence);
      await world.clock.advance(100);
      const again = await unchanged(db, () => recordCommit(db, lease, { ...commitEvidence }));
      expect(again).toEqual(first);
      await unchanged(db, () => refused(recordCommit(db, lease, { location: "elsewhere" }), "ILLEGAL_TRANSITION"));
      await unchanged(db, () => refused(recordPhase(db, lease, "writing"), "ILLEGAL_TRANSITION"));
      expect(await findMaterialization(db, operator, id)).toMatchObject({
        record: { status: "pending" },
        phase: "committed",
        commit: commitEvidence,
        committedAtUs: first.committedAtUs,
      });
    });

    it("a commit found by a later worker is recorded without writing first", async () => {
      const lease = await claimed(db, record);
      await recordCommit(db, lease, commitEvidence);
      expect((await finishReady(db, lease, readyOutcome(revision))).outcome).toBe("done");
    });

    describe("tx 2 refuses, writes nothing and leaves no doorbell", () => {
      const reasons: readonly (readonly [string, string, () => Promise<unknown>])[] = [
        ["a newer revision is current", "SUPERSEDED", supersede],
        [
          "the configuration was deactivated",
          "UNAUTHORIZED",
          () => deactivateConfiguration(db, configurationKey, "ended"),
        ],
        [
          "the destination was deactivated",
          "UNAUTHORIZED",
          () => deactivateDestination(db, aDestination().destination_ref, "ended"),
        ],
        [
          "a withdrawal was announced",
          "WITHDRAWN",
          () => placeTombstone(db, { materializationId: id, what: "access", reason: "test" }),
        ],
        ["the lease has ended", "LEASE_LOST", () => world.clock.advance(1000)],
      ];
      for (const [title, code, change] of reasons) {
        it(`when ${title}`, async () => {
          const lease = await claimed(db, record);
          await committed(db, lease);
          await change();
          const result = await unchanged(db, () => finishReady(db, lease, readyOutcome(revision)));
          expect(result).toEqual({ outcome: "refused", code });
          expect(await readyRows()).toEqual([]);
          expect((await findMaterialization(db, operator, id))?.record.status).toBe("pending");
          if (code === "LEASE_LOST") return;
          const { record: ended } = await finishFailed(db, lease, { code: code as "SUPERSEDED" }, fileTransferPlan);
          expect(ended).toMatchObject({ status: "failed", failure_code: code });
          expect((await listMaterializations(db, operator)).items).toHaveLength(1);
        });
      }
    });

    it("an exact delivery is not superseded and does not change what is current", async () => {
      await finishFailed(db, await claimed(db, record), { code: "DESTINATION_FULL" });
      await supersede();
      const exact = await opened(db, "exact");
      expect((await delivered(db, exact, revision)).status).toBe("available");
      const [row] = await db.query("select current_revision_id from slice");
      expect(row?.["current_revision_id"]).toBe("rev-b");
    });

    describe("evidence that proves something else is refused", () => {
      const { resource, verification } = readyOutcome(aRevision());
      const wrong: readonly (readonly [string, Partial<ReadyOutcome>, string])[] = [
        ["another row count", { verification: { ...verification, row_count: 3 } }, "verification.row_count"],
        [
          "another total",
          { verification: { ...verification, control_totals: verification.control_totals.slice(1) } },
          "verification.control_totals",
        ],
        [
          "no checksum of an object",
          { verification: { ...verification, physical_checksums: [] } },
          "verification.physical_checksums",
        ],
        ["another kind of resource", { resource: { ...resource, kind: "dataset" } }, "resource.kind"],
      ];
      for (const [title, changes, field] of wrong) {
        it(title, async () => {
          const lease = await claimed(db, record);
          await committed(db, lease);
          const error = await unchanged(db, () =>
            refused(finishReady(db, lease, readyOutcome(revision, changes)), "INVALID_EVIDENCE"),
          );
          expect(error.problems[0]?.field).toBe(field);
          expect((await finishReady(db, lease, readyOutcome(revision))).outcome).toBe("done");
        });
      }
    });

    it("a failure with a reattempt ends one and opens the next in one transaction", async () => {
      const lease = await claimed(db, record);
      const { record: ended, reattempt } = await finishFailed(db, lease, { code: "ENCODER_CHANGED" }, fileTransferPlan);
      expect(ended).toMatchObject({
        status: "failed",
        failure_code: "ENCODER_CHANGED",
        failed_at: "2026-08-27T02:00:00Z",
      });
      expect(reattempt).toMatchObject({ attempt: 2, status: "pending", reporting_revision_id: "rev-a" });
      expect(
        await claim(db, {
          materializationId: reattempt?.reporting_materialization_id ?? "",
          workerId: "b",
          leaseMs: 1,
        }),
      ).toBeDefined();
      expect(await readyRows()).toEqual([]);
    });

    it("a reattempt whose plan throws leaves the first attempt pending under its lease", async () => {
      const lease = await claimed(db, record);
      const failing = () =>
        finishFailed(db, lease, { code: "ENCODER_CHANGED" }, () => {
          throw new Error("no plan");
        });
      await unchanged(db, () => expect(failing()).rejects.toThrow("no plan"));
    });

    it("authority is asked of the ledger: withdrawn before unauthorized", async () => {
      await checkAuthority(db, id);
      await deactivateConfiguration(db, configurationKey, "ended");
      await fails(checkAuthority(db, id), "UNAUTHORIZED");
      await placeTombstone(db, { materializationId: id, what: "data", reason: "test" });
      await fails(checkAuthority(db, id), "WITHDRAWN");
      await fails(checkAuthority(db, "mat-unknown"), "UNAUTHORIZED");
    });

    it("a tombstone names the end of the running lease, stands once, and is settled under a withdrawal's lease", async () => {
      const lease = await claimed(db, record);
      const request = { materializationId: id, what: "data", reason: "buyer asked" } as const;
      expect(await placeTombstone(db, request)).toEqual({ placed: true, leaseUntilUs: lease.untilUs });
      const again = await unchanged(db, () => placeTombstone(db, { ...request, reason: "again" }));
      expect(again).toEqual({ placed: false, leaseUntilUs: lease.untilUs });
      await refused(placeTombstone(db, { ...request, materializationId: "mat-unknown" }), "NOT_FOUND");

      await finishFailed(db, lease, { code: "WITHDRAWN" });
      const taken = await claim(db, { materializationId: id, workerId: "sweeper", leaseMs: 1000, purpose: "withdraw" });
      if (taken === undefined) throw new Error("the withdrawal got no lease");
      await unchanged(db, () => refused(settleTombstone(db, taken.lease, "access"), "NOT_FOUND"));
      await settleTombstone(db, taken.lease, "data");
      const recent = { recheckMs: 86_400_000, limit: 10 };
      expect(await tombstonesToCheck(db, recent)).toEqual([
        {
          materializationId: id,
          what: "data",
          reason: "buyer asked",
          placedAtUs: world.clock.nowUs(),
          settledAtUs: world.clock.nowUs(),
        },
      ]);
      await world.clock.advance(86_400_000);
      expect(await tombstonesToCheck(db, recent)).toEqual([]);
    });
  });
}
