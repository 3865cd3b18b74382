import type { Sql } from "../../core/store/sql.ts";

/** Names of the migrations a ledger has, in their order. */
export async function appliedMigrations(db: Sql): Promise<readonly string[]> {
  const rows = await db.query<{ name: string }>("select name from ledger_migration order by number");
  return rows.map((row) => row.name);
}
