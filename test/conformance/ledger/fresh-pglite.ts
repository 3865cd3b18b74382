import { migrate } from "../../../core/store/migrate.ts";
import { openPglite } from "../../../core/store/pglite.ts";
import type { Database } from "../../../core/store/sql.ts";

let shared: Promise<Database> | undefined;
let worlds = 0;

/**
 * An empty, migrated ledger in this file's one in-memory PGlite, which takes seconds to start: a schema per call.
 * One world at a time: opening the next one, or closing this one, ends it.
 */
export async function freshPglite(): Promise<Database> {
  const db = await emptyPglite();
  await migrate(db);
  return db;
}

/** Like freshPglite, but without a single table. */
export async function emptyPglite(): Promise<Database> {
  shared ??= openPglite("memory");
  const db = await shared;
  const schema = `world_${++worlds}`;
  await db.script(`create schema ${schema}; set search_path to ${schema}`);
  return { ...db, close: () => db.script(`drop schema if exists ${schema} cascade`) };
}
