import type { Database } from "../../../core/store/sql.ts";

/** The database clock of a test ledger, standing still until it is moved. */
export interface LedgerClock {
  /** Microseconds. */
  nowUs(): bigint;
  set(us: bigint): Promise<void>;
  advance(ms: number): Promise<void>;
}

/** Replaces `ledger_now()` of this ledger, for every connection to it. */
export async function stopLedgerClock(db: Database, startUs: bigint): Promise<LedgerClock> {
  let nowUs = startUs;
  await db.script(`create table test_clock (now bigint not null);
    insert into test_clock values (${startUs});
    create or replace function ledger_now() returns bigint language sql volatile as 'select now from test_clock'`);
  const set = async (us: bigint): Promise<void> => {
    nowUs = us;
    await db.query("update test_clock set now = $1", [us]);
  };
  return { nowUs: () => nowUs, set, advance: (ms) => set(nowUs + BigInt(ms) * 1000n) };
}
