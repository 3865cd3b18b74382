import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { journalOf, latestProof } from "../../../core/ledger/queries.ts";
import { recordProof } from "../../../core/ledger/transitions.ts";
import type { DestinationProof } from "../../../core/model/destination-proof.ts";
import type { Database } from "../../../core/store/sql.ts";
import { everything } from "./expectations.ts";
import { aConfiguration } from "./records.ts";
import { claimed, type LedgerWorld, ledgerWorld, opened, owed } from "./world.ts";

const passed: DestinationProof = {
  outcome: "pass",
  failure_code: null,
  checks: [{ name: "write", outcome: "pass", fix: null }],
};
const failed: DestinationProof = {
  outcome: "fail",
  failure_code: "DESTINATION_UNSAFE",
  checks: [{ name: "create_only", outcome: "fail", fix: "deliver elsewhere" }],
};

/** What is kept about a destination generation that was put to the test. */
export function proofSuite(open: () => Promise<Database>): void {
  describe("proofs of destinations", () => {
    const { destination_ref } = aConfiguration();
    let world: LedgerWorld;
    let db: Database;
    beforeEach(async () => {
      world = await ledgerWorld(open);
      db = world.db;
      await owed(db);
    });
    afterEach(() => db.close());

    it("are all kept, the latest counts, and the story of the materialization tells each", async () => {
      const record = await opened(db);
      const lease = await claimed(db, record);
      expect(await latestProof(db, destination_ref)).toBeUndefined();
      await recordProof(db, lease, failed);
      expect((await latestProof(db, destination_ref))?.proof).toEqual(failed);
      await recordProof(db, lease, passed);
      const latest = await latestProof(db, destination_ref);
      expect(latest?.proof).toEqual(passed);
      expect(latest?.provedAtUs).toBeGreaterThan(0n);
      const { items } = await journalOf(db, { operator: true }, record.reporting_materialization_id);
      expect(items.slice(-2).map(({ event, detail }) => ({ event, detail }))).toEqual([
        { event: "destination_refused", detail: { ...failed, destination_ref } },
        { event: "destination_proved", detail: { ...passed, destination_ref } },
      ]);
      expect(await latestProof(db, "another.000000000000")).toBeUndefined();
    });

    it("are never changed afterwards", async () => {
      await recordProof(db, await claimed(db, await opened(db)), failed);
      await expect(db.query("update destination_proof set outcome = 'pass', failure_code = null")).rejects.toThrow(
        /immutable/,
      );
    });

    it("of a worker that lost its lease change nothing", async () => {
      const lease = await claimed(db, await opened(db));
      await world.clock.advance(1000);
      const before = await everything(db);
      await expect(recordProof(db, lease, passed)).rejects.toMatchObject({ code: "LEASE_LOST" });
      expect(await everything(db)).toEqual(before);
      expect(await latestProof(db, destination_ref)).toBeUndefined();
    });
  });
}
