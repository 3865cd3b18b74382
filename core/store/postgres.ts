import { AsyncLocalStorage } from "node:async_hooks";
import pg from "pg";
import type { Database, Sql, SqlRow, SqlValue } from "./sql.ts";

export interface PostgresOptions {
  /** `postgresql://…`; a secret when it carries a password. */
  readonly url: string;
  /** Connections of this process. Default: 10. */
  readonly poolSize?: number;
  /** Longest single statement. Ms. Default: 30,000. */
  readonly statementTimeoutMs?: number;
  /** Longest wait for a row lock. Ms. Default: 10,000. */
  readonly lockTimeoutMs?: number;
  /** How often a transaction that lost a serialization race or a deadlock is run again. Default: 5. */
  readonly transactionRetries?: number;
}

/** SQLSTATEs of a transaction that may simply run again: serialization failure, deadlock. */
const repeatable = new Set(["40001", "40P01"]);

const int8 = 20;

/**
 * The ledger on a PostgreSQL server. Each transaction has a connection of its own; `work` is run again, with jitter, after a
 * serialization failure or deadlock, so it must do nothing but SQL. A connection that breaks throws: whether a COMMIT whose answer was
 * lost took effect is found by reading.
 */
export function openPostgres(options: PostgresOptions): Database {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolSize ?? 10,
    connectionTimeoutMillis: 5_000,
    statement_timeout: options.statementTimeoutMs ?? 30_000,
    lock_timeout: options.lockTimeoutMs ?? 10_000,
    idle_in_transaction_session_timeout: 60_000,
    application_name: "waybill",
    types: {
      getTypeParser: ((oid: number, format) =>
        oid === int8 ? BigInt : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
    },
  });
  // An idle connection that the server closed: the pool replaces it, and the next statement that cannot connect throws.
  pool.on("error", () => undefined);
  const inTransaction = new AsyncLocalStorage<true>();
  const refuseInside = (): void => {
    if (inTransaction.getStore()) throw new Error("a transaction is open: use the handle it was given");
  };
  const retries = options.transactionRetries ?? 5;

  async function once<T>(work: (tx: Sql) => Promise<T>): Promise<T> {
    const client = await pool.connect();
    // Without a listener an error between statements would end the process; the next statement reports it.
    const ignore = (): void => undefined;
    client.on("error", ignore);
    let broken = false;
    try {
      await client.query("begin");
      const result = await work(handle(client));
      const { command } = await client.query("commit");
      // After a failed statement PostgreSQL answers COMMIT with ROLLBACK; work that swallowed the error must not look committed.
      if (command !== "COMMIT") throw new Error("the transaction was rolled back: one of its statements had failed");
      return result;
    } catch (error) {
      await client.query("rollback").catch(() => {
        broken = true;
      });
      throw error;
    } finally {
      client.removeListener("error", ignore);
      client.release(broken);
    }
  }

  return {
    query: async (text, parameters) => {
      refuseInside();
      return await run(pool, text, parameters);
    },
    transaction: async (work) => {
      refuseInside();
      for (let attempt = 0; ; attempt++) {
        try {
          return await inTransaction.run(true, () => once(work));
        } catch (error) {
          if (attempt >= retries || !repeatable.has(sqlStateOf(error) ?? "")) throw error;
          await new Promise((resolve) => setTimeout(resolve, Math.random() * 20 * 2 ** attempt));
        }
      }
    },
    script: async (text) => {
      refuseInside();
      const client = await pool.connect();
      let broken = false;
      try {
        await client.query(`begin;\n${text}\n;commit;`);
      } catch (error) {
        await client.query("rollback").catch(() => {
          broken = true;
        });
        throw error;
      } finally {
        client.release(broken);
      }
    },
    close: () => pool.end(),
  };
}

/** The SQLSTATE of a database error, or the errno word of a connection error. */
export function sqlStateOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

function handle(client: pg.PoolClient): Sql {
  return {
    query: (text, parameters) => run(client, text, parameters),
    transaction: () => Promise.reject(new Error("a transaction is open: use the handle it was given")),
  };
}

async function run<T extends SqlRow>(
  session: Pick<pg.PoolClient, "query">,
  text: string,
  parameters: readonly SqlValue[] = [],
): Promise<readonly T[]> {
  const values = parameters.map((value) => (typeof value === "bigint" ? value.toString() : value));
  return (await session.query<T>(text, values)).rows;
}
