import { afterAll, beforeAll } from "vitest";
import { migrate } from "../../../core/store/migrate.ts";
import { openPostgres } from "../../../core/store/postgres.ts";
import type { Database } from "../../../core/store/sql.ts";
import { ledgerConformance } from "../../conformance/ledger.ts";
import { describePeer } from "../../servers/peers.ts";
import { type PostgresServer, startPostgres } from "../../servers/postgres.ts";

describePeer("postgres", "on a real server", () => {
  let server: PostgresServer;
  let admin: Database;
  let worlds = 0;
  beforeAll(async () => {
    server = await startPostgres();
    admin = openPostgres({ url: server.url, poolSize: 1 });
  });
  afterAll(async () => {
    await admin.close();
    await server.stop();
  });

  // A schema costs a tenth of a database.
  const open = async (): Promise<Database> => {
    const schema = `world_${++worlds}`;
    await admin.query(`create schema ${schema}`);
    const db = openPostgres({ url: `${server.url}?options=-c%20search_path%3D${schema}`, poolSize: 5 });
    await migrate(db);
    return db;
  };

  ledgerConformance("PostgreSQL", open, { concurrentTransactions: true });
});
