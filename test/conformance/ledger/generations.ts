import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { definitionDocuments, findConfiguration, journalOf } from "../../../core/ledger/queries.ts";
import {
  createObligation,
  deactivateConfiguration,
  deactivateDestination,
  installConfiguration,
  installDefinition,
} from "../../../core/ledger/transitions.ts";
import type { Database } from "../../../core/store/sql.ts";
import { everything, refused, unchanged } from "./expectations.ts";
import { aConfiguration, aDestination, definitionOf, obligationFacts } from "./records.ts";
import { type LedgerWorld, ledgerWorld } from "./world.ts";

const operator = { operator: true } as const;
const key = { accountId: "acct-1", deliveryConfigId: "daily", deliveryConfigVersion: 1 };

/** What is installed once and never changes: definitions, configuration and destination generations. */
export function generationSuite(open: () => Promise<Database>): void {
  describe("generations", () => {
    let world: LedgerWorld;
    let db: Database;
    beforeEach(async () => {
      world = await ledgerWorld(open);
      db = world.db;
    });
    afterEach(() => db.close());

    const install = (configuration = aConfiguration(), destination = aDestination()) =>
      installConfiguration(db, { configuration, destination });

    it("the exact replay of a configuration changes nothing", async () => {
      expect(await install()).toBe("installed");
      expect(await unchanged(db, () => install())).toBe("unchanged");
    });

    it("of racing equal installations one installs", async () => {
      const outcomes = await Promise.all([install(), install(), install()]);
      expect(outcomes.sort()).toEqual(["installed", "unchanged", "unchanged"]);
    });

    it("other content under the same version is refused and nothing changes", async () => {
      await install();
      const changed = aConfiguration({ required_finality: "official" });
      await unchanged(db, () => refused(install(changed), "CONFIGURATION_IMMUTABLE"));
      expect(await install({ ...changed, delivery_config_version: 2 })).toBe("installed");
    });

    it("other content under the same destination_ref is refused and nothing changes", async () => {
      await install();
      const moved = aDestination({ settings: { location: "file:///srv/elsewhere" } });
      const second = aConfiguration({ delivery_config_version: 2 });
      await unchanged(db, () => refused(install(second, moved), "DESTINATION_IMMUTABLE"));
      const ref = "buyer-folder.ba9876543210";
      expect(await install({ ...second, destination_ref: ref }, { ...moved, destination_ref: ref })).toBe("installed");
    });

    it("the database itself refuses to change the content of a generation", async () => {
      await install();
      await installDefinition(db, definitionOf("one"));
      for (const table of ["configuration", "destination"]) {
        await expect(db.query(`update ${table} set content = '{}'`)).rejects.toThrow("immutable");
      }
      await expect(db.query("update definition set profile = '{}'")).rejects.toThrow("immutable");
    });

    it("every broken rule of a billing feed is reported at once", async () => {
      const billing = aConfiguration({
        feed_purpose: "billing",
        verification_profile: "manifest_checksums",
        delivery_config_id: "a/b",
        delivery_config_version: 0,
      });
      const error = await refused(install(billing), ...Array.from({ length: 5 }, () => "INVALID_CONFIGURATION"));
      expect(error.problems.map(({ field }) => field)).toEqual([
        "delivery_config_id",
        "delivery_config_version",
        "required_finality",
        "reconciliation_mode",
        "verification_profile",
      ]);
      expect(await everything(db)).toEqual([]);
    });

    it("a deactivated configuration owes nothing new and does not come back under its version", async () => {
      await install();
      expect(await deactivateConfiguration(db, key, "ended")).toBe(true);
      expect(await deactivateConfiguration(db, key, "ended")).toBe(false);
      expect((await findConfiguration(db, operator, key))?.active).toBe(false);
      await unchanged(db, () => refused(createObligation(db, obligationFacts()), "CONFIGURATION_INACTIVE"));
      await unchanged(db, () => refused(install(), "CONFIGURATION_INACTIVE"));
    });

    it("a deactivated destination ends every configuration bound to it, and each account's journal says so", async () => {
      await install();
      await install(aConfiguration({ account_id: "acct-2" }));
      const { destination_ref } = aDestination();
      expect(await deactivateDestination(db, destination_ref, "revoked")).toBe(true);
      expect(await deactivateDestination(db, destination_ref, "revoked")).toBe(false);
      for (const accountId of ["acct-1", "acct-2"]) {
        expect((await findConfiguration(db, operator, { ...key, accountId }))?.active).toBe(false);
        const { items } = await journalOf(db, { accountId }, destination_ref);
        expect(items.map(({ event, detail }) => [event, detail])).toEqual([["deactivated", { reason: "revoked" }]]);
      }
      await refused(install(aConfiguration({ account_id: "acct-3" })), "DESTINATION_INACTIVE");
    });

    it("pinned documents come back byte for byte, and other ones need another reporting profile", async () => {
      const one = definitionOf("one");
      expect(await installDefinition(db, one)).toBe("installed");
      expect(await unchanged(db, () => installDefinition(db, one))).toBe("unchanged");
      await unchanged(db, () => refused(installDefinition(db, definitionOf("two")), "DEFINITION_IMMUTABLE"));

      const two = { ...definitionOf("two"), reportingProfile: "daily-ad-delivery-v2" };
      await world.clock.advance(1);
      expect(await installDefinition(db, two)).toBe("installed");
      const latest = await definitionDocuments(db, "daily-ad-delivery");
      const first = await definitionDocuments(db, "daily-ad-delivery", "daily-ad-delivery-v1");
      expect(latest?.reportingProfile).toBe("daily-ad-delivery-v2");
      expect(first).toMatchObject({ reportDefinitionId: "daily-ad-delivery", profile: one.profile });
      expect([...(first?.rowSchema.bytes ?? [])]).toEqual([...one.rowSchema.bytes]);
      expect(await definitionDocuments(db, "unknown")).toBeUndefined();
    });
  });
}
