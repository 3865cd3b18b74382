import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { lockFolder } from "../../../core/store/folder-lock.ts";
import { lifeOf, ownIdentity } from "../../../core/store/process-identity.ts";

describe("folder lock", () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "waybill-lock-"));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  const path = () => join(directory, "lock");
  const inUse = (message: string) => ({
    kind: "usage",
    message: expect.stringContaining(message),
    problems: [{ code: "FOLDER_IN_USE" }],
  });
  /** A lock as a process leaves it that was killed and whose number was given to this one. */
  const leaveBehind = async (changes: object = {}) =>
    writeFile(path(), JSON.stringify({ ...(await ownIdentity()), nonce: "dead", startedAt: "1", ...changes }));

  it("is exclusive, also within one process, and free again after release", async () => {
    const lock = await lockFolder(directory);
    await expect(lockFolder(directory)).rejects.toMatchObject(inUse(`process ${process.pid};`));
    await lock.release();
    await lock.release();
    const again = await lockFolder(directory);
    // The first holder's late release does not free the second's lock.
    await lock.release();
    await expect(lockFolder(directory)).rejects.toMatchObject(inUse(`process ${process.pid};`));
    await again.release();
    expect(await readdir(directory)).toEqual([]);
  });

  it("of many that want it at once exactly one gets it", async () => {
    const attempts = await Promise.allSettled(Array.from({ length: 20 }, () => lockFolder(directory)));
    expect(attempts.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(await readdir(directory)).toEqual(["lock"]);
  });

  it("a lock whose process number was given to another process is taken over", async () => {
    await leaveBehind();
    const lock = await lockFolder(directory);
    expect(JSON.parse(await readFile(path(), "utf8"))).toMatchObject({ pid: process.pid });
    await expect(lockFolder(directory)).rejects.toMatchObject(inUse("held by process"));
    await lock.release();
  });

  it("of many that find a dead lock exactly one takes it over", async () => {
    await leaveBehind();
    const attempts = await Promise.allSettled(Array.from({ length: 20 }, () => lockFolder(directory)));
    expect(attempts.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(await readdir(directory)).toEqual(["lock"]);
  });

  it("a takeover that itself died half-way is taken over as well", async () => {
    await leaveBehind();
    await writeFile(`${path()}.takeover`, await readFile(path()));
    const lock = await lockFolder(directory);
    expect(await readdir(directory)).toEqual(["lock"]);
    await lock.release();
  });

  it("a lock of an earlier boot of this machine is dead", async () => {
    await leaveBehind({ boot: "an earlier boot", startedAt: (await ownIdentity()).startedAt });
    await (await lockFolder(directory)).release();
  });

  it("a lock of another machine, another container, or one nobody can read is kept, and the message says what to do", async () => {
    const foreign = { host: "elsewhere", boot: "another boot" };
    for (const changes of [foreign, { namespace: "pid:[1]" }]) {
      await leaveBehind(changes);
      await expect(lockFolder(directory)).rejects.toMatchObject(inUse("of another machine or container"));
    }
    await writeFile(path(), "");
    await expect(lockFolder(directory)).rejects.toMatchObject(inUse(`delete ${path()}`));
  });

  it("a process is known by its number and its start", async () => {
    const own = await ownIdentity();
    expect(await lifeOf(own)).toBe("alive");
    expect(await lifeOf({ ...own, startedAt: "1" })).toBe("dead");
    expect(await lifeOf({ ...own, pid: 4_194_305 })).toBe("dead");
  });
});
