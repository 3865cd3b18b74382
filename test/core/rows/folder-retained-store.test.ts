import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, truncate, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ByteSource } from "../../../core/bytes.ts";
import { nodeHasher } from "../../../core/digest/node-hasher.ts";
import { DeliveryError } from "../../../core/errors.ts";
import { pathSegment } from "../../../core/model/id.ts";
import { createFolderRetainedStore } from "../../../core/rows/folder-retained-store.ts";
import type { RetainedRevision, RetainedStore } from "../../../core/rows/retained.ts";
import { generatedRows } from "../../../fixtures/generator.ts";
import { type RetainWorld, refusalOf, retainWorld } from "./retain-world.ts";

let world: RetainWorld;
let retained: RetainedRevision;
let parts: Map<string, ByteSource>;
let id: string;

/** A retained revision of two parts that no store has seen yet. */
beforeEach(async () => {
  world = await retainWorld();
  parts = new Map();
  const capture: RetainedStore = {
    ...world.store,
    put: async (_, __, given) => {
      for (const [name, source] of given) parts.set(name, inMemory(Buffer.concat(await collect(source.open()))));
    },
  };
  ({ retained } = await world.retain(generatedRows({ rows: 30 }), { store: capture, rowsPerPart: 20 }));
  id = retained.revision.reporting_revision_id;
});
afterEach(() => world.remove());

async function collect(bytes: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  return chunks;
}

function inMemory(bytes: Uint8Array): ByteSource {
  return {
    sizeBytes: bytes.length,
    sha256: createHash("sha256").update(bytes).digest("hex"),
    async *open() {
      yield bytes.subarray(0, 100);
      yield bytes.subarray(100);
    },
  };
}

const put = () => world.store.put(retained, world.documents, parts);

async function folder(): Promise<string> {
  const [name] = (await readdir(world.retainedFolder)).filter((entry) => entry.startsWith("r_"));
  return join(world.retainedFolder, name ?? "none");
}

async function code(promise: Promise<unknown>): Promise<string> {
  const error = await promise.catch((thrown: unknown) => thrown);
  if (error instanceof DeliveryError) return error.code;
  throw error instanceof Error ? error : new Error("no error");
}

const readAll = async () => {
  for (const part of retained.parts) await collect(world.store.openPart(id, part));
};

describe("folder retained store", () => {
  it("gives back what was put: record, documents and parts", async () => {
    await put();
    const described = await world.store.describe(id);
    expect(described).toEqual({ retained, documents: world.documents });
    for (const part of retained.parts) {
      const bytes = Buffer.concat(await collect(world.store.openPart(id, part)));
      expect(createHash("sha256").update(bytes).digest("hex")).toBe(part.sha256);
    }
    expect(await readdir(await folder())).toEqual([
      "canonicalization.json",
      "definition.json",
      "revision.json",
      "row-schema.json",
      "rows-00000.parquet",
      "rows-00001.parquet",
    ]);
  });

  it("knows nothing of a revision that was never put", async () => {
    expect(await world.store.describe("rev_unknown")).toBeUndefined();
    await put();
    expect(await world.store.describe("rev_unknown")).toBeUndefined();
  });

  it("equal content again is success, other content under the same id a conflict that changes nothing", async () => {
    await put();
    const before = await readFile(join(await folder(), "revision.json"));
    await put();
    const other = { ...retained, revision: { ...retained.revision, observed_at: "2026-03-09T07:00:00Z" } };
    expect(await code(world.store.put(other, world.documents, parts))).toBe("CONTENT_CONFLICT");
    expect(await readFile(join(await folder(), "revision.json"))).toEqual(before);
  });

  it("of racing equal writers all succeed and one folder is there", async () => {
    await Promise.all([
      put(),
      put(),
      createFolderRetainedStore(world.retainedFolder).put(retained, world.documents, parts),
    ]);
    expect(await readdir(world.retainedFolder)).toHaveLength(1);
    await readAll();
  });

  it("of racing different writers one succeeds and the others end as conflict", async () => {
    const variants = [0, 1, 2].map((second) => ({
      ...retained,
      revision: { ...retained.revision, observed_at: `2026-03-09T07:00:0${second}Z` },
    }));
    const outcomes = await Promise.allSettled(
      variants.map((variant) => world.store.put(variant, world.documents, parts)),
    );
    const failures = outcomes.filter((outcome) => outcome.status === "rejected");
    expect(failures.map(({ reason }) => (reason instanceof DeliveryError ? reason.code : reason))).toEqual([
      "CONTENT_CONFLICT",
      "CONTENT_CONFLICT",
    ]);
    await readAll();
  });

  it("a writer that dies while it writes leaves nothing that is read, and the next one succeeds", async () => {
    const [, second] = retained.parts;
    const dying: ByteSource = {
      ...(parts.get(second?.name ?? "") as ByteSource),
      async *open() {
        yield new Uint8Array(10);
        throw new Error("the disk is gone");
      },
    };
    const broken = new Map(parts).set(second?.name ?? "", dying);
    await expect(world.store.put(retained, world.documents, broken)).rejects.toThrow("the disk is gone");
    expect(await readdir(world.retainedFolder)).toEqual([]);
    // What a killed process cannot remove: a staging folder, complete or not.
    await mkdir(join(world.retainedFolder, ".put-killed"));
    await writeFile(join(world.retainedFolder, ".put-killed", "revision.json"), "{");
    expect(await world.store.describe(id)).toBeUndefined();
    await put();
    await readAll();
  });

  it("what a writer left that died more than a day ago goes with the next put, what is younger stays", async () => {
    for (const [name, hours] of [
      [".put-old", 25],
      [".put-young", 23],
    ] as const) {
      const path = join(world.retainedFolder, name);
      await mkdir(path, { recursive: true });
      await writeFile(join(path, "rows-00000.parquet"), "");
      const then = Date.now() / 1000 - hours * 3600;
      await utimes(path, then, then);
    }
    await put();
    expect((await readdir(world.retainedFolder)).filter((name) => name.startsWith("."))).toEqual([".put-young"]);
  });

  it("bytes that are not those of the record are refused and not kept", async () => {
    const [first] = retained.parts;
    const wrong = new Map(parts).set(first?.name ?? "", inMemory(new Uint8Array(first?.sizeBytes ?? 0)));
    await expect(world.store.put(retained, world.documents, wrong)).rejects.toThrow(/rows-00000.parquet/);
    await expect(world.store.put(retained, world.documents, new Map())).rejects.toThrow(
      /rows-00000.parquet was not given/,
    );
    expect(await readdir(world.retainedFolder)).toEqual([]);
  });

  for (const [title, damage] of [
    [
      "one changed byte",
      async (path: string) => {
        const bytes = await readFile(path);
        bytes[50] = (bytes[50] ?? 0) ^ 1;
        await writeFile(path, bytes);
      },
    ],
    ["a missing tail", async (path: string) => truncate(path, 100)],
    ["an added tail", async (path: string) => writeFile(path, "x", { flag: "a" })],
    ["nothing there", async (path: string) => rm(path)],
  ] as const) {
    it(`a part with ${title} is REVISION_UNREADABLE, also when it is put again`, async () => {
      await put();
      await damage(join(await folder(), "rows-00001.parquet"));
      expect(await code(readAll())).toBe("REVISION_UNREADABLE");
      expect(await code(put())).toBe("REVISION_UNREADABLE");
    });

    it(`a document with ${title} is REVISION_UNREADABLE`, async () => {
      await put();
      await damage(join(await folder(), "row-schema.json"));
      expect(await code(world.store.describe(id))).toBe("REVISION_UNREADABLE");
    });
  }

  it("a changed digit in the record is REVISION_UNREADABLE", async () => {
    await put();
    const path = join(await folder(), "revision.json");
    const text = await readFile(path, "utf8");
    const changed = text.replace(/"row_count":30\b/, '"row_count":31');
    expect(changed).not.toBe(text);
    await writeFile(path, changed);
    expect(await code(world.store.describe(id))).toBe("REVISION_UNREADABLE");
    await writeFile(path, "{");
    expect(await code(world.store.describe(id))).toBe("REVISION_UNREADABLE");
  });

  it("the folder of one revision under the name of another is REVISION_UNREADABLE", async () => {
    await put();
    await rename(await folder(), join(world.retainedFolder, pathSegment("r", "..", nodeHasher("sha256"))));
    expect(await code(world.store.describe(".."))).toBe("REVISION_UNREADABLE");
    expect(await world.store.describe(id)).toBeUndefined();
  });

  it("a part name that is no part name never becomes a path", async () => {
    await put();
    const part = { name: "../../secret", sizeBytes: 1, sha256: "0".repeat(64), rowCount: 0 };
    await writeFile(join(world.directory, "secret"), "s");
    expect(() => world.store.openPart(id, part)).toThrow("REVISION_UNREADABLE");
  });

  it("a folder that cannot be written is a problem of configuration", async () => {
    await writeFile(join(world.directory, "file"), "");
    const store = createFolderRetainedStore(join(world.directory, "file", "retained"));
    const error = await refusalOf(store.put(retained, world.documents, parts));
    expect([error.kind, error.problems[0]?.code]).toEqual(["usage", "STORE_UNUSABLE"]);
  });

  it("a folder without room is a problem that a retry may outlive, and keeps nothing", async () => {
    const [first] = retained.parts;
    const full: ByteSource = {
      ...(parts.get(first?.name ?? "") as ByteSource),
      // biome-ignore lint/correctness/useYield: it fails before its first byte
      async *open() {
        throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
      },
    };
    const error = await refusalOf(
      world.store.put(retained, world.documents, new Map(parts).set(first?.name ?? "", full)),
    );
    expect([error.kind, error.problems[0]?.code]).toEqual(["unreachable", "STORE_FULL"]);
    expect(await readdir(world.retainedFolder)).toEqual([]);
  });
});
