import type { Sql } from "../../store/sql.ts";

/** The clock of ledger decisions: database time, microseconds since 1970. */
export async function ledgerNow(db: Sql): Promise<bigint> {
  const [row] = await db.query<{ now: bigint }>("select ledger_now() as now");
  if (row === undefined) throw new Error("select returned no row");
  return row.now;
}
