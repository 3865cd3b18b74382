import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openSpool, type Spool } from "../../workers/spool.ts";
import { signal } from "../conformance/queue.ts";
import { systemError } from "../faults/around.ts";

describe("the spool", () => {
  let directory: string;
  let spool: Spool;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "waybill-spool-"));
    spool = await openSpool({ directory });
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  const filled =
    (text: string) =>
    (target: string): Promise<void> =>
      writeFile(join(target, "part"), text);
  const never = (): Promise<void> => Promise.reject(new Error("it was made again"));
  const names = async (): Promise<readonly string[]> => (await readdir(directory)).sort();

  it("makes a folder once and hands it to whoever asks later", async () => {
    const made = await spool.use("a", filled("1"));
    const again = await spool.use("a", never);
    expect(again.directory).toBe(made.directory);
    expect(await readFile(join(again.directory, "part"), "utf8")).toBe("1");
  });

  it("lets one of several callers at once make it while the others wait for it", async () => {
    const mayEnd = signal();
    let made = 0;
    const make = async (target: string): Promise<void> => {
      made++;
      await mayEnd.fired;
      await filled("1")(target);
    };
    const asked = [spool.use("a", make), spool.use("a", make), spool.use("a", make)];
    mayEnd.fire();
    const folders = await Promise.all(asked);
    expect(made).toBe(1);
    expect(new Set(folders.map((folder) => folder.directory)).size).toBe(1);
  });

  it("never shows a folder under its name before it is complete, and leaves nothing of one that failed", async () => {
    const failing = spool.use("a", async (target) => {
      await filled("half")(target);
      expect(await names()).toEqual([expect.stringMatching(/^\./)]);
      throw new Error("disk full");
    });
    await expect(failing).rejects.toThrow("disk full");
    expect(await names()).toEqual([]);
    await spool.use("a", filled("whole"));
    expect(await readFile(join(directory, "a", "part"), "utf8")).toBe("whole");
  });

  it("makes a folder inside the making of another", async () => {
    await spool.use("encoded", async (target) => {
      const rows = await spool.use("retained", filled("rows"));
      await filled(await readFile(join(rows.directory, "part"), "utf8"))(target);
      rows.release();
    });
    expect(await names()).toEqual(["encoded", "retained"]);
  });

  it("removes what a killed process left half made when it opens, and keeps what was complete", async () => {
    await spool.use("a", filled("1"));
    await mkdir(join(directory, ".tmp-dead"));
    await writeFile(join(directory, ".tmp-dead", "part"), "half");
    const reopened = await openSpool({ directory });
    expect(await names()).toEqual(["a"]);
    await reopened.use("a", never);
  });

  it("drops the folders of a prefix, so that they are made again", async () => {
    (await spool.use("r1-csv", filled("1"))).release();
    (await spool.use("r2-csv", filled("1"))).release();
    await spool.drop("r1");
    expect(await names()).toEqual(["r2-csv"]);
  });

  it("a dropped folder in use stays for its holder and is given to nobody else, also after a restart", async () => {
    const held = await spool.use("r1-json", filled("damaged"));
    await spool.drop("r1");
    expect(await readFile(join(held.directory, "part"), "utf8")).toBe("damaged");
    const anew = await spool.use("r1-json", filled("sound"));
    expect(await readFile(join(anew.directory, "part"), "utf8")).toBe("sound");
    held.release();
    anew.release();
    await spool.trim();
    expect(await names()).toEqual([basename(anew.directory)]);
    const again = await (await openSpool({ directory })).use("r1-json", never);
    expect(again.directory).toBe(anew.directory);
  });

  it("does not fail the caller that waited when the caller that made it gave up", async () => {
    const started = signal();
    const mayFail = signal();
    const first = spool.use("a", async () => {
      started.fire();
      await mayFail.fired;
      throw new DOMException("its own abort", "AbortError");
    });
    await started.fired;
    const second = spool.use("a", filled("1"));
    mayFail.fire();
    await expect(first).rejects.toThrow("its own abort");
    expect(await readFile(join((await second).directory, "part"), "utf8")).toBe("1");
  });

  it("on a full disk removes what nobody uses and makes the folder once more", async () => {
    (await spool.use("old", filled("1"))).release();
    const held = await spool.use("held", filled("1"));
    let tries = 0;
    const full = async (target: string): Promise<void> => {
      await filled("1")(target);
      if (tries++ === 0) throw systemError("ENOSPC");
    };
    await spool.use("new", full);
    expect(await names()).toEqual(["held", "new"]);
    held.release();
  });

  it("on a full disk with nothing to remove says so", async () => {
    const held = await spool.use("held", filled("1"));
    await expect(spool.use("new", () => Promise.reject(systemError("ENOSPC")))).rejects.toMatchObject({
      code: "ENOSPC",
    });
    expect(await names()).toEqual(["held"]);
    held.release();
  });

  describe("with a quota", () => {
    const at = async (name: string, seconds: number): Promise<void> =>
      utimes(join(directory, name), new Date(seconds * 1000), new Date(seconds * 1000));

    beforeEach(async () => {
      spool = await openSpool({ directory, quotaBytes: 25 });
    });

    it("trims what was not used for longest until the rest fits", async () => {
      for (const [name, used] of [
        ["a", 2],
        ["b", 1],
        ["c", 3],
      ] as const) {
        (await spool.use(name, filled("0123456789"))).release();
        await at(name, used);
      }
      expect(await spool.trim()).toBe(20);
      expect(await names()).toEqual(["a", "c"]);
    });

    it("counts a folder that is asked for again as used now", async () => {
      for (const [name, used] of [
        ["a", 1],
        ["b", 2],
        ["c", 3],
      ] as const) {
        (await spool.use(name, filled("0123456789"))).release();
        await at(name, used);
      }
      (await spool.use("a", never)).release();
      await spool.trim();
      expect(await names()).toEqual(["a", "c"]);
    });

    it("keeps what is in use although it does not fit", async () => {
      const held = await spool.use("a", filled("0".repeat(100)));
      const twice = await spool.use("a", never);
      held.release();
      expect(await spool.trim()).toBe(100);
      expect(await names()).toEqual(["a"]);
      twice.release();
      expect(await spool.trim()).toBe(0);
      expect(await names()).toEqual([]);
    });

    it("does not count or touch what is being made", async () => {
      const started = signal();
      const mayEnd = signal();
      const making = spool.use("a", async (target) => {
        await filled("0".repeat(100))(target);
        started.fire();
        await mayEnd.fired;
      });
      await started.fired;
      expect(await spool.trim()).toBe(0);
      mayEnd.fire();
      const folder = await making;
      expect(await readdir(folder.directory)).toEqual(["part"]);
    });
  });
});
