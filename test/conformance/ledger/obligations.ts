import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findObligation, listObligations, obligationFor } from "../../../core/ledger/queries.ts";
import { createObligation, installConfiguration } from "../../../core/ledger/transitions.ts";
import { fullCoverage } from "../../../core/model/coverage.ts";
import { instantToUs } from "../../../core/model/instant.ts";
import type { Database } from "../../../core/store/sql.ts";
import { outboxOf, refused, unchanged } from "./expectations.ts";
import { aConfiguration, aDestination, august26, obligationFacts } from "./records.ts";
import { type LedgerWorld, ledgerWorld } from "./world.ts";

const operator = { operator: true } as const;

/** What is owed: created once per period, frozen, without any revision. */
export function obligationSuite(open: () => Promise<Database>): void {
  describe("obligations", () => {
    let world: LedgerWorld;
    let db: Database;
    beforeEach(async () => {
      world = await ledgerWorld(open);
      db = world.db;
      await installConfiguration(db, { configuration: aConfiguration(), destination: aDestination() });
    });
    afterEach(() => db.close());

    it("an obligation exists before any revision and is found by its period, however its instants are spelled", async () => {
      const facts = obligationFacts();
      expect(await createObligation(db, facts)).toEqual({ facts, created: true });
      expect(await findObligation(db, operator, "obl-1")).toEqual(facts);
      const period = { start: "2026-08-26T02:00:00.000+02:00", end: "2026-08-27T00:00:00.000Z" };
      const key = { accountId: "acct-1", deliveryConfigId: "daily", deliveryConfigVersion: 1, period };
      expect(await obligationFor(db, operator, key)).toEqual(facts);
      expect(await obligationFor(db, operator, { ...key, deliveryConfigVersion: 2 })).toBeUndefined();
      expect(await outboxOf(db)).toEqual([]);
    });

    it("the same period again returns the first obligation, whatever id it comes with", async () => {
      await createObligation(db, obligationFacts());
      const again = obligationFacts({ reporting_obligation_id: "obl-2" });
      const result = await unchanged(db, () => createObligation(db, again));
      expect(result).toEqual({ facts: obligationFacts(), created: false });
    });

    it("of racing planners one creates and all get the same obligation", async () => {
      const ids = ["obl-1", "obl-2", "obl-3"];
      const results = await Promise.all(
        ids.map((id) => createObligation(db, obligationFacts({ reporting_obligation_id: id }))),
      );
      expect(results.filter(({ created }) => created)).toHaveLength(1);
      expect(new Set(results.map(({ facts }) => facts.reporting_obligation_id)).size).toBe(1);
      expect((await listObligations(db, operator)).items).toHaveLength(1);
    });

    it("frozen facts cannot be replaced: each differing member is named", async () => {
      await createObligation(db, obligationFacts());
      const other = obligationFacts({ media_buy_ids: ["buy-1"], expected_at: "2026-08-27T05:00:00Z" });
      const error = await unchanged(db, () =>
        refused(createObligation(db, other), "OBLIGATION_FROZEN", "OBLIGATION_FROZEN", "OBLIGATION_FROZEN"),
      );
      expect(error.problems.map(({ field }) => field).sort()).toEqual(["coverage", "expected_at", "media_buy_ids"]);
      await expect(db.query("update obligation set facts = '{}'")).rejects.toThrow("immutable");
    });

    it("nothing is owed for a period before it has ended by the database clock", async () => {
      const period = { ...august26, start: august26.end, end: "2026-08-28T00:00:00Z" };
      const facts = obligationFacts({ period, expected_at: "2026-08-28T04:00:00Z" });
      await world.clock.set(instantToUs(period.end) - 1n);
      await unchanged(db, () => refused(createObligation(db, facts), "PERIOD_OPEN"));
      await world.clock.set(instantToUs(period.end));
      expect((await createObligation(db, facts)).created).toBe(true);
    });

    it("a configuration that is not installed for that account is refused", async () => {
      await refused(createObligation(db, obligationFacts({ account_id: "acct-2" })), "NOT_FOUND");
      await refused(createObligation(db, obligationFacts({ delivery_config_version: 2 })), "NOT_FOUND");
    });

    it("an id that another obligation has is refused", async () => {
      await createObligation(db, obligationFacts());
      const period = { ...august26, start: "2026-08-25T00:00:00Z", end: "2026-08-26T00:00:00Z" };
      await unchanged(db, () => refused(createObligation(db, obligationFacts({ period })), "ID_TAKEN"));
    });

    it("facts that contradict the configuration or themselves are refused with every field", async () => {
      const wrong = obligationFacts({
        required_finality: "official",
        scope_resolved_at: "2026-08-26T00:00:00Z",
        media_buy_ids: ["buy-2", "buy-1"],
        coverage: { ...fullCoverage(["buy-1"], "2026-08-27T00:00:00Z"), status: "partial" },
        period: { ...august26, source_timezone: "+02:00" },
      });
      const error = await createObligation(db, wrong).catch((reason) => reason);
      expect(error.problems.map(({ field }: { field: string }) => field)).toEqual([
        "required_finality",
        "scope_resolved_at",
        "coverage.evaluated_at",
        "media_buy_ids",
        "coverage.media_buy_ids",
        "period.source_timezone",
        "coverage.status",
      ]);
    });

    it("explicit media buys of the configuration are owed exactly, also as an empty set", async () => {
      const configuration = aConfiguration({ delivery_config_id: "explicit", media_buy_ids: [] });
      await installConfiguration(db, { configuration, destination: aDestination() });
      const facts = obligationFacts({ delivery_config_id: "explicit", media_buy_ids: [] });
      await refused(
        createObligation(db, { ...obligationFacts(), delivery_config_id: "explicit" }),
        "INVALID_OBLIGATION",
      );
      expect((await createObligation(db, facts)).facts.media_buy_ids).toEqual([]);
    });
  });
}
