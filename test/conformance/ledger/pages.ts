import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  journalOf,
  listConfigurations,
  listMaterializations,
  listObligations,
  listRevisions,
  type Page,
  type PageRequest,
} from "../../../core/ledger/queries.ts";
import {
  createObligation,
  finishFailed,
  installConfiguration,
  publishRevision,
} from "../../../core/ledger/transitions.ts";
import type { Database } from "../../../core/store/sql.ts";
import { refused } from "./expectations.ts";
import { aConfiguration, aDestination, aRevision, obligationFacts, retainedParts } from "./records.ts";
import { claimed, ledgerWorld, opened, owed } from "./world.ts";

const operator = { operator: true } as const;

/** Walks a list to its end in pages of `limit`. */
async function walk<T>(
  list: (request: PageRequest) => Promise<Page<T>>,
  limit: number,
  order: "oldest" | "newest",
): Promise<readonly T[]> {
  const items: T[] = [];
  let after: string | undefined;
  do {
    const page = await list({ limit, order, ...(after === undefined ? {} : { after }) });
    items.push(...page.items);
    if (items.length > 1000) throw new Error("the list has no end");
    after = page.after;
  } while (after !== undefined);
  return items;
}

/** Lists page by the place of the commit in its account, never by time. */
export function pageSuite(open: () => Promise<Database>): void {
  describe("pages", () => {
    let db: Database;
    beforeEach(async () => {
      db = (await ledgerWorld(open)).db;
    });
    afterEach(() => db.close());

    const publish = (id: string, accountId = "acct-1") =>
      publishRevision(db, {
        revision: aRevision({ reporting_revision_id: id, account_id: accountId, report_definition_id: id }),
        retained: retainedParts(),
      });
    const revisionIds = async (
      limit: number,
      order: "oldest" | "newest",
      scope: { accountId: string } | typeof operator,
    ) =>
      (await walk((request) => listRevisions(db, scope, request), limit, order)).map(
        ({ revision }) => revision.reporting_revision_id,
      );

    it("B82: records that share one timestamp come once each, in both directions, whatever the page size", async () => {
      // The clock stands still, so all five were committed at the same microsecond.
      const ids = ["rev-d", "rev-a", "rev-c", "rev-b", "rev-e"];
      for (const id of ids) await publish(id);
      for (const limit of [1, 2, 4, 5, 6]) {
        expect(await revisionIds(limit, "oldest", { accountId: "acct-1" })).toEqual(ids);
        expect(await revisionIds(limit, "newest", { accountId: "acct-1" })).toEqual([...ids].reverse());
      }
    });

    it("an operator pages over all accounts, each in its own order", async () => {
      for (const id of ["rev-1", "rev-2"]) await publish(id, "acct-2");
      for (const id of ["rev-3", "rev-4"]) await publish(id, "acct-1");
      expect(await revisionIds(1, "oldest", operator)).toEqual(["rev-3", "rev-4", "rev-1", "rev-2"]);
      expect(await revisionIds(3, "newest", operator)).toEqual(["rev-2", "rev-1", "rev-4", "rev-3"]);
    });

    it("records committed during a walk neither repeat nor hide others", async () => {
      for (const id of ["rev-1", "rev-2", "rev-3"]) await publish(id);
      const first = await listRevisions(db, operator, { limit: 2 });
      await publish("rev-4");
      const second = await listRevisions(db, operator, { limit: 2, after: first.after ?? "" });
      const ids = [...first.items, ...second.items].map(({ revision }) => revision.reporting_revision_id);
      expect(ids).toEqual(["rev-1", "rev-2", "rev-3", "rev-4"]);
    });

    it("every list pages: obligations, materializations, configurations, journal", async () => {
      await owed(db);
      for (let index = 0; index < 3; index++) {
        await finishFailed(db, await claimed(db, await opened(db)), { code: "DESTINATION_FULL" });
      }
      for (const id of ["second", "third"]) {
        await installConfiguration(db, {
          configuration: aConfiguration({ delivery_config_id: id }),
          destination: aDestination(),
        });
        await createObligation(db, obligationFacts({ reporting_obligation_id: `obl-${id}`, delivery_config_id: id }));
      }
      const scope = { accountId: "acct-1" };
      const attempts = await walk((request) => listMaterializations(db, scope, request), 1, "oldest");
      expect(attempts.map(({ attempt, status }) => [attempt, status])).toEqual([
        [1, "failed"],
        [2, "failed"],
        [3, "failed"],
      ]);
      const failed = await walk(
        (request) => listMaterializations(db, scope, { ...request, status: "failed" }),
        2,
        "newest",
      );
      expect(failed.map(({ attempt }) => attempt)).toEqual([3, 2, 1]);
      expect(
        await walk((request) => listMaterializations(db, scope, { ...request, revisionId: "x" }), 1, "oldest"),
      ).toEqual([]);
      const obligations = await walk((request) => listObligations(db, scope, request), 1, "oldest");
      expect(obligations.map(({ delivery_config_id }) => delivery_config_id)).toEqual(["daily", "second", "third"]);
      const second = await listObligations(db, scope, { deliveryConfigId: "second" });
      expect(second.items.map(({ reporting_obligation_id }) => reporting_obligation_id)).toEqual(["obl-second"]);
      expect((await listObligations(db, scope, { slice: aRevision() })).items).toHaveLength(3);
      const configurations = await walk((request) => listConfigurations(db, scope, request), 2, "newest");
      expect(configurations.map(({ configuration }) => configuration.delivery_config_id)).toEqual([
        "third",
        "second",
        "daily",
      ]);
      const [attempt] = attempts;
      const subject = attempt?.reporting_materialization_id ?? "";
      const events = await walk((request) => journalOf(db, scope, subject, request), 1, "oldest");
      expect(events.map(({ event }) => event)).toEqual(["opened", "claimed", "failed"]);
    });

    it("a cursor is good for its own list, filter, order and scope only", async () => {
      for (const id of ["rev-1", "rev-2", "rev-3"]) await publish(id);
      const { after = "" } = await listRevisions(db, { accountId: "acct-1" }, { limit: 1 });
      const misuses = [
        listRevisions(db, { accountId: "acct-2" }, { after }),
        listRevisions(db, operator, { after }),
        listRevisions(db, { accountId: "acct-1" }, { after, order: "newest" }),
        listRevisions(db, { accountId: "acct-1" }, { after, slice: aRevision() }),
        listObligations(db, { accountId: "acct-1" }, { after }),
        listRevisions(db, { accountId: "acct-1" }, { after: `${after}x` }),
        listRevisions(db, { accountId: "acct-1" }, { after: "not a cursor" }),
      ];
      for (const misuse of misuses) await refused(misuse, "INVALID_CURSOR");
      for (const limit of [0, 1001, 1.5, Number.NaN]) {
        await refused(listRevisions(db, operator, { limit }), "INVALID_LIMIT");
      }
    });
  });
}
