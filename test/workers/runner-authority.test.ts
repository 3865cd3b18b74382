import { describe, expect, it } from "vitest";
import { deactivateConfiguration, placeTombstone } from "../../core/ledger/transitions.ts";
import type { Driver } from "../../drivers/driver.ts";
import type { RunResult } from "../../workers/runner.ts";
import { recordCalls } from "../faults/around.ts";
import { leaseMs } from "./delivery-world.ts";
import { calm, useWorld } from "./use-world.ts";

type Moment = "findCommit" | "write" | "commit" | "probe" | "resource";

/** Does `act` once, just when the driver is called for `moment`. */
function at(moment: Moment, act: () => Promise<void>): (driver: Driver) => Driver {
  return (driver) => ({
    ...driver,
    // resource is pure and synchronous: the moment before tx 2 is the end of the read.
    async probe(...parameters) {
      if (moment === "probe") await act();
      const seen = await driver.probe(...parameters);
      if (moment === "resource") await act();
      return seen;
    },
    async findCommit(...parameters) {
      if (moment === "findCommit") await act();
      return await driver.findCommit(...parameters);
    },
    async write(...parameters) {
      const staged = await driver.write(...parameters);
      if (moment === "write") await act();
      return staged;
    },
    async commit(...parameters) {
      const evidence = await driver.commit(...parameters);
      if (moment === "commit") await act();
      return evidence;
    },
  });
}

const failed = (code: string) => ({ outcome: "failed", record: { failure_code: code }, reattempt: undefined });

describe("[I9] authority that ends while a delivery runs", () => {
  const used = useWorld();

  const ends = {
    UNAUTHORIZED: async (id: string) => {
      const { record, accountId } = await used.world.find(id);
      const { delivery_config_id, delivery_config_version } = record;
      const key = { accountId, deliveryConfigId: delivery_config_id, deliveryConfigVersion: delivery_config_version };
      await deactivateConfiguration(used.world.db, key, "the buyer left");
    },
    WITHDRAWN: async (id: string) => {
      await placeTombstone(used.world.db, { materializationId: id, what: "data", reason: "a mistake" });
    },
  };

  async function runEnding(code: keyof typeof ends, moment: Moment): Promise<{ id: string; result: RunResult }> {
    let id = "";
    const worker = await used.world.worker({ driver: at(moment, () => ends[code](id)) });
    id = await used.world.open(worker);
    return { id, result: await worker.runner.run(id, calm) };
  }

  for (const code of ["UNAUTHORIZED", "WITHDRAWN"] as const) {
    it(`ends ${code} before the manifest when it ends while parts are written`, async () => {
      const { id, result } = await runEnding(code, "write");
      expect(result).toMatchObject(failed(code));
      expect(await used.world.files(id)).not.toContain("manifest.json");
      expect(await used.world.outbox(id)).toEqual([]);
    });

    it.each(["commit", "probe", "resource"] as const)(
      `ends ${code} when it ends at %s, and is never ready`,
      async (moment) => {
        const { id, result } = await runEnding(code, moment);
        expect(result).toMatchObject(failed(code));
        expect(await used.world.outbox(id)).toEqual([]);
      },
    );

    it(`ends ${code} without a call to the destination when it ended between two runs`, async () => {
      const { calls, around } = recordCalls();
      const worker = await used.world.worker({ faults: { writer: around, reader: around } });
      const id = await used.world.open(worker);
      await ends[code](id);
      expect(await worker.runner.run(id, calm)).toMatchObject(failed(code));
      expect(calls).toEqual([]);
    });
  }

  it("is asked again before the read of a commit that an earlier worker recorded", async () => {
    const { world } = used;
    const { calls, around } = recordCalls();
    const dying = await world.worker({
      driver: (driver) => ({ ...driver, probe: () => Promise.reject(new DOMException("gone", "AbortError")) }),
      policy: { baseDelayMs: 0 },
    });
    const id = await world.open(dying);
    expect(await dying.runner.run(id, calm)).toMatchObject({ outcome: "waiting" });
    expect(await world.find(id)).toMatchObject({ phase: "committed" });
    await ends.UNAUTHORIZED(id);
    const next = await world.worker({ faults: { writer: around, reader: around } });
    expect(await next.runner.run(id, calm)).toMatchObject(failed("UNAUTHORIZED"));
    expect(calls).toEqual([]);
  });
});

describe("[I10] a restatement while a delivery runs", () => {
  const used = useWorld();

  it("lets an exact delivery of the old revision finish, and ends those of the current one as SUPERSEDED", async () => {
    const { world } = used;
    const waiting = await world.worker();
    const unstarted = await world.open(waiting, { selection: "current" });
    const exact = await world.open(waiting);
    let committed = "";
    const running = await world.worker({
      driver: at("commit", async () => {
        await world.restate();
      }),
    });
    committed = await world.open(running, { selection: "current" });

    expect(await running.runner.run(committed, calm)).toMatchObject(failed("SUPERSEDED"));
    expect(await world.outbox(committed)).toEqual([]);

    const { calls, around } = recordCalls();
    const late = await world.worker({ faults: { writer: around, reader: around } });
    expect(await late.runner.run(unstarted, calm)).toMatchObject(failed("SUPERSEDED"));
    expect(calls.filter(({ method }) => method === "putIfAbsent")).toEqual([]);

    await world.clock.advance(leaseMs);
    expect(await waiting.runner.run(exact, calm)).toMatchObject({ outcome: "ready" });
  });
});
