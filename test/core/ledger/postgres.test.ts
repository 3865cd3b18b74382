import { readdir } from "node:fs/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
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
  const empty = async (): Promise<() => Database> => {
    const schema = `world_${++worlds}`;
    await admin.query(`create schema ${schema}`);
    return () => openPostgres({ url: `${server.url}?options=-c%20search_path%3D${schema}`, poolSize: 5 });
  };
  const open = async (): Promise<Database> => {
    const db = (await empty())();
    await migrate(db);
    return db;
  };

  ledgerConformance("PostgreSQL", open, { concurrentTransactions: true });

  it("processes that migrate an empty database at once run each migration once between them", async () => {
    const files = await readdir(new URL("../../../core/store/migrations/", import.meta.url));
    const names = files.map((file) => file.replace(/\.sql$/, "")).sort();
    for (let round = 0; round < 5; round++) {
      const connect = await empty();
      const processes = [connect(), connect(), connect()];
      const ran = await Promise.all(processes.map((db) => migrate(db)));
      expect(ran.flat().sort()).toEqual(names);
      await Promise.all(processes.map((db) => db.close()));
    }
  });
});
