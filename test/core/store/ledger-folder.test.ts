import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, stat, watch, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { listMaterializations, obligationProjection } from "../../../core/ledger/queries.ts";
import { migrate } from "../../../core/store/migrate.ts";
import { openPglite } from "../../../core/store/pglite.ts";
import { outboxOf } from "../../conformance/ledger/expectations.ts";
import { repositoryRoot } from "../../servers/peers.ts";

const owner = join(repositoryRoot, ".cache/test-build/test/processes/ledger-owner.js");
const operator = { operator: true } as const;

describe("a ledger folder", () => {
  let base: string;
  let directory: string;
  const children: ChildProcess[] = [];
  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), "waybill-ledger-"));
    directory = join(base, "ledger");
  });
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill("SIGKILL");
    await rm(base, { recursive: true, force: true });
  });

  const run = (what: string): { readonly child: ChildProcess; readonly lines: Interface; says(): Promise<string> } => {
    const child = spawn(process.execPath, [owner, directory, what], { stdio: ["pipe", "pipe", "inherit"] });
    children.push(child);
    const lines = createInterface(child.stdout);
    const words = lines[Symbol.asyncIterator]();
    return { child, lines, says: async () => String((await words.next()).value) };
  };
  const kill = async (child: ChildProcess): Promise<void> => {
    child.kill("SIGKILL");
    await once(child, "exit");
  };

  it("belongs to one process: a second one is told the first's number, and gets it once that closed", async () => {
    const first = run("hold");
    expect(await first.says()).toBe("open");
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
    const second = run("hold");
    expect(await second.says()).toMatch(new RegExp(`^refused .* is held by process ${first.child.pid};`));
    await expect(openPglite(directory)).rejects.toMatchObject({ kind: "usage" });
    first.child.stdin?.write("\n");
    expect(await first.says()).toBe("closed");
    const db = await openPglite(directory);
    expect(await migrate(db)).toEqual([]);
    await db.close();
  });

  it("B81: killed right after the delivery it has exactly one doorbell for it", async () => {
    const { child, says } = run("deliver");
    expect(await says()).toBe("open");
    expect(await says()).toBe("ready");
    await kill(child);
    const db = await openPglite(directory);
    const [record] = (await listMaterializations(db, operator)).items;
    expect(record?.status).toBe("available");
    const id = record?.reporting_materialization_id;
    expect((await outboxOf(db)).filter(([type]) => type === "reporting.delivery_ready")).toEqual([
      ["reporting.delivery_ready", id],
    ]);
    expect((await obligationProjection(db, operator, "obl-1"))?.health).toBe("complete");
    await db.close();
  });

  it("killed while its data folder is being made it starts again from nothing", async () => {
    await mkdir(directory);
    const first = run("hold");
    for await (const { filename } of watch(directory)) if (filename === "pgdata.unfinished") break;
    await kill(first.child);
    await mkdir(join(directory, "pgdata"), { recursive: true });
    // The moment in which the folder looks whole to the engine but is not.
    await writeFile(join(directory, "pgdata", "PG_VERSION"), "18\n");
    const second = run("hold");
    expect(await second.says()).toBe("open");
  });

  it("killed inside a transaction it has nothing of it, and what was committed before stays", async () => {
    const { child, says } = run("break");
    expect(await says()).toBe("open");
    expect(await says()).toBe("open transaction");
    await kill(child);
    const db = await openPglite(directory);
    expect((await db.query("select account_id from account_seq")).map((row) => row["account_id"])).toEqual(["acct-1"]);
    expect((await listMaterializations(db, operator)).items.map(({ status }) => status)).toEqual(["pending"]);
    await db.close();
  });
});
