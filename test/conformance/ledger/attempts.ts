import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findMaterialization, journalOf, listMaterializations } from "../../../core/ledger/queries.ts";
import {
  deactivateConfiguration,
  deactivateDestination,
  finishFailed,
  openMaterialization,
  type PlanFacts,
  publishRevision,
} from "../../../core/ledger/transitions.ts";
import type { Database } from "../../../core/store/sql.ts";
import { refused, unchanged } from "./expectations.ts";
import {
  aConfiguration,
  aDestination,
  aRevision,
  fileTransferPlan,
  obligationFacts,
  retainedParts,
} from "./records.ts";
import { claimed, delivered, type LedgerWorld, ledgerWorld, opened, owed } from "./world.ts";

const operator = { operator: true } as const;

/** tx 0: numbered attempts whose plan is in the ledger before anything external happens. */
export function attemptSuite(open: () => Promise<Database>): void {
  describe("attempts", () => {
    let world: LedgerWorld;
    let db: Database;
    beforeEach(async () => {
      world = await ledgerWorld(open);
      db = world.db;
    });
    afterEach(() => db.close());

    it("the plan is made from the ledger's facts and kept with the attempt, pending and due", async () => {
      const { facts, revision } = await owed(db);
      let seen: PlanFacts | undefined;
      const record = await openMaterialization(db, {
        obligationId: "obl-1",
        revisionId: "rev-a",
        selection: "current",
        plan: (input) => {
          seen = input;
          return fileTransferPlan(input);
        },
      });
      expect(seen).toEqual({
        materializationId: record.reporting_materialization_id,
        attempt: 1,
        createdAt: "2026-08-27T02:00:00Z",
        revision,
        obligation: facts,
        configuration: aConfiguration(),
        destination: aDestination(),
      });
      const work = await findMaterialization(db, operator, record.reporting_materialization_id);
      expect(work).toMatchObject({
        record,
        accountId: "acct-1",
        phase: "planned",
        selection: "current",
        plan: { folder: `r_rev-a/m_${record.reporting_materialization_id}`, created_at: "2026-08-27T02:00:00Z" },
        commit: undefined,
        tries: 0,
        nextRunAtUs: world.clock.nowUs(),
      });
      expect(record).toMatchObject({ status: "pending", attempt: 1, transport: "local_fs", method: "file_transfer" });
      const [entry] = (await journalOf(db, operator, record.reporting_materialization_id)).items;
      expect(entry).toMatchObject({ event: "opened", detail: { attempt: 1, rows_acquired: 0 } });
    });

    it("a plan that throws leaves nothing behind", async () => {
      await owed(db);
      const plan = () => {
        throw new Error("no such format");
      };
      const opening = () =>
        openMaterialization(db, { obligationId: "obl-1", revisionId: "rev-a", selection: "exact", plan });
      await unchanged(db, () => expect(opening()).rejects.toThrow("no such format"));
    });

    it("a pending attempt excludes another one of the same revision, whatever its selection", async () => {
      await owed(db);
      const { reporting_materialization_id } = await opened(db);
      const error = await unchanged(db, () => refused(opened(db, "exact"), "ATTEMPT_PENDING"));
      expect(error.message).toContain(reporting_materialization_id);
    });

    it("of racing openings exactly one opens", async () => {
      await owed(db);
      const openings = await Promise.all([1, 2, 3].map(() => opened(db).catch(() => undefined)));
      expect(openings.filter((record) => record !== undefined)).toHaveLength(1);
      expect((await listMaterializations(db, operator)).items).toHaveLength(1);
    });

    it("attempts count from 1 for each revision of an obligation, after failure and after success", async () => {
      const { revision } = await owed(db);
      const first = await opened(db);
      await finishFailed(db, await claimed(db, first), { code: "DESTINATION_FULL" });
      const second = await opened(db);
      await delivered(db, second, revision);
      const third = await opened(db, "exact");
      expect([first, second, third].map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
      expect(third.reporting_revision_id).toBe(first.reporting_revision_id);

      const b = aRevision({ reporting_revision_id: "rev-b", supersedes_reporting_revision_id: "rev-a" });
      await publishRevision(db, { revision: b, retained: retainedParts() });
      expect((await opened(db, "current", { revisionId: "rev-b" })).attempt).toBe(1);
    });

    it("a superseded revision can be delivered exactly, but not as the current one", async () => {
      await owed(db);
      const b = aRevision({ reporting_revision_id: "rev-b", supersedes_reporting_revision_id: "rev-a" });
      await publishRevision(db, { revision: b, retained: retainedParts() });
      await unchanged(db, () => refused(opened(db, "current"), "REVISION_NOT_CURRENT"));
      expect((await opened(db, "exact")).reporting_revision_id).toBe("rev-a");
    });

    it("a revision of another slice or account is refused", async () => {
      await owed(db);
      const other = aRevision({ reporting_revision_id: "rev-other", media_buy_ids: ["buy-9"] });
      await publishRevision(db, { revision: other, retained: retainedParts() });
      const foreign = aRevision({ reporting_revision_id: "rev-foreign", account_id: "acct-2" });
      await publishRevision(db, { revision: foreign, retained: retainedParts() });
      await unchanged(db, async () => {
        await refused(opened(db, "exact", { revisionId: "rev-other" }), "SLICE_DIFFERS");
        await refused(opened(db, "exact", { revisionId: "rev-foreign" }), "NOT_FOUND");
        await refused(opened(db, "exact", { revisionId: "rev-unknown" }), "NOT_FOUND");
        await refused(opened(db, "exact", { obligationId: "obl-unknown" }), "NOT_FOUND");
      });
    });

    const revocations: readonly (readonly [string, () => Promise<boolean>])[] = [
      [
        "configuration",
        () =>
          deactivateConfiguration(
            db,
            { accountId: "acct-1", deliveryConfigId: "daily", deliveryConfigVersion: 1 },
            "ended",
          ),
      ],
      ["destination", () => deactivateDestination(db, aDestination().destination_ref, "ended")],
    ];
    for (const [what, revoke] of revocations) {
      it(`nothing opens once the ${what} was deactivated`, async () => {
        await owed(db);
        await revoke();
        await unchanged(db, () => refused(opened(db), "CONFIGURATION_INACTIVE"));
      });
    }

    it("ids that look like paths are data", async () => {
      const { revision } = await owed(db, {
        configuration: { delivery_config_id: "..", account_id: "../../etc" },
        facts: { reporting_obligation_id: "..", delivery_config_id: "..", account_id: "../../etc" },
        revision: { reporting_revision_id: "..", account_id: "../../etc" },
      });
      const record = await opened(db, "current", { obligationId: "..", revisionId: ".." });
      const done = await delivered(db, record, revision);
      expect(done).toMatchObject({ reporting_obligation_id: "..", reporting_revision_id: "..", status: "available" });
      const scope = { accountId: "../../etc" };
      expect(await findMaterialization(db, scope, done.reporting_materialization_id)).toMatchObject({
        obligation: { reporting_obligation_id: "..", account_id: "../../etc" },
      });
    });

    it("one revision fans out to two obligations, each with attempts of its own", async () => {
      await owed(db);
      await owed(db, {
        configuration: { delivery_config_id: "second" },
        facts: { reporting_obligation_id: "obl-2", delivery_config_id: "second" },
      });
      const both = [await opened(db), await opened(db, "current", { obligationId: "obl-2" })];
      expect(both.map(({ attempt }) => attempt)).toEqual([1, 1]);
      expect(new Set(both.map(({ reporting_revision_id }) => reporting_revision_id))).toEqual(new Set(["rev-a"]));
      expect(obligationFacts().delivery_config_id).toBe(both[0]?.delivery_config_id);
    });
  });
}
