import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { recordFacts } from "../../../core/ledger/facts.ts";
import { journalOf } from "../../../core/ledger/queries.ts";
import { createObligation, finishReady, publishRevision } from "../../../core/ledger/transitions.ts";
import { migrate } from "../../../core/store/migrate.ts";
import type { Database, Sql } from "../../../core/store/sql.ts";
import { everything, outboxOf, unchanged } from "./expectations.ts";
import { aRevision, obligationFacts, readyOutcome, retainedParts } from "./records.ts";
import { claimed, committed, delivered, type LedgerWorld, ledgerWorld, opened, owed } from "./world.ts";

/** What a database under the ledger has, so that a skip can name it. */
export interface LedgerTraits {
  /** Two transactions can be open at once. */
  readonly concurrentTransactions: boolean;
}

/** A database whose `nth` statement inside a transaction fails, as when the connection breaks there. */
function breakingAt(db: Database, nth: number): { readonly db: Database; statements(): number } {
  let count = 0;
  const wrap = (tx: Sql): Sql => ({
    query: (text, parameters) => {
      count += 1;
      if (count === nth) return Promise.reject(new Error("the connection broke"));
      return tx.query(text, parameters);
    },
    transaction: (work) => tx.transaction(work),
  });
  const broken: Database = { ...db, transaction: (work) => db.transaction((tx) => work(wrap(tx))) };
  return { db: broken, statements: () => count };
}

/** Record, journal, outbox and change row commit together and become visible in the order of their places. */
export function commitSuite(open: () => Promise<Database>, traits: LedgerTraits): void {
  describe("commits", () => {
    let world: LedgerWorld;
    let db: Database;
    beforeEach(async () => {
      world = await ledgerWorld(open);
      db = world.db;
    });
    afterEach(() => db.close());

    it("B81: a transaction that breaks before any of its statements leaves no row, and the repeat exactly one doorbell", async () => {
      const { revision } = await owed(db);
      const record = await opened(db);
      const lease = await claimed(db, record);
      await committed(db, lease);
      const outcome = readyOutcome(revision);
      let statement = 1;
      for (; ; statement++) {
        const broken = breakingAt(db, statement);
        const before = await everything(db);
        const result = await finishReady(broken.db, lease, outcome).catch(() => undefined);
        if (result !== undefined) {
          expect(result.outcome).toBe("done");
          break;
        }
        expect(await everything(db)).toEqual(before);
      }
      expect(statement).toBeGreaterThan(8);
      const doorbells = (await outboxOf(db)).filter(([type]) => type === "reporting.delivery_ready");
      expect(doorbells).toEqual([["reporting.delivery_ready", record.reporting_materialization_id]]);
    });

    it("a publication that breaks anywhere leaves no row", async () => {
      const revision = aRevision();
      let statement = 1;
      for (; ; statement++) {
        const broken = breakingAt(db, statement);
        const publishing = publishRevision(broken.db, { revision, retained: retainedParts() });
        if ((await publishing.catch(() => undefined)) !== undefined) break;
        expect(await everything(db)).toEqual([]);
      }
      expect(statement).toBeGreaterThan(6);
      expect(await outboxOf(db)).toHaveLength(1);
    });

    it("a failed statement that is swallowed does not look committed", async () => {
      const swallowing = db.transaction(async (tx) => {
        await tx.query("insert into account_seq values ('acct-1', 1, 1)");
        await tx.query("insert into account_seq values ('acct-1', 1, 1)").catch(() => undefined);
        return "done";
      });
      await expect(swallowing).rejects.toThrow("rolled back");
      expect(await everything(db)).toEqual([]);
    });

    it("the outer handle and a second transaction are refused inside a transaction", async () => {
      await expect(db.transaction(() => db.query("select 1"))).rejects.toThrow("handle");
      await expect(db.transaction(() => db.transaction(async () => 1))).rejects.toThrow("handle");
      await expect(db.transaction((tx) => tx.transaction(async () => 1))).rejects.toThrow("handle");
      expect(await db.query("select 1 as one")).toEqual([{ one: 1 }]);
    });

    it("values keep their types and every digit", async () => {
      const [row] = await db.query(
        `select $1::bigint as big, 1::bigint as small, count(*) as count, 7 as int, $2::text as text, $3::bytea as bytes,
           $4::boolean as yes, null::bigint as nothing from account_seq`,
        [9_223_372_036_854_775_807n, "ü'\u2028;--", new Uint8Array([0, 255]), true],
      );
      expect(row).toMatchObject({
        big: 9_223_372_036_854_775_807n,
        small: 1n,
        count: 0n,
        int: 7,
        text: "ü'\u2028;--",
        yes: true,
        nothing: null,
      });
      expect([...((row?.["bytes"] ?? []) as Uint8Array)]).toEqual([0, 255]);
    });

    it("B45: canonical text comes back byte for byte, whatever its members hold", async () => {
      const total = { name: "spend", value: "12.340000", value_type: "decimal", unit: "EUR\u2028\u0000" } as const;
      const revision = aRevision({ control_totals: [total] });
      await publishRevision(db, { revision, retained: retainedParts() });
      const [row] = await db.query<{ record: string }>("select record from revision");
      expect(JSON.parse(row?.record ?? "").control_totals).toEqual([total]);
    });

    it("the places of an account have no gap, and its times never run backwards", async () => {
      const { revision } = await owed(db);
      await world.clock.set(world.clock.nowUs() - 3_600_000_000n);
      await expect(opened(db)).resolves.toBeDefined();
      await world.clock.set(world.clock.nowUs() + 7_200_000_000n);
      const [attempt] = await db.query<{ id: string }>(
        "select reporting_materialization_id as id from materialization",
      );
      const pending = { reporting_materialization_id: attempt?.id ?? "" };
      const lease = await claimed(db, pending);
      await committed(db, lease);
      await finishReady(db, lease, readyOutcome(revision));
      const places = await db.query<{ seq: bigint; at: bigint }>("select seq, at from journal order by seq");
      expect(places.map(({ seq }) => seq)).toEqual(places.map((_, index) => BigInt(index + 1)));
      const times = places.map(({ at }) => at);
      expect(times).toEqual([...times].sort((left, right) => (left < right ? -1 : left > right ? 1 : 0)));
    });

    it("B41: many transitions of one account at once all take effect, once each", async () => {
      await owed(db);
      const hours = Array.from({ length: 10 }, (_, hour) => String(hour).padStart(2, "0"));
      const work = hours.flatMap((hour) => {
        const period = { start: `2026-08-25T${hour}:00:00Z`, end: `2026-08-25T${hour}:30:00Z`, source_timezone: "UTC" };
        const revision = aRevision({ reporting_revision_id: `rev-${hour}`, period });
        const facts = obligationFacts({ reporting_obligation_id: `obl-${hour}`, period });
        return [createObligation(db, facts), publishRevision(db, { revision, retained: retainedParts() })];
      });
      for (const { created } of await Promise.all(work)) expect(created).toBe(true);
      const attempts = hours.map(async (hour) => {
        const record = await opened(db, "current", { obligationId: `obl-${hour}`, revisionId: `rev-${hour}` });
        return await delivered(db, record, aRevision());
      });
      const statuses = (await Promise.all(attempts)).map(({ status }) => status);
      expect(new Set(statuses)).toEqual(new Set(["available"]));
      const [count] = await db.query("select count(*) = max(seq) as gapless from journal");
      expect(count).toEqual({ gapless: true });
    });

    it("records and the facts about them share a place", async () => {
      const { revision } = await owed(db);
      const record = await delivered(db, await opened(db), revision);
      const rows = await db.query(
        `select m.seq = opened.seq as opened, m.ended_seq = ended.seq and m.ended_seq = o.seq and m.ended_seq = c.seq as ended
         from materialization m
         join journal opened on opened.subject_id = m.reporting_materialization_id and opened.event = 'opened'
         join journal ended on ended.subject_id = m.reporting_materialization_id and ended.event = 'available'
         join outbox o on o.cause_id = m.reporting_materialization_id
         join account_change c on c.account_id = m.account_id and c.seq = m.ended_seq
         where m.reporting_materialization_id = $1`,
        [record.reporting_materialization_id],
      );
      expect(rows).toEqual([{ opened: true, ended: true }]);
    });

    it.skipIf(!traits.concurrentTransactions)(
      `B80: a later place does not become visible before an earlier one${traits.concurrentTransactions ? "" : " (needs concurrent transactions)"}`,
      async () => {
        const fact = { kind: "obligation", subjectId: "obl-1" } as const;
        let letGo = (): void => undefined;
        const held = new Promise<void>((resolve) => {
          letGo = resolve;
        });
        let placed = (): void => undefined;
        const firstPlaced = new Promise<void>((resolve) => {
          placed = resolve;
        });
        const first = db.transaction(async (tx) => {
          await recordFacts(tx, "acct-1", [{ ...fact, event: "first" }]);
          placed();
          await held;
        });
        await firstPlaced;
        const second = db.transaction((tx) => recordFacts(tx, "acct-1", [{ ...fact, event: "second" }]));
        // Another account is not held up.
        await db.transaction((tx) => recordFacts(tx, "acct-2", [{ ...fact, event: "elsewhere" }]));
        const events = async () =>
          (await journalOf(db, { accountId: "acct-1" }, "obl-1")).items.map(({ event }) => event);
        expect(await events()).toEqual([]);
        letGo();
        await Promise.all([first, second]);
        expect(await events()).toEqual(["first", "second"]);
      },
    );

    it("migrating again changes nothing", async () => {
      await owed(db);
      expect(await unchanged(db, () => migrate(db))).toEqual([]);
    });

    it("a ledger of a newer version, or one whose migration was edited, is refused", async () => {
      await db.query("insert into ledger_migration values (9999, '9999_future', 'x')");
      await expect(migrate(db)).rejects.toMatchObject({ problems: [{ code: "LEDGER_NEWER" }] });
      await db.query("delete from ledger_migration where number = 9999");
      await db.query("update ledger_migration set sha256 = 'x' where number = 1");
      await expect(migrate(db)).rejects.toMatchObject({ problems: [{ code: "MIGRATION_CHANGED" }] });
    });
  });
}
