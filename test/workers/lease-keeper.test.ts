import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { DeliveryError } from "../../core/errors.ts";
import type { Database } from "../../core/store/sql.ts";
import { type KeepLease, keepLease } from "../../workers/lease-keeper.ts";

const lease = { materializationId: "mat-1", token: "token", generation: 1, untilUs: 0n };
const held = [{ lease_until: 1n }];

/** A ledger that answers each renewal as told. */
function ledger(answer: () => Promise<readonly { readonly lease_until: bigint }[]>) {
  const asked = vi.fn(answer);
  return { asked, db: { query: asked } as unknown as Database };
}

function keep(db: Database, changes: Partial<KeepLease> = {}) {
  return keepLease({ db, lease, leaseMs: 900, maxRunMs: 60_000, outer: new AbortController().signal, ...changes });
}

describe("[I7] keeping a lease", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("renews every third of its length until it is stopped", async () => {
    const { db, asked } = ledger(async () => held);
    const keeper = keep(db);
    await vi.advanceTimersByTimeAsync(3000);
    expect(asked).toHaveBeenCalledTimes(10);
    await keeper.stop();
    await vi.advanceTimersByTimeAsync(3000);
    expect(asked).toHaveBeenCalledTimes(10);
    expect(keeper.signal.aborted).toBe(false);
  });

  it("ends the work at once when the ledger says that it is lost", async () => {
    const { db } = ledger(async () => []);
    const keeper = keep(db);
    await vi.advanceTimersByTimeAsync(300);
    expect(keeper.signal.reason).toEqual(new DeliveryError("LEASE_LOST"));
    await keeper.stop();
  });

  it("lives through a ledger that fails now and then", async () => {
    let n = 0;
    const { db } = ledger(async () => {
      if (n++ % 2 === 0) throw new Error("the connection broke");
      return held;
    });
    const keeper = keep(db);
    await vi.advanceTimersByTimeAsync(9000);
    expect(keeper.signal.aborted).toBe(false);
    await keeper.stop();
  });

  it.each([
    ["fails", () => Promise.reject(new Error("the connection broke"))],
    ["hangs", () => new Promise<never>(() => undefined)],
  ])("ends the work after a whole length in which the ledger %s", async (_how, answer) => {
    const keeper = keep(ledger(answer).db);
    await vi.advanceTimersByTimeAsync(899);
    expect(keeper.signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(keeper.signal.reason).toEqual(new DeliveryError("LEASE_LOST"));
  });

  it("ends a run that takes too long, and holds the lease until that run has stopped", async () => {
    const { db, asked } = ledger(async () => held);
    const keeper = keep(db, { maxRunMs: 1500 });
    await vi.advanceTimersByTimeAsync(1500);
    expect(keeper.signal.reason).toEqual(new DeliveryError("DESTINATION_UNREACHABLE"));
    const before = asked.mock.calls.length;
    await vi.advanceTimersByTimeAsync(300);
    expect(asked.mock.calls.length).toBe(before + 1);
    await keeper.stop();
  });

  it("passes the reason of the outer signal on", async () => {
    const outer = new AbortController();
    const keeper = keep(ledger(async () => held).db, { outer: outer.signal });
    const reason = new DOMException("shutting down", "AbortError");
    outer.abort(reason);
    expect(keeper.signal.reason).toBe(reason);
    await keeper.stop();
  });
});
