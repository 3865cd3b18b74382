import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Engine, openEngine } from "../../../core/rows/duckdb.ts";
import { refusalOf } from "./retain-world.ts";

let directory: string;
let engine: Engine | undefined;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "waybill-test-"));
});
afterEach(async () => {
  await engine?.close();
  await rm(directory, { recursive: true, force: true });
});

async function opened(options: Partial<Parameters<typeof openEngine>[0]> = {}): Promise<Engine> {
  engine = await openEngine({ directory: join(directory, "engine"), ...options });
  return engine;
}

async function firstOf(sql: string): Promise<unknown> {
  for await (const chunk of (engine as Engine).stream(sql)) return chunk.getColumnVector(0).getItem(0);
  return undefined;
}

describe("engine", () => {
  it("reads and writes nothing outside its folder and its inputs", async () => {
    const outside = join(directory, "outside.csv");
    const input = join(directory, "input.csv");
    await writeFile(outside, "a\n1\n");
    await writeFile(input, "a\n2\n");
    const { run, input: literal } = await opened({ inputs: [input] });
    expect(await firstOf(`SELECT a FROM read_csv(${literal(0)})`)).toBe(2n);
    for (const statement of [
      `SELECT * FROM read_csv('${outside}')`,
      `SELECT * FROM read_csv('${directory}/engine/../outside.csv')`,
      "SELECT * FROM read_csv('/etc/passwd')",
      `COPY (SELECT 1) TO '${directory}/stolen.csv'`,
      `ATTACH '${directory}/other.db'`,
      "INSTALL httpfs",
      "LOAD httpfs",
      "SELECT * FROM read_csv('https://example.com/a.csv')",
    ]) {
      await expect(run(statement), statement).rejects.toThrow();
    }
    expect((await readdir(directory)).sort()).toEqual(["engine", "input.csv", "outside.csv"]);
  });

  it("keeps its settings locked: one thread, UTC, bounded memory", async () => {
    const { run } = await opened({ memoryLimitMb: 64 });
    expect(await firstOf("SELECT current_setting('threads')")).toBe(1n);
    expect(await firstOf("SELECT current_setting('TimeZone')")).toBe("UTC");
    expect(String(await firstOf("SELECT current_setting('memory_limit')"))).toMatch(/^61\.0 MiB$/);
    for (const setting of [
      "threads = 4",
      "memory_limit = '4GB'",
      "enable_external_access = true",
      "TimeZone = 'Asia/Kolkata'",
    ]) {
      await expect(run(`SET ${setting}`), setting).rejects.toThrow(/lock/);
    }
  });

  it("several results can be read side by side, and left early", async () => {
    const { stream } = await opened();
    const left = stream("SELECT range AS i FROM range(5000)")[Symbol.asyncIterator]();
    const right = stream("SELECT range AS i FROM range(5000)")[Symbol.asyncIterator]();
    const first = async (iterator: typeof left) => {
      const { value } = await iterator.next();
      return value.getColumnVector(0).getItem(0);
    };
    expect([await first(left), await first(right), await first(left), await first(right)]).toEqual([
      0n,
      0n,
      2048n,
      2048n,
    ]);
    await left.return?.();
    await right.return?.();
  });

  it("an aborted statement ends with the signal's reason", async () => {
    const { run } = await opened();
    const controller = new AbortController();
    const running = run("SELECT count(*) FROM range(100000000) a, range(100000) b", controller.signal);
    setImmediate(() => controller.abort(new Error("enough")));
    await expect(running).rejects.toThrow("enough");
    await expect(run("SELECT 1", controller.signal)).rejects.toThrow("enough");
  });

  it("an abort in the same turn as the start is not forgotten", async () => {
    const { run } = await opened();
    for (let round = 0; round < 20; round++) {
      const controller = new AbortController();
      const running = run("SELECT count(*) FROM range(100000000) a, range(100000) b", controller.signal);
      controller.abort(new Error("enough"));
      await expect(running).rejects.toThrow("enough");
    }
  });

  it("a folder that cannot be made, or that a database cannot lie in, is a problem of configuration", async () => {
    await writeFile(join(directory, "file"), "");
    const unusable = await refusalOf(openEngine({ directory: join(directory, "file", "engine") }));
    expect([unusable.kind, unusable.problems[0]?.code]).toEqual(["usage", "SPOOL_UNUSABLE"]);
    await mkdir(join(directory, "a?b"));
    const odd = await refusalOf(openEngine({ directory: join(directory, "a?b"), database: "disk" }));
    expect(odd.message).toContain("?");
  });

  it("more than memory holds spills into the folder and comes back", async () => {
    const { run } = await opened({ memoryLimitMb: 64, database: "disk" });
    await run("CREATE TABLE wide AS SELECT hash(range) AS h, repeat(range::VARCHAR, 20) AS t FROM range(600000)");
    await run("CREATE TABLE sorted AS SELECT * FROM wide ORDER BY h");
    expect(await firstOf("SELECT count(*) FROM sorted")).toBe(600_000n);
  });

  it("closing twice is fine and leaves no alias behind", async () => {
    const aliases = async () => (await readdir(tmpdir())).filter((name) => name.startsWith("waybill-engine-"));
    const before = await aliases();
    const odd = await openEngine({ directory: join(directory, "a[1]") });
    await odd.close();
    await odd.close();
    expect((await aliases()).filter((name) => !before.includes(name))).toEqual([]);
  });
});
