import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Lease } from "../../../core/ledger/ledger-records.ts";
import { due, findMaterialization, journalOf, nextDueAt } from "../../../core/ledger/queries.ts";
import {
  claim,
  expireLeases,
  finishFailed,
  finishReady,
  placeTombstone,
  recordCommit,
  recordPhase,
  recordProbe,
  release,
  renew,
  settleTombstone,
} from "../../../core/ledger/transitions.ts";
import type { Materialization, Revision } from "../../../core/model/records.ts";
import type { Database } from "../../../core/store/sql.ts";
import { fails, outboxOf, unchanged } from "./expectations.ts";
import { commitEvidence, readyOutcome } from "./records.ts";
import { claimed, committed, type LedgerWorld, ledgerWorld, opened, owed } from "./world.ts";

const operator = { operator: true } as const;

/** The right to work, on the database clock: who holds it, how it is lost, and that a lost one writes nothing. */
export function leaseSuite(open: () => Promise<Database>): void {
  describe("leases", () => {
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

    const take = (workerId: string, leaseMs = 1000) => claim(db, { materializationId: id, workerId, leaseMs });

    it("of two workers that claim at once exactly one gets the lease", async () => {
      const claims = await Promise.all(["a", "b", "c", "d"].map((worker) => take(worker)));
      expect(claims.filter((taken) => taken !== undefined)).toHaveLength(1);
      expect(await take("e")).toBeUndefined();
    });

    it("a claim tells the worker everything and counts the try", async () => {
      const taken = await take("worker-a");
      expect(taken?.lease).toMatchObject({
        materializationId: id,
        generation: 1,
        untilUs: world.clock.nowUs() + 1_000_000n,
      });
      expect(taken?.work).toEqual({
        ...(await findMaterialization(db, operator, id)),
        tries: 1,
      });
    });

    it("an unknown materialization and one that is not due yet are not claimed", async () => {
      await unchanged(db, async () =>
        expect(await claim(db, { materializationId: "mat-unknown", workerId: "a", leaseMs: 1000 })).toBeUndefined(),
      );
      const lease = await claimed(db, record);
      const { nextRunAtUs } = await release(db, lease, { delayMs: 500, event: "retry_scheduled" });
      expect(nextRunAtUs).toBe(world.clock.nowUs() + 500_000n);
      await world.clock.set(nextRunAtUs - 1n);
      expect(await take("a")).toBeUndefined();
      await world.clock.set(nextRunAtUs);
      expect((await take("a"))?.lease.generation).toBe(2);
    });

    it("a release that does not count takes the try of its claim back", async () => {
      const lease = await claimed(db, record);
      await release(db, lease, { delayMs: 0, event: "interrupted", uncounted: true });
      expect(await findMaterialization(db, operator, id)).toMatchObject({ tries: 0 });
      expect((await claim(db, { materializationId: id, workerId: "next", leaseMs: 1000 }))?.work.tries).toBe(1);
    });

    it("a lease ends at its exact instant and can then be claimed by another worker under a new token", async () => {
      const first = await claimed(db, record);
      await world.clock.set(first.untilUs - 1n);
      expect(await take("worker-b")).toBeUndefined();
      await world.clock.set(first.untilUs);
      const second = await take("worker-b");
      expect(second?.lease.generation).toBe(2);
      expect(second?.lease.token).not.toBe(first.token);
      expect(second?.work.tries).toBe(2);
    });

    it("renewal counts from now and keeps the lease; once it has ended it is lost even if nobody took it", async () => {
      const first = await claimed(db, record);
      await world.clock.advance(999);
      const renewed = await renew(db, first, 1000);
      expect(renewed).toEqual({ ...first, untilUs: first.untilUs + 999_000n });
      await world.clock.set(first.untilUs);
      expect(await take("worker-b")).toBeUndefined();
      await world.clock.set(renewed.untilUs);
      await unchanged(db, () => fails(renew(db, renewed, 1000), "LEASE_LOST"));
    });

    it("B43: a worker that lost its lease can neither renew nor complete, and the new owner's evidence stays", async () => {
      const a = await claimed(db, record, "worker-a");
      await committed(db, a);
      await world.clock.advance(3000);
      const b = await claimed(db, record, "worker-b");
      const done = await finishReady(db, b, readyOutcome(revision));
      expect(done.outcome).toBe("done");
      await unchanged(db, async () => {
        await fails(renew(db, a, 1000), "LEASE_LOST");
        expect(await finishReady(db, a, readyOutcome(revision))).toEqual({ outcome: "refused", code: "LEASE_LOST" });
      });
      expect((await outboxOf(db)).filter(([type]) => type === "reporting.delivery_ready")).toHaveLength(1);
    });

    describe("a lost lease changes no row", () => {
      const writes: readonly (readonly [string, (lease: Lease) => Promise<unknown>])[] = [
        ["renew", (lease) => renew(db, lease, 1000)],
        ["release", (lease) => release(db, lease, { delayMs: 0, event: "retry_scheduled" })],
        ["recordPhase", (lease) => recordPhase(db, lease, "writing")],
        ["recordCommit", (lease) => recordCommit(db, lease, commitEvidence)],
        ["recordProbe", (lease) => recordProbe(db, lease, { outcome: "not_yet" })],
        ["finishFailed", (lease) => finishFailed(db, lease, { code: "INTERNAL" })],
        ["settleTombstone", (lease) => settleTombstone(db, lease, "data")],
      ];
      const losses: readonly (readonly [string, (lease: Lease) => Promise<Lease>])[] = [
        [
          "has expired",
          async (lease) => {
            await world.clock.set(lease.untilUs);
            return lease;
          },
        ],
        [
          "was taken over",
          async (lease) => {
            await world.clock.set(lease.untilUs);
            await claimed(db, record, "worker-b");
            return lease;
          },
        ],
        [
          "was released",
          async (lease) => {
            await release(db, lease, { delayMs: 0, event: "stopped" });
            return lease;
          },
        ],
        ["has a made-up token", async (lease) => ({ ...lease, token: "0".repeat(32) })],
        ["is of another materialization", async (lease) => ({ ...lease, materializationId: "mat-unknown" })],
        [
          "ended with the work",
          async (lease) => {
            await finishFailed(db, lease, { code: "DESTINATION_FULL" });
            return lease;
          },
        ],
      ];
      for (const [how, lose] of losses) {
        it(`when it ${how}`, async () => {
          const held = await claimed(db, record);
          await committed(db, held);
          await placeTombstone(db, { materializationId: id, what: "data", reason: "test" });
          const lease = await lose(held);
          for (const [name, write] of writes) {
            await unchanged(db, () => fails(write(lease), "LEASE_LOST")).catch((error) => {
              throw new Error(`${name} wrote under a lost lease`, { cause: error });
            });
          }
          const finish = await unchanged(db, () => finishReady(db, lease, readyOutcome(revision)));
          expect(finish).toEqual({ outcome: "refused", code: "LEASE_LOST" });
        });
      }
    });

    it("B44: what a dead worker held is due again, and ends as TRIES_EXHAUSTED once its tries are used up", async () => {
      await claimed(db, record, "worker-a");
      expect(await due(db, { limit: 10 })).toEqual([]);
      expect(await expireLeases(db)).toEqual([]);
      await world.clock.advance(3_600_000);
      expect((await due(db, { limit: 10 })).map(({ materializationId }) => materializationId)).toEqual([id]);
      expect(await expireLeases(db, { maxTries: 2 })).toEqual([
        { materializationId: id, transport: "local_fs", outcome: "due" },
      ]);
      expect(await expireLeases(db, { maxTries: 2 })).toEqual([]);

      await claimed(db, record, "worker-b");
      await world.clock.advance(3_600_000);
      const both = await Promise.all([expireLeases(db, { maxTries: 2 }), expireLeases(db, { maxTries: 2 })]);
      expect(both.flat()).toEqual([{ materializationId: id, transport: "local_fs", outcome: "failed" }]);
      const work = await findMaterialization(db, operator, id);
      expect(work?.record).toMatchObject({ status: "failed", failure_code: "TRIES_EXHAUSTED" });
      const events = (await journalOf(db, operator, id)).items.map(({ event }) => event);
      expect(events).toEqual(["opened", "claimed", "lease_expired", "claimed", "failed"]);
      expect(await take("worker-c")).toBeUndefined();
    });

    it("due lists by schedule and transport, and says when the next one is", async () => {
      const now = world.clock.nowUs();
      expect(await due(db, { transports: ["s3", "gcs"], limit: 10 })).toEqual([]);
      expect(await due(db, { transports: ["s3", "local_fs"], limit: 10 })).toEqual([
        { materializationId: id, transport: "local_fs", nextRunAtUs: now },
      ]);
      expect(await nextDueAt(db)).toEqual({ atUs: now, nowUs: now });
      expect(await nextDueAt(db, { transports: ["s3"] })).toBeUndefined();
      const lease = await claimed(db, record);
      expect((await nextDueAt(db))?.atUs).toBe(lease.untilUs);
      await release(db, lease, { delayMs: 60_000, event: "retry_scheduled" });
      expect((await nextDueAt(db))?.atUs).toBe(now + 60_000_000n);
      expect(await due(db, { limit: 10 })).toEqual([]);
    });

    it("a withdrawal takes the same lease, also after the end, but only behind a tombstone", async () => {
      const withdraw = () =>
        claim(db, { materializationId: id, workerId: "sweeper", leaseMs: 1000, purpose: "withdraw" });
      expect(await withdraw()).toBeUndefined();
      const lease = await claimed(db, record);
      await placeTombstone(db, { materializationId: id, what: "access", reason: "test" });
      expect(await withdraw()).toBeUndefined();
      await finishFailed(db, lease, { code: "WITHDRAWN" });
      const second = await withdraw();
      expect(second?.lease.generation).toBe(2);
      expect(await withdraw()).toBeUndefined();
    });
  });
}
