import { execFileSync } from "node:child_process";
import { chownSync, cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresBinaries } from "./peers.ts";
import { freePort, type ServerProcess, startProcess } from "./process.ts";

export interface PostgresServer extends ServerProcess {
  /** Connection URL of the maintenance database `postgres`. */
  readonly url: string;
  readonly port: number;
  /** A new empty database and its URL. */
  createDatabase(name: string): Promise<string>;
  /** Stops (crash: immediately, as if killed) and starts on the same port and data. */
  restart(mode: "fast" | "immediate"): Promise<void>;
}

const user = "postgres";
/** PostgreSQL refuses to run as root; `nobody` exists everywhere. */
const unprivileged = { uid: 65534, gid: 65534 };

/** A real PostgreSQL 18 on loopback with its data in a temporary folder that `stop` removes. */
export async function startPostgres(): Promise<PostgresServer> {
  const root = process.getuid?.() === 0;
  const home = mkdtempSync(join(tmpdir(), "waybill-postgres-"));
  if (root) chownSync(home, unprivileged.uid, unprivileged.gid);
  const binaries = root ? readableCopy() : postgresBinaries();
  const data = join(home, "data");
  const identity = root ? unprivileged : {};
  const environment = { ...process.env, LC_ALL: "C", TZ: "UTC" };
  execFileSync(join(binaries, "bin/initdb"), ["-D", data, "-U", user, "-A", "trust", "-E", "UTF8", "--no-sync"], {
    ...identity,
    env: environment,
    cwd: home,
    stdio: "pipe",
  });
  const port = await freePort();
  writeFileSync(
    join(data, "postgresql.auto.conf"),
    `port=${port}\nlisten_addresses='127.0.0.1'\nunix_socket_directories=''\nfsync=on\nmax_connections=100\n`,
  );
  const start = (): Promise<ServerProcess> =>
    startProcess(join(binaries, "bin/postgres"), ["-D", data], { ...identity, env: environment, cwd: home }, async () =>
      answers(port),
    );
  let server = await start();
  const url = (database: string): string => `postgresql://${user}@127.0.0.1:${port}/${database}`;
  return {
    get child() {
      return server.child;
    },
    port,
    url: url("postgres"),
    async createDatabase(name) {
      const { default: pg } = await import("pg");
      const client = new pg.Client({ connectionString: url("postgres") });
      await client.connect();
      await client.query(`create database "${name.replaceAll('"', '""')}"`);
      await client.end();
      return url(name);
    },
    async restart(mode) {
      await server.stop(mode === "fast" ? "SIGINT" : "SIGQUIT");
      server = await start();
    },
    async stop() {
      await server.stop("SIGINT");
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** The cache may lie where an unprivileged user cannot look. */
function readableCopy(): string {
  const copy = join(tmpdir(), "waybill-postgres-binaries-18.4");
  if (!existsSync(join(copy, "complete"))) {
    rmSync(copy, { recursive: true, force: true });
    cpSync(postgresBinaries(), copy, { recursive: true, verbatimSymlinks: true });
    writeFileSync(join(copy, "complete"), "");
  }
  return copy;
}

async function answers(port: number): Promise<boolean> {
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: `postgresql://${user}@127.0.0.1:${port}/postgres` });
  try {
    await client.connect();
    return true;
  } finally {
    await client.end().catch(() => undefined);
  }
}
