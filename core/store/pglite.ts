import { AsyncLocalStorage } from "node:async_hooks";
import { existsSync } from "node:fs";
import { mkdir, rm, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PGlite, type Transaction } from "@electric-sql/pglite";
import { WaybillError } from "../errors.ts";
import { lockFolder } from "./folder-lock.ts";
import type { Database, Sql, SqlRow, SqlValue } from "./sql.ts";

/** The members of PGlite and of its transaction that a statement needs. */
type Session = Pick<Transaction, "query">;

const int8 = 20;

/**
 * The embedded ledger database. `directory` is created (0700) and locked against other processes until `close`:
 * two processes on one folder lose commits. WaybillError (usage): FOLDER_IN_USE names the process that holds it, LEDGER_UNUSABLE the folder. "memory" keeps nothing.
 * One connection: statements of concurrent callers wait for each other.
 */
export async function openPglite(directory: string | "memory"): Promise<Database> {
  if (directory === "memory") return pgliteDatabase(await start("memory://"));
  await mkdir(directory, { recursive: true, mode: 0o700 }).catch((cause) => {
    throw unusable(directory, cause);
  });
  const lock = await lockFolder(directory).catch((cause) => {
    throw unusable(directory, cause);
  });
  try {
    const database = pgliteDatabase(await startIn(directory));
    return { ...database, close: () => database.close().finally(() => lock.release()) };
  } catch (error) {
    await lock.release();
    throw unusable(directory, error);
  }
}

function unusable(directory: string, cause: unknown): WaybillError {
  if (cause instanceof WaybillError) return cause;
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "it could not be started";
  const message = `the ledger in ${directory} cannot be opened (${code}); check that the folder is writable, has room, and was not damaged`;
  return new WaybillError("usage", [{ code: "LEDGER_UNUSABLE", message, field: directory }], { cause });
}

/** A process that dies while the data folder is being made would leave one that looks whole and never opens again. */
async function startIn(directory: string): Promise<PGlite> {
  const data = join(directory, "pgdata");
  const unfinished = join(directory, "pgdata.unfinished");
  if (existsSync(unfinished)) await rm(data, { recursive: true, force: true });
  if (existsSync(data)) return await start(data);
  await writeFile(unfinished, "", { flush: true });
  const pglite = await start(data);
  await unlink(unfinished);
  return pglite;
}

function start(location: string): Promise<PGlite> {
  // Left alone, int8 arrives as number or bigint depending on its size, and count(*) as number.
  return PGlite.create(location, { parsers: { [int8]: BigInt } });
}

function pgliteDatabase(pglite: PGlite): Database {
  // A statement on the outer handle inside a transaction would wait for that transaction, which waits for the statement.
  const inTransaction = new AsyncLocalStorage<true>();
  const refuseInside = (): void => {
    if (inTransaction.getStore()) throw new Error("a transaction is open: use the handle it was given");
  };
  return {
    query: async (text, parameters) => {
      refuseInside();
      return await run(pglite, text, parameters);
    },
    transaction: async (work) => {
      refuseInside();
      return await inTransaction.run(true, () => pglite.transaction((tx) => guarded(tx, work)));
    },
    script: async (text) => {
      refuseInside();
      await pglite.transaction((tx) => tx.exec(text));
    },
    close: () => pglite.close(),
  };
}

/** After an error PostgreSQL answers COMMIT with ROLLBACK; work that swallowed the error must not look committed. */
async function guarded<T>(session: Session, work: (tx: Sql) => Promise<T>): Promise<T> {
  let failure: { readonly cause: unknown } | undefined;
  const tx: Sql = {
    query: async (text, parameters) => {
      try {
        return await run(session, text, parameters);
      } catch (cause) {
        failure ??= { cause };
        throw cause;
      }
    },
    transaction: () => Promise.reject(new Error("a transaction is open: use the handle it was given")),
  };
  const result = await work(tx);
  if (failure !== undefined) {
    throw new Error("the transaction was rolled back: one of its statements had failed", failure);
  }
  return result;
}

async function run<T extends SqlRow>(
  session: Session,
  text: string,
  parameters: readonly SqlValue[] = [],
): Promise<readonly T[]> {
  return (await session.query<T>(text, [...parameters])).rows;
}
