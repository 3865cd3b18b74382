import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { FailureCode } from "../../../../core/failure-table.ts";
import { nodeFileSystem } from "../../../../drivers/file-transfer/local/file-system.ts";
import { createLocalStore } from "../../../../drivers/file-transfer/local/store.ts";
import type { ObjectStore } from "../../../../drivers/file-transfer/object-store.ts";
import {
  type Around,
  aroundFileSystem,
  type Call,
  crashAt,
  failWhere,
  recordCalls,
  systemError,
} from "../../../faults/around.ts";
import { bodyOf, collect } from "../../../faults/bodies.ts";
import { repositoryRoot } from "../../../servers/peers.ts";

const signal = new AbortController().signal;
const racer = join(repositoryRoot, ".cache/test-build/test/processes/local-store-racer.js");

describe("local store", () => {
  let base: string;
  let root: string;

  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), "waybill-local-"));
    root = join(base, "root");
    await mkdir(root);
  });
  afterEach(() => rm(base, { recursive: true, force: true }));

  const storeOn = (around?: Around): ObjectStore =>
    createLocalStore(around === undefined ? { root } : { root, fileSystem: aroundFileSystem(nodeFileSystem, around) });
  const put = (store: ObjectStore, key: string, text: string) =>
    store.putIfAbsent(key, bodyOf(text, 2), { contentType: "text/plain", attemptKey: "attempt/1 é", signal });
  const textAt = async (key: string) => {
    const bytes = await collect(await storeOn().open(key, { signal }));
    return bytes === undefined ? undefined : new TextDecoder().decode(bytes);
  };

  describe("never follows a symbolic link below its root", () => {
    it("a linked folder is refused by every method and nothing is written behind it", async () => {
      await mkdir(join(base, "elsewhere"));
      await writeFile(join(base, "elsewhere", "object"), "secret");
      await symlink(join(base, "elsewhere"), join(root, "a"));
      const store = storeOn();
      await rejects(put(store, "a/new", "x"), "DESTINATION_UNSAFE");
      await rejects(put(store, "a/b/new", "x"), "DESTINATION_UNSAFE");
      await rejects(store.open("a/object", { signal }), "DESTINATION_UNSAFE");
      await rejects(store.stat("a/object", { signal }), "DESTINATION_UNSAFE");
      await rejects(store.remove("a/object", { signal }), "DESTINATION_UNSAFE");
      expect(await readdir(join(base, "elsewhere"))).toEqual(["object"]);
      expect(await keysOf(store)).toEqual([]);
    });

    it("a linked object is refused by every method that reads, and a put does not replace what it points to", async () => {
      await writeFile(join(base, "secret"), "secret");
      await mkdir(join(root, "a"));
      await symlink(join(base, "secret"), join(root, "a", "object"));
      const store = storeOn();
      await rejects(store.open("a/object", { signal }), "DESTINATION_UNSAFE");
      await rejects(store.stat("a/object", { signal }), "DESTINATION_UNSAFE");
      await rejects(put(store, "a/object", "x"), "DESTINATION_UNSAFE");
      expect(await readFile(join(base, "secret"), "utf8")).toBe("secret");
      expect(await keysOf(store)).toEqual([]);
      await store.remove("a/object", { signal });
      expect(existsSync(join(base, "secret"))).toBe(true);
    });

    it("a link that points nowhere is refused, as a folder and as an object", async () => {
      await symlink(join(base, "nowhere"), join(root, "a"));
      await mkdir(join(root, "b"));
      await symlink(join(base, "nowhere"), join(root, "b", "object"));
      await rejects(put(storeOn(), "a/object", "x"), "DESTINATION_UNSAFE");
      await rejects(put(storeOn(), "b/object", "x"), "DESTINATION_UNSAFE");
      expect(existsSync(join(base, "nowhere"))).toBe(false);
    });

    it("a link that appears between the look and the open is not read", async () => {
      await put(storeOn(), "a/object", "hello");
      await writeFile(join(base, "secret"), "secret");
      const store = storeOn(async (call, act) => {
        if (call.method === "open") {
          await rm(join(root, "a", "object"));
          await symlink(join(base, "secret"), join(root, "a", "object"));
        }
        return act();
      });
      const stream = await store.open("a/object", { signal });
      await rejects(collect(stream), "DESTINATION_UNSAFE");
    });

    it("a folder or a pipe at the name of an object is refused, and does not hang", async () => {
      await mkdir(join(root, "a", "object"), { recursive: true });
      execFileSync("mkfifo", [join(root, "a", "pipe")]);
      for (const key of ["a/object", "a/pipe"]) {
        await rejects(storeOn().open(key, { signal }), "DESTINATION_UNSAFE");
        await rejects(put(storeOn(), key, "x"), "DESTINATION_UNSAFE");
      }
    });

    it("the root itself may be a link, as a mount point often is", async () => {
      await symlink(root, join(base, "link"));
      const store = createLocalStore({ root: join(base, "link") });
      await put(store, "a/object", "hello");
      expect(await textAt("a/object")).toBe("hello");
    });
  });

  it("a folder that differs only in case is refused where the file system folds case", async () => {
    const store = storeOn(async (call, act) => {
      const result = await act();
      // Such a file system answers the spelling that was stored first.
      return call.method === "realpath" && typeof result === "string"
        ? (result.replace("/acme", "/Acme") as typeof result)
        : result;
    });
    await rejects(put(store, "acme/object", "x"), "DESTINATION_UNSAFE");
  });

  it("a file in place of the root, or of a folder, is told as what it is", async () => {
    await writeFile(join(base, "file"), "");
    const store = createLocalStore({ root: join(base, "file") });
    await rejects(put(store, "a/object", "x"), "DESTINATION_MISSING");
    await writeFile(join(root, "a"), "");
    await rejects(put(storeOn(), "a/object", "x"), "DESTINATION_UNSAFE");
    await rejects(storeOn().open("a/b/object", { signal }), "DESTINATION_UNSAFE");
  });

  it("writes, syncs, links, syncs the folder and only then drops the temporary name", async () => {
    const recorder = recordCalls();
    await put(storeOn(recorder.around), "a/object", "hello");
    const steps = recorder.calls.filter(({ method }) => !["lstat", "realpath", "open", "close"].includes(method));
    expect(steps.map(({ method }) => method)).toEqual([
      "mkdir",
      "sync",
      "write",
      "write",
      "write",
      "sync",
      "link",
      "sync",
      "unlink",
    ]);
    expect(await readdir(join(root, "a"))).toEqual(["object"]);
  });

  it("a short write is continued", async () => {
    const recorder = recordCalls();
    const fileSystem = aroundFileSystem(nodeFileSystem, recorder.around);
    const store = createLocalStore({
      root,
      fileSystem: {
        ...fileSystem,
        open: async (path, flags, mode) => {
          const file = await fileSystem.open(path, flags, mode);
          return {
            write: (bytes, offset, length) => file.write(bytes, offset, Math.min(length, 3)),
            read: (into, offset, length, position) => file.read(into, offset, length, position),
            sync: () => file.sync(),
            stat: () => file.stat(),
            close: () => file.close(),
          };
        },
      },
    });
    const options = { contentType: "text/plain", attemptKey: "1", signal };
    await store.putIfAbsent("a/object", bodyOf("hello, world"), options);
    expect(recorder.calls.filter(({ method }) => method === "write")).toHaveLength(4);
    expect(await textAt("a/object")).toBe("hello, world");
  });

  const meanings: readonly (readonly [string, string, FailureCode])[] = [
    ["write", "ENOSPC", "DESTINATION_FULL"],
    ["sync", "ENOSPC", "DESTINATION_FULL"],
    ["write", "EDQUOT", "DESTINATION_FULL"],
    ["close", "EDQUOT", "DESTINATION_FULL"],
    ["mkdir", "ENOSPC", "DESTINATION_FULL"],
    ["link", "ENOSPC", "DESTINATION_FULL"],
    ["open", "EACCES", "DESTINATION_FORBIDDEN"],
    ["open", "EPERM", "DESTINATION_FORBIDDEN"],
    ["open", "EROFS", "DESTINATION_FORBIDDEN"],
    ["mkdir", "EROFS", "DESTINATION_FORBIDDEN"],
    ["mkdir", "EACCES", "DESTINATION_FORBIDDEN"],
    ["realpath", "EACCES", "DESTINATION_FORBIDDEN"],
    ["realpath", "ENOENT", "DESTINATION_MISSING"],
    ["link", "EPERM", "DESTINATION_UNSAFE"],
    ["link", "ENOTSUP", "DESTINATION_UNSAFE"],
    ["write", "EIO", "DESTINATION_UNREACHABLE"],
    ["lstat", "ESTALE", "DESTINATION_UNREACHABLE"],
    ["open", "EMFILE", "INTERNAL"],
  ];
  for (const [method, errno, code] of meanings) {
    it(`${errno} from ${method} is ${code}, and no object and no temporary file stay behind`, async () => {
      const refused = put(storeOn(failWhere(on(method), { error: () => systemError(errno) })), "a/object", "hello");
      await rejects(refused, code);
      expect(await filesBelow(root)).toEqual([]);
      expect(await put(storeOn(), "a/object", "hello")).toEqual({ outcome: "created" });
    });
  }

  it("a full disk is DESTINATION_FULL and leaves nothing behind", async (context) => {
    const small = join(base, "small");
    await mkdir(small);
    try {
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", small], { stdio: "ignore" });
    } catch {
      return context.skip("a small file system cannot be mounted here");
    }
    try {
      const store = createLocalStore({ root: small });
      await rejects(put(store, "a/object", "x".repeat(200_000)), "DESTINATION_FULL");
      expect(await filesBelow(small)).toEqual([]);
      expect(await put(store, "a/object", "hello")).toEqual({ outcome: "created" });
      execFileSync("mount", ["-o", "remount,ro", small]);
      await rejects(put(store, "a/other", "hello"), "DESTINATION_FORBIDDEN");
    } finally {
      execFileSync("umount", [small]);
    }
  });

  it("the version of an object is never answered: files have none", async () => {
    await put(storeOn(), "a/object", "hello");
    await rejects(storeOn().open("a/object", { nativeVersion: "1", signal }), "DESTINATION_UNSAFE");
  });

  it("the last object takes its empty folders along, the root stays", async () => {
    const store = storeOn();
    await put(store, "a/b/c/one", "1");
    await put(store, "a/two", "2");
    await store.remove("a/b/c/one", { signal });
    expect(await readdir(join(root, "a"))).toEqual(["two"]);
    await store.remove("a/two", { signal });
    expect(await readdir(root)).toEqual([]);
  });

  describe("killed at any call to the operating system", () => {
    for (const when of ["before", "after"] as const) {
      it(`${when} it: the object is absent or whole, and the next put ends with it whole`, async () => {
        const recorder = recordCalls();
        await put(storeOn(recorder.around), "a/b/object", "hello");
        await rm(join(root, "a"), { recursive: true });
        expect(recorder.calls.length).toBeGreaterThan(15);

        for (let n = 0; n < recorder.calls.length; n++) {
          await put(storeOn(crashAt(n, when)), "a/b/object", "hello").catch(() => undefined);
          expect([undefined, "hello"]).toContain(await textAt("a/b/object"));
          await put(storeOn(), "a/b/object", "hello");
          expect(await textAt("a/b/object")).toBe("hello");
          await storeOn().collectLeftovers("a/b", { signal });
          expect(await filesBelow(root)).toEqual(["object"]);
          await rm(join(root, "a"), { recursive: true });
        }
      });
    }
  });

  it("two processes that create the same keys: each key has exactly one winner, whole", async () => {
    const keys = Array.from({ length: 40 }, (_, index) => `race/${index % 4}/part-${index}`);
    const racers = ["one", "two"].map((name) => {
      const child = spawn(process.execPath, [racer, root, name, ...keys], { stdio: ["pipe", "pipe", "inherit"] });
      return {
        child,
        lines: createInterface({ input: child.stdout })[Symbol.asyncIterator](),
        exit: once(child, "exit"),
      };
    });
    for (const { lines } of racers) expect((await lines.next()).value).toBe("ready");
    for (const { child } of racers) child.stdin.write("go\n");
    const created: string[][] = [];
    for (const { lines, exit } of racers) {
      created.push(JSON.parse((await lines.next()).value));
      expect((await exit)[0]).toBe(0);
    }
    expect(created.flat().sort()).toEqual([...keys].sort());
    for (const [index, name] of ["one", "two"].entries()) {
      for (const key of created[index] ?? []) expect(await textAt(key)).toBe(`${name} `.repeat(20_000));
    }
    expect(await storeOn().collectLeftovers("", { signal })).toBe(0);
  });
});

function on(method: string): (call: Call) => boolean {
  return (call) => call.method === method;
}

async function rejects(call: Promise<unknown>, code: FailureCode): Promise<void> {
  await expect(call).rejects.toMatchObject({ name: "DeliveryError", code });
}

async function keysOf(store: ObjectStore): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list("", { signal })) keys.push(key);
  return keys;
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
}
