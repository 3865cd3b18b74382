import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Scope } from "../../../core/ledger/ledger-records.ts";
import {
  configurationSubject,
  currentRevision,
  findConfiguration,
  findMaterialization,
  findObligation,
  findRevision,
  journalOf,
  listConfigurations,
  listMaterializations,
  listObligations,
  listRevisions,
  obligationFor,
  obligationProjection,
} from "../../../core/ledger/queries.ts";
import type { Materialization } from "../../../core/model/records.ts";
import type { Database } from "../../../core/store/sql.ts";
import { august26 } from "./records.ts";
import { delivered, ledgerWorld, opened, owed } from "./world.ts";

const canary = "acct-canary";

/** A record of another account is no record, in every read. */
export function isolationSuite(open: () => Promise<Database>): void {
  describe("account isolation", () => {
    let db: Database;
    let record: Materialization;
    beforeEach(async () => {
      db = (await ledgerWorld(open)).db;
      await owed(db);
      await opened(db);
      // The same names in another account: only ids that the seller mints differ.
      const { revision } = await owed(db, {
        configuration: { account_id: canary },
        facts: { account_id: canary, reporting_obligation_id: "obl-canary" },
        revision: { account_id: canary, reporting_revision_id: "rev-canary" },
      });
      const attempt = await opened(db, "current", { obligationId: "obl-canary", revisionId: "rev-canary" });
      record = await delivered(db, attempt, revision);
    });
    afterEach(() => db.close());

    const key = { accountId: canary, deliveryConfigId: "daily", deliveryConfigVersion: 1 };
    const reads: readonly (readonly [string, (scope: Scope) => Promise<unknown>])[] = [
      ["findRevision", (scope) => findRevision(db, scope, "rev-canary")],
      [
        "currentRevision",
        async (scope) => {
          const owner = await findObligation(db, { operator: true }, "obl-canary");
          return owner === undefined ? undefined : await currentRevision(db, scope, owner);
        },
      ],
      ["listRevisions", (scope) => listRevisions(db, scope)],
      ["findObligation", (scope) => findObligation(db, scope, "obl-canary")],
      ["obligationFor", (scope) => obligationFor(db, scope, { ...key, period: august26 })],
      ["obligationProjection", (scope) => obligationProjection(db, scope, "obl-canary")],
      ["listObligations", (scope) => listObligations(db, scope)],
      ["findMaterialization", (scope) => findMaterialization(db, scope, record.reporting_materialization_id)],
      ["listMaterializations", (scope) => listMaterializations(db, scope)],
      [
        "listMaterializations by obligation",
        (scope) => listMaterializations(db, scope, { obligationId: "obl-canary" }),
      ],
      ["findConfiguration", (scope) => findConfiguration(db, scope, key)],
      ["listConfigurations", (scope) => listConfigurations(db, scope)],
      ["journalOf a revision", (scope) => journalOf(db, scope, "rev-canary")],
      ["journalOf a configuration", (scope) => journalOf(db, scope, configurationSubject(key))],
    ];

    const textOf = (value: unknown): string =>
      JSON.stringify(value, (_, member) => (typeof member === "bigint" ? String(member) : member)) ?? "undefined";

    for (const [name, read] of reads) {
      it(`${name} shows another account nothing of the canary`, async () => {
        expect(textOf(await read({ accountId: canary }))).toContain("canary");
        expect(textOf(await read({ operator: true }))).toContain("canary");
        for (const accountId of ["acct-1", "acct-unknown", "", "%"]) {
          expect(textOf(await read({ accountId }))).not.toContain("canary");
        }
      });
    }

    it("an unknown record and another account's look the same", async () => {
      const scope = { accountId: "acct-1" };
      expect(await findRevision(db, scope, "rev-canary")).toEqual(await findRevision(db, scope, "rev-unknown"));
      expect(await obligationProjection(db, scope, "obl-canary")).toEqual(
        await obligationProjection(db, scope, "obl-x"),
      );
      expect(await journalOf(db, scope, "obl-canary")).toEqual(await journalOf(db, scope, "obl-x"));
    });
  });
}
