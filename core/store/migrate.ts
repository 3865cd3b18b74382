import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { WaybillError } from "../errors.ts";
import type { Database } from "./sql.ts";

interface Migration {
  readonly number: number;
  readonly name: string;
  readonly text: string;
  readonly sha256: string;
}

const directory = fileURLToPath(new URL("./migrations/", import.meta.url));

/**
 * Brings the ledger to this version, each numbered migration in one transaction; running it again, or in two processes
 * at once, changes nothing more. Returns the names that ran now.
 * WaybillError (usage): the ledger was written by a newer version, or a migration that ran has another text here.
 */
export async function migrate(db: Database): Promise<readonly string[]> {
  const migrations = await readMigrations();
  // Of two processes that both see no table one fails to create it, in spite of the words; on the second try it sees the other's.
  await createTable(db).catch(() => createTable(db));
  await refuseForeign(db, migrations);
  const ran: string[] = [];
  for (const migration of migrations) {
    if (await isApplied(db, migration)) continue;
    if (await apply(db, migration)) ran.push(migration.name);
  }
  return ran;
}

async function createTable(db: Database): Promise<void> {
  await db.query(
    "create table if not exists ledger_migration (number integer primary key, name text not null, sha256 text not null)",
  );
}

/** False: another process ran it meanwhile. The first statement claims the number, so the loser of a race waits, then fails as a whole. */
async function apply(db: Database, { number, name, text, sha256 }: Migration): Promise<boolean> {
  try {
    await db.script(`insert into ledger_migration values (${number}, '${name}', '${sha256}');\n${text}`);
    return true;
  } catch (error) {
    if (await isApplied(db, { number })) return false;
    throw error;
  }
}

async function isApplied(db: Database, { number }: Pick<Migration, "number">): Promise<boolean> {
  return (await db.query("select 1 from ledger_migration where number = $1", [number])).length > 0;
}

async function refuseForeign(db: Database, migrations: readonly Migration[]): Promise<void> {
  const known = new Map(migrations.map((migration) => [migration.number, migration]));
  const applied = await db.query<{ number: number; name: string; sha256: string }>(
    "select number, name, sha256 from ledger_migration order by number",
  );
  for (const { number, name, sha256 } of applied) {
    const migration = known.get(number);
    if (migration === undefined) {
      const message = `the ledger has migration ${name}, which this version does not know; use the newer version that wrote it`;
      throw new WaybillError("usage", [{ code: "LEDGER_NEWER", message }]);
    }
    if (migration.sha256 !== sha256) {
      const message = `migration ${name} ran on this ledger with another text; restore the original file and add a new migration instead`;
      throw new WaybillError("usage", [{ code: "MIGRATION_CHANGED", message }]);
    }
  }
}

async function readMigrations(): Promise<readonly Migration[]> {
  const names = (await readdir(directory)).filter((name) => /^\d{4}_[a-z_]+\.sql$/.test(name)).sort();
  return await Promise.all(
    names.map(async (name) => {
      const text = await readFile(`${directory}${name}`, "utf8");
      const sha256 = createHash("sha256").update(text).digest("hex");
      return { number: Number(name.slice(0, 4)), name: name.slice(0, -".sql".length), text, sha256 };
    }),
  );
}
