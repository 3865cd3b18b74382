import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { WaybillError } from "../../../core/errors.ts";
import { jobId } from "../../../workers/dispatcher.ts";
import { type BullmqQueueOptions, checkRedis, createBullmqQueue } from "../../../workers/queue/bullmq.ts";
import type { Queue } from "../../../workers/queue/queue.ts";
import { collect, jobOf, queueConformance, signal } from "../../conformance/queue.ts";
import { describePeer } from "../../servers/peers.ts";
import { freePort } from "../../servers/process.ts";
import { type RedisServer, startRedis } from "../../servers/redis.ts";

let prefixes = 0;
/** Every queue of a test its own key space. */
const aPrefix = (): string => `test-${++prefixes}`;

describePeer("redis", "BullMQ on a real Redis", () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis?.stop());

  const open = (changes: Partial<BullmqQueueOptions> = {}): Queue =>
    createBullmqQueue({ url: redis.url, prefix: aPrefix(), onTrouble: () => undefined, ...changes });

  queueConformance("BullMQ", async () => ({ queue: open(), close: async () => undefined }));

  describe("what Redis keeps", () => {
    const opened: Queue[] = [];
    afterEach(async () => {
      await Promise.all(opened.splice(0).map((queue) => queue.close(1_000)));
    });
    const shared = (prefix: string): Queue => {
      const queue = open({ prefix });
      opened.push(queue);
      return queue;
    };

    it("a job added by one process runs in another, once", async () => {
      const prefix = aPrefix();
      const [producer, one, other] = [shared(prefix), shared(prefix), shared(prefix)];
      const first = collect(one);
      const second = collect(other);
      for (const word of ["a", "b", "c", "d"]) await producer.add(jobOf(word));
      await producer.idle();
      expect([...first.ids(), ...second.ids()].sort()).toEqual(["j_a", "j_b", "j_c", "j_d"]);
    });

    it("nothing of a finished job stays", async () => {
      const prefix = aPrefix();
      const queue = shared(prefix);
      collect(queue);
      await queue.add(jobOf("a"));
      await queue.idle();
      const client = new Redis(redis.url);
      try {
        expect((await client.keys(`${prefix}:*`)).filter((key) => key.includes("j_a"))).toEqual([]);
      } finally {
        client.disconnect();
      }
    });

    it.each([
      ["B70", 'mat of "acct:1":1', 1n],
      ["B70", "https://acct.example:8443/a:b:c:d", -5n],
      ["B71", "1772946000", 1772946000n],
      ["B71", "00123", 0n],
    ])("%s: the id of %s is one that the queue takes", async (_case, materializationId, runAtUs) => {
      const id = jobId(materializationId, runAtUs);
      expect(id).toMatch(/^[A-Za-z][A-Za-z0-9_-]+$/);
      expect(jobId(materializationId, runAtUs)).toBe(id);
      expect(jobId(materializationId, runAtUs + 1n)).not.toBe(id);
      const queue = shared(aPrefix());
      const seen = collect(queue);
      await queue.add({ id, transport: "local_fs", materializationId });
      await queue.idle();
      expect(seen.jobs).toEqual([{ id, transport: "local_fs", materializationId }]);
    });

    it("B70: an id that the queue refuses is an error of the caller, never swallowed", async () => {
      const queue = shared(aPrefix());
      await expect(queue.add({ ...jobOf("a"), id: "a:b" })).rejects.toThrow();
      await expect(queue.add({ ...jobOf("a"), id: "123" })).rejects.toThrow();
    });
  });
});

describe("BullMQ without a Redis", () => {
  const nobody = async (): Promise<string> => `redis://127.0.0.1:${await freePort()}`;

  it("B73: adding fails within its limit while nothing listens", async () => {
    const queue = createBullmqQueue({ url: await nobody(), addTimeoutMs: 200, onTrouble: () => undefined });
    await expect(queue.add(jobOf("a"))).rejects.toThrow();
    await queue.close(100);
  });

  it("B74: closing ends although nothing listens", async () => {
    const queue = createBullmqQueue({ url: await nobody(), addTimeoutMs: 200, onTrouble: () => undefined });
    collect(queue);
    await queue.add(jobOf("a")).catch(() => undefined);
    await queue.close(100);
  });

  it("tells of the trouble by a code, never with the address", async () => {
    const told = signal();
    const codes: string[] = [];
    const onTrouble = (code: string): void => {
      codes.push(code);
      told.fire();
    };
    const queue = createBullmqQueue({ url: await nobody(), onTrouble });
    collect(queue);
    await told.fired;
    await queue.close(100);
    expect(new Set(codes)).toEqual(new Set(["REDIS_ERROR"]));
  });

  it("a check of it is unreachable, and does not repeat the password", async () => {
    const url = (await nobody()).replace("//", "//user:canary-password@");
    const error = await checkRedis({ url, onTrouble: () => undefined }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(WaybillError);
    expect(error).toMatchObject({ kind: "unreachable", problems: [{ code: "REDIS_UNREACHABLE" }] });
    expect(JSON.stringify([error, String(error)])).not.toContain("canary-password");
  });
});

describePeer("redis", "A Redis that comes, goes, or forgets", () => {
  const servers: RedisServer[] = [];
  const start = async (...settings: Parameters<typeof startRedis>): Promise<RedisServer> => {
    const server = await startRedis(...settings);
    servers.push(server);
    return server;
  };
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.stop("SIGKILL")));
  });

  it("B73: a queue whose Redis went away fails to add, and takes and runs jobs when it is back", async () => {
    const redis = await start();
    const queue = createBullmqQueue({ url: redis.url, addTimeoutMs: 500, onTrouble: () => undefined });
    const seen = collect(queue);
    await queue.add(jobOf("before"));
    await queue.idle();
    await redis.stop("SIGKILL");
    await expect(queue.add(jobOf("lost"))).rejects.toThrow();
    await start({ port: redis.port });
    // The connection comes back by itself, in its own time; a sweep asks again until then.
    await eventually(() => queue.add(jobOf("after")));
    await seen.count(2);
    expect(seen.ids()).toEqual(["j_before", "j_after"]);
    await queue.close(1_000);
  });

  it("B74: closing with a handler that hangs and Redis gone ends at the deadline", async () => {
    const redis = await start();
    const queue = createBullmqQueue({ url: redis.url, onTrouble: () => undefined });
    const started = signal();
    const never = signal();
    collect(queue, async () => {
      started.fire();
      await never.fired;
    });
    await queue.add(jobOf("a"));
    await started.fired;
    await redis.stop("SIGKILL");
    await queue.close(100);
    never.fire();
  });

  it.each(["allkeys-lru", "volatile-lru", "volatile-ttl"])("B75: %s is refused", async (policy) => {
    const redis = await start({ settings: ["--maxmemory-policy", policy] });
    const check = checkRedis({ url: redis.url, onTrouble: () => undefined });
    await expect(check).rejects.toMatchObject({ kind: "usage", problems: [{ code: "REDIS_EVICTS" }] });
  });

  it("B75: noeviction is accepted without a word", async () => {
    const redis = await start();
    const codes: string[] = [];
    await checkRedis({ url: redis.url, onTrouble: (code) => codes.push(code) });
    expect(codes).toEqual([]);
  });

  it("B75: where CONFIG is forbidden it says that the policy could not be seen", async () => {
    const redis = await start({ settings: ["--maxmemory-policy", "noeviction", "--rename-command", "CONFIG", ""] });
    const codes: string[] = [];
    await checkRedis({ url: redis.url, onTrouble: (code) => codes.push(code) });
    expect(codes).toEqual(["REDIS_POLICY_UNKNOWN"]);
  });

  it("jobs that FLUSHALL took can be added again under the same ids", async () => {
    const redis = await start();
    const queue = createBullmqQueue({ url: redis.url, onTrouble: () => undefined });
    await queue.add(jobOf("a"));
    const client = new Redis(redis.url);
    await client.flushall();
    client.disconnect();
    await queue.add(jobOf("a"));
    const seen = collect(queue);
    await queue.idle();
    expect(seen.ids()).toEqual(["j_a"]);
    await queue.close(1_000);
  });
});

/** Repeats what fails for now. */
async function eventually<T>(act: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await act();
    } catch {
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}
