import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ByteSource } from "../../core/bytes.ts";
import { DeliveryError } from "../../core/errors.ts";
import type { FailureCode } from "../../core/failure-table.ts";
import type { ObjectStore } from "../../drivers/file-transfer/object-store.ts";
import { bodyOf, collect, failingBody } from "../faults/bodies.ts";

/** One empty place of a provider, with ways past the port to set up what a test looks for. */
export interface ObjectStoreRig {
  /** A new store object over the place, with clients of its own. */
  openStore(): ObjectStore;
  /** Writes or replaces an object behind the port's back. */
  replace(key: string, bytes: Uint8Array): Promise<void>;
  /** A store over a bucket or folder that does not exist. */
  openMissing(): ObjectStore;
  /** A store whose identity may neither read nor write. Absent where the rig has no identities. */
  openForbidden?(): ObjectStore;
  /** Leaves an unfinished write in `folder`, started at that instant. Absent where a provider shows none. */
  leaveUnfinished?(folder: string, startedUs: bigint): Promise<void>;
  close(): Promise<void>;
}

const unsafeKeys = [
  "",
  "object",
  "/a/b",
  "a/b/",
  "a//b",
  "a/./b",
  "a/../b",
  "../b",
  "..",
  ".a/b",
  "a/.b",
  "a/b\u0000",
  "a\\b/c",
  "a/b c",
  "a/Caf\u00e9",
  "a/Cafe\u0301",
  "a/b?versionId=1",
  "a/%2e%2e",
  `a/${"b".repeat(201)}`,
];

/** The promises of the port. A store passes this suite unchanged; a skip names what the provider does not have. */
export function objectStoreConformance(name: string, createRig: () => Promise<ObjectStoreRig>): void {
  describe(`object store: ${name}`, () => {
    let rig: ObjectStoreRig;
    let store: ObjectStore;
    const signal = new AbortController().signal;
    const put = (key: string, body: ByteSource, attemptKey = "attempt-1") =>
      store.putIfAbsent(key, body, { contentType: "application/x-ndjson", attemptKey, signal });
    const bytesAt = async (key: string) => collect(await rig.openStore().open(key, { signal }));
    const textAt = async (key: string) => {
      const bytes = await bytesAt(key);
      return bytes === undefined ? undefined : new TextDecoder().decode(bytes);
    };
    const keysBelow = async (folder: string) => {
      const keys: string[] = [];
      for await (const object of store.list(folder, { signal })) keys.push(object.key);
      return keys.sort();
    };

    beforeEach(async () => {
      rig = await createRig();
      store = rig.openStore();
    });
    afterEach(async () => {
      await store.close();
      await rig.close();
    });

    for (const sizeBytes of [0, 1, 64 * 1024, 3 * 1024 * 1024 + 7]) {
      it(`an object of ${sizeBytes} bytes reads back byte for byte`, async () => {
        const bytes = pattern(sizeBytes, 1);
        expect(await put("folder/part-00000.jsonl", bodyOf(bytes, 100_000))).toEqual({ outcome: "created" });
        expect(same(await bytesAt("folder/part-00000.jsonl"), bytes)).toBe(true);
        expect(await store.stat("folder/part-00000.jsonl", { signal })).toMatchObject({ sizeBytes });
      });
    }

    it("B01: a taken key is left as it is, also by other bytes of the same size", async () => {
      await put("a/manifest.json", bodyOf("hello"));
      expect(await put("a/manifest.json", bodyOf("HELLO"), "attempt-2")).toEqual({ outcome: "exists" });
      expect(await put("a/manifest.json", bodyOf("hello"), "attempt-2")).toEqual({ outcome: "exists" });
      expect(await textAt("a/manifest.json")).toBe("hello");
    });

    it("B09: of twenty racing writers exactly one creates, and the object is that writer's, whole", async () => {
      const bodies = Array.from({ length: 20 }, (_, index) => pattern(200_000 + index, index));
      const results = await Promise.all(
        bodies.map((bytes, index) =>
          rig.openStore().putIfAbsent("a/b/raced", bodyOf(bytes, 10_000), {
            contentType: "application/x-ndjson",
            attemptKey: `attempt-${index}`,
            signal,
          }),
        ),
      );
      const winners = results.flatMap((result, index) => (result.outcome === "created" ? [index] : []));
      expect(winners).toHaveLength(1);
      expect(same(await bytesAt("a/b/raced"), bodies[winners[0] ?? -1])).toBe(true);
    });

    const broken: readonly (readonly [string, ByteSource])[] = [
      ["ends early", { ...bodyOf("hello"), sizeBytes: 6 }],
      ["goes on after its size", { ...bodyOf("hello"), sizeBytes: 4 }],
      ["has other bytes of the promised size", { ...bodyOf("hello"), open: bodyOf("HELLO").open }],
    ];
    for (const [what, body] of broken) {
      it(`a body that ${what} is refused and nothing appears at the key`, async () => {
        await expectCode(put("a/object", body), "REVISION_UNREADABLE");
        expect(await textAt("a/object")).toBeUndefined();
        expect(await keysBelow("a")).toEqual([]);
      });
    }

    it("B14: an encoder that fails in the middle leaves nothing at the key, and its own error is the one told", async () => {
      const refused = put(
        "a/object",
        failingBody("hello", () => new DeliveryError("ROW_NOT_ENCODABLE")),
      );
      await expectCode(refused, "ROW_NOT_ENCODABLE");
      await expectCode(
        put(
          "a/object",
          failingBody("hello", () => new Error("source")),
        ),
        "INTERNAL",
      );
      expect(await textAt("a/object")).toBeUndefined();
      expect(await put("a/object", bodyOf("hello"))).toEqual({ outcome: "created" });
    });

    it("an abort passes unchanged and leaves nothing at the key", async () => {
      const reason = new Error("shutting down");
      const aborted = AbortSignal.abort(reason);
      const options = { contentType: "application/json", attemptKey: "attempt-1" };
      await expect(store.putIfAbsent("a/object", bodyOf("x"), { ...options, signal: aborted })).rejects.toBe(reason);
      await expect(store.open("a/object", { signal: aborted })).rejects.toBe(reason);

      const controller = new AbortController();
      const whole = bodyOf(pattern(300_000, 3), 10_000);
      const body: ByteSource = {
        ...whole,
        async *open() {
          let chunks = 0;
          for await (const chunk of whole.open()) {
            if (++chunks === 10) controller.abort(reason);
            yield chunk;
          }
        },
      };
      await expect(store.putIfAbsent("a/object", body, { ...options, signal: controller.signal })).rejects.toBe(reason);
      expect(await textAt("a/object")).toBeUndefined();
    });

    it("an absent object is undefined to open and stat, and its removal is a success", async () => {
      await put("a/other", bodyOf("x"));
      for (const key of ["a/object", "no/such/folder/object"]) {
        expect(await store.open(key, { signal })).toBeUndefined();
        expect(await store.stat(key, { signal })).toBeUndefined();
        await store.remove(key, { signal });
      }
      expect(await textAt("a/other")).toBe("x");
    });

    it("what was replaced behind its back is read as it is now: nothing is cached", async () => {
      await put("a/object", bodyOf("hello"));
      expect(await textAt("a/object")).toBe("hello");
      await rig.replace("a/object", new TextEncoder().encode("HELLO!"));
      expect(new TextDecoder().decode(await collect(await store.open("a/object", { signal })))).toBe("HELLO!");
      expect(await store.stat("a/object", { signal })).toMatchObject({ sizeBytes: 6 });
    });

    it("a sha256 in stat, where a store answers one, is of the stored bytes", async () => {
      const body = bodyOf("hello");
      await put("a/object", body);
      const facts = await store.stat("a/object", { signal });
      expect([undefined, body.sha256]).toContain(facts?.sha256);
    });

    it("B07: a version that is not the stored one is never answered with other bytes", async () => {
      await put("a/object", bodyOf("hello"));
      const answer = await store.open("a/object", { nativeVersion: "no-such-version", signal }).catch((error) => error);
      if (answer !== undefined) expect(answer).toBeInstanceOf(DeliveryError);
      const version = (await store.stat("a/object", { signal }))?.nativeVersion;
      if (version === undefined) return;
      const bytes = await collect(await store.open("a/object", { nativeVersion: version, signal }));
      expect(new TextDecoder().decode(bytes)).toBe("hello");
    });

    it("removes one object, again without complaint, and it can be created anew", async () => {
      await put("a/b/one", bodyOf("1"));
      await put("a/b/two", bodyOf("2"));
      await store.remove("a/b/one", { signal });
      await store.remove("a/b/one", { signal });
      expect(await keysBelow("a")).toEqual(["a/b/two"]);
      await store.remove("a/b/two", { signal });
      expect(await put("a/b/two", bodyOf("22"))).toEqual({ outcome: "created" });
      expect(await textAt("a/b/two")).toBe("22");
    });

    it("lists what is below a folder, not what only starts with its name", async () => {
      for (const key of ["a/b/one", "a/b/c/two", "a/bc/three", "d/four"]) await put(key, bodyOf(key));
      expect(await keysBelow("a/b")).toEqual(["a/b/c/two", "a/b/one"]);
      expect(await keysBelow("")).toEqual(["a/b/c/two", "a/b/one", "a/bc/three", "d/four"]);
      expect(await keysBelow("e")).toEqual([]);
    });

    for (const key of unsafeKeys) {
      it(`B18: the key ${JSON.stringify(key).slice(0, 24)} is refused by every method`, async () => {
        await expectCode(put(key, bodyOf("x")), "DESTINATION_UNSAFE");
        await expectCode(store.open(key, { signal }), "DESTINATION_UNSAFE");
        await expectCode(store.stat(key, { signal }), "DESTINATION_UNSAFE");
        await expectCode(store.remove(key, { signal }), "DESTINATION_UNSAFE");
        expect(await keysBelow("")).toEqual([]);
      });
    }

    it("a place that does not exist is DESTINATION_MISSING, and is not made", async () => {
      const missing = rig.openMissing();
      const options = { contentType: "application/json", attemptKey: "attempt-1", signal };
      for (let round = 0; round < 2; round++) {
        await expectCode(missing.putIfAbsent("a/object", bodyOf("x"), options), "DESTINATION_MISSING");
        await expectCode(missing.open("a/object", { signal }), "DESTINATION_MISSING");
        await expectCode(missing.stat("a/object", { signal }), "DESTINATION_MISSING");
      }
      await missing.close();
    });

    it("a refused identity is DESTINATION_FORBIDDEN, never an absent object", async (context) => {
      const forbidden = rig.openForbidden?.();
      if (forbidden === undefined) return context.skip("the rig has no identities");
      await put("a/object", bodyOf("hello"));
      const options = { contentType: "application/json", attemptKey: "attempt-1", signal };
      await expectCode(forbidden.putIfAbsent("a/new", bodyOf("x"), options), "DESTINATION_FORBIDDEN");
      await expectCode(forbidden.open("a/object", { signal }), "DESTINATION_FORBIDDEN");
      await expectCode(forbidden.stat("a/object", { signal }), "DESTINATION_FORBIDDEN");
      await forbidden.close();
    });

    it("B03: unfinished writes are collected by age, are never listed, and objects stay", async (context) => {
      if (rig.leaveUnfinished === undefined) return context.skip("the provider shows no unfinished writes");
      await put("a/b/object", bodyOf("x"));
      await rig.leaveUnfinished("a/b", 1_000_000n);
      await rig.leaveUnfinished("a/b", 9_000_000n);
      await rig.leaveUnfinished("c", 1_000_000n);
      expect(await keysBelow("")).toEqual(["a/b/object"]);
      expect(await store.collectLeftovers("a/b", { signal, startedBeforeUs: 5_000_000n })).toBe(1);
      expect(await store.collectLeftovers("a/b", { signal })).toBe(1);
      expect(await store.collectLeftovers("a/b", { signal })).toBe(0);
      expect(await store.collectLeftovers("", { signal })).toBe(1);
      expect(await textAt("a/b/object")).toBe("x");
    });

    it("its location is a URL without credentials or query", () => {
      const location = new URL(store.location);
      expect([location.username, location.password, location.search, location.hash]).toEqual(["", "", "", ""]);
    });
  });
}

async function expectCode(call: Promise<unknown>, code: FailureCode): Promise<void> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(DeliveryError);
  expect(error).toMatchObject({ code, message: code });
}

function pattern(sizeBytes: number, seed: number): Uint8Array {
  const bytes = new Uint8Array(sizeBytes);
  for (let index = 0; index < sizeBytes; index++) bytes[index] = (index * 31 + seed * 7) & 0xff;
  return bytes;
}

/** A comparison that does not print megabytes when it fails. */
function same(actual: Uint8Array | undefined, expected: Uint8Array | undefined): boolean {
  return actual !== undefined && expected !== undefined && Buffer.compare(actual, expected) === 0;
}
