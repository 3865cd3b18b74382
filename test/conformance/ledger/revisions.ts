import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { currentRevision, findRevision, journalOf, listRevisions } from "../../../core/ledger/queries.ts";
import { publishRevision } from "../../../core/ledger/transitions.ts";
import type { Revision } from "../../../core/model/records.ts";
import type { Database } from "../../../core/store/sql.ts";
import { everything, outboxOf, refused, unchanged } from "./expectations.ts";
import { aRevision, august26, officialEvidence, retainedParts } from "./records.ts";
import { ledgerWorld } from "./world.ts";

const operator = { operator: true } as const;

/** Immutable content in chains: one head per slice, official at most once and last. */
export function revisionSuite(open: () => Promise<Database>): void {
  describe("revisions", () => {
    let db: Database;
    beforeEach(async () => {
      db = (await ledgerWorld(open)).db;
    });
    afterEach(() => db.close());

    const publish = (changes: Partial<Revision> = {}) => {
      const revision = aRevision(changes);
      return publishRevision(db, { revision, retained: retainedParts(revision.row_count) });
    };
    const b = { reporting_revision_id: "rev-b", supersedes_reporting_revision_id: "rev-a" };
    const c = { reporting_revision_id: "rev-c", supersedes_reporting_revision_id: "rev-b" };
    const currentId = async () => (await currentRevision(db, operator, aRevision()))?.revision.reporting_revision_id;

    it("a published revision is read back as it was, with what is retained of it", async () => {
      expect(await publish()).toEqual({ created: true });
      expect(await findRevision(db, operator, "rev-a")).toEqual({
        revision: aRevision(),
        retained: retainedParts(),
        current: true,
      });
      const [entry] = (await journalOf(db, operator, "rev-a")).items;
      expect(entry).toMatchObject({ event: "published", detail: { rows_acquired: 2, row_count: 2 } });
    });

    it("each revision rings one ledger_changed and one change record, a replay none", async () => {
      await publish();
      await publish(b);
      await unchanged(db, async () => expect(await publish()).toEqual({ created: false }));
      expect(await outboxOf(db)).toEqual([
        ["reporting.ledger_changed", "rev-a"],
        ["reporting.ledger_changed", "rev-b"],
      ]);
      const payloads = await db.query<{ payload: string }>("select payload from outbox order by seq");
      expect(payloads.map(({ payload }) => JSON.parse(payload))).toEqual([
        {
          account_id: "acct-1",
          change_kind: "revision_published",
          reporting_revision_id: "rev-a",
          finality: "snapshot",
        },
        {
          account_id: "acct-1",
          change_kind: "revision_published",
          reporting_revision_id: "rev-b",
          finality: "snapshot",
          supersedes_reporting_revision_id: "rev-a",
        },
      ]);
      const changes = await db.query<{ record: string }>("select record from account_change order by seq");
      expect(changes.map(({ record }) => JSON.parse(record).action)).toEqual(["created", "updated"]);
    });

    it("other content under a published id is refused, by the database too", async () => {
      await publish();
      await unchanged(db, () => refused(publish({ revision_content_sha256: "0".repeat(64) }), "REVISION_IMMUTABLE"));
      const elsewhere = publish({ report_definition_id: "another-definition" });
      await refused(elsewhere, "REVISION_IMMUTABLE");
      await expect(db.query("update revision set record = '{}'")).rejects.toThrow("immutable");
    });

    it("a chain grows only at its end", async () => {
      await unchanged(db, () => refused(publish(b), "SUPERSEDES_UNKNOWN"));
      await publish();
      await unchanged(db, () => refused(publish({ reporting_revision_id: "rev-b" }), "SUPERSEDES_MISSING"));
      await publish(b);
      await unchanged(db, () => refused(publish({ ...c, supersedes_reporting_revision_id: "rev-a" }), "NOT_CURRENT"));
      await unchanged(db, () => refused(publish({ ...c, supersedes_reporting_revision_id: "rev-c" }), "NOT_CURRENT"));
      await publish(c);
      expect(await currentId()).toBe("rev-c");
      expect((await findRevision(db, operator, "rev-a"))?.current).toBe(false);
    });

    it("an official revision may end a chain of snapshots, and nothing follows it", async () => {
      await publish();
      await publish({ ...b, ...officialEvidence });
      expect(await currentId()).toBe("rev-b");
      await unchanged(db, () => refused(publish(c), "OFFICIAL_IS_FINAL"));
      await unchanged(db, () => refused(publish({ ...c, ...officialEvidence }), "OFFICIAL_IS_FINAL"));
    });

    it("of two revisions that supersede the same one exactly one is published", async () => {
      await publish();
      const rivals = ["rev-b", "rev-c", "rev-d"].map((id) =>
        publish({ ...b, reporting_revision_id: id }).then(
          () => id,
          () => undefined,
        ),
      );
      const winners = (await Promise.all(rivals)).filter((id) => id !== undefined);
      expect(winners).toHaveLength(1);
      expect(await currentId()).toBe(winners[0]);
      expect((await listRevisions(db, operator)).items).toHaveLength(2);
      expect(await outboxOf(db)).toHaveLength(2);
    });

    it("of two first revisions of a slice exactly one is published", async () => {
      const rivals = ["rev-a", "rev-b"].map((id) => publish({ reporting_revision_id: id }).catch(() => undefined));
      expect((await Promise.all(rivals)).filter((result) => result !== undefined)).toHaveLength(1);
      expect((await listRevisions(db, operator)).items).toHaveLength(1);
    });

    it("of two official closes of a slice exactly one is published", async () => {
      await publish();
      const rivals = ["rev-b", "rev-c"].map((id) =>
        publish({ ...b, ...officialEvidence, reporting_revision_id: id }).catch(() => undefined),
      );
      expect((await Promise.all(rivals)).filter((result) => result !== undefined)).toHaveLength(1);
    });

    it("another account, definition, profile, period or set of media buys is another slice", async () => {
      await publish();
      const others: readonly Partial<Revision>[] = [
        { account_id: "acct-2" },
        { report_definition_id: "another" },
        { reporting_profile: "another-v1" },
        { period: { ...august26, start: "2026-08-25T00:00:00Z" } },
        { media_buy_ids: ["buy-1"] },
      ];
      for (const [index, changes] of others.entries()) {
        await publish({ reporting_revision_id: `rev-${index}`, ...changes });
      }
      expect(await currentId()).toBe("rev-a");
      expect((await listRevisions(db, operator, { slice: aRevision() })).items).toHaveLength(1);
    });

    it("the same period in another spelling is the same slice", async () => {
      await publish();
      const period = { ...august26, start: "2026-08-26T00:00:00.000Z", end: "2026-08-27T02:00:00+02:00" };
      await refused(publish({ reporting_revision_id: "rev-b", period }), "SUPERSEDES_MISSING");
      await publish({ ...b, period });
      expect((await findRevision(db, operator, "rev-b"))?.revision.period).toEqual(period);
    });

    const broken: readonly (readonly [string, Partial<Revision>, readonly string[]])[] = [
      [
        "a snapshot with official members",
        { ...officialEvidence, finality: "snapshot" },
        ["finality_basis", "finality_policy_id", "finalized_at"],
      ],
      [
        "an official without its basis",
        { finality: "official" },
        ["finality_basis", "finality_policy_id", "finalized_at"],
      ],
      [
        "a close after its publication",
        { ...officialEvidence, finalized_at: "2026-08-27T04:00:02Z" },
        ["finalized_at"],
      ],
      ["an unknown horizon that is given", { data_through_precision: "unknown" }, ["data_through"]],
      ["a missing horizon that is known", { data_through: null }, ["data_through"]],
      ["media buys out of order", { media_buy_ids: ["buy-2", "buy-1"] }, ["media_buy_ids"]],
      ["rows that are not retained", { row_count: 3 }, ["row_count"]],
      [
        "a total that is not canonical",
        { control_totals: [{ name: "spend", value: "-0.00", value_type: "decimal" }] },
        ["control_totals[0].value"],
      ],
    ];
    for (const [title, changes, fields] of broken) {
      it(`${title}: refused, nothing written`, async () => {
        const error = await publishRevision(db, { revision: aRevision(changes), retained: retainedParts() }).catch(
          (reason) => reason,
        );
        expect(error.problems.map(({ field }: { field: string }) => field)).toEqual(fields);
        expect(await everything(db)).toEqual([]);
      });
    }

    it("a revision with no rows is published like any other", async () => {
      await publish({ row_count: 0, control_totals: [], media_buy_ids: [] });
      expect((await findRevision(db, operator, "rev-a"))?.revision.row_count).toBe(0);
    });
  });
}
