import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DeliveryError, WaybillError } from "../../../core/errors.ts";
import type { Lease } from "../../../core/ledger/ledger-records.ts";
import { findMaterialization } from "../../../core/ledger/queries.ts";
import {
  claim,
  deactivateConfiguration,
  expireLeases,
  finishFailed,
  finishReady,
  placeTombstone,
  publishRevision,
  recordCommit,
  recordPhase,
  recordProbe,
  release,
  renew,
} from "../../../core/ledger/transitions.ts";
import type { Database } from "../../../core/store/sql.ts";
import { outboxOf } from "./expectations.ts";
import { aRevision, commitEvidence, readyOutcome, retainedParts } from "./records.ts";
import { type LedgerWorld, ledgerWorld, opened, owed } from "./world.ts";

type Worker = "a" | "b";
type Step =
  | {
      readonly do: "claim" | "renew" | "write" | "commit" | "probe" | "ready" | "fail" | "release";
      readonly by: Worker;
    }
  | { readonly do: "wait"; readonly ms: number }
  | { readonly do: "expire" | "supersede" | "revoke" | "withdraw" };

const worker = fc.constantFrom<Worker>("a", "b");
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ do: fc.constantFrom("claim", "commit", "ready"), by: worker }) },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constantFrom("renew", "write", "probe", "fail", "release"), by: worker }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("wait"), ms: fc.constantFrom(1, 600, 1000) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("expire", "supersede", "revoke", "withdraw") }) },
);

/** What must be true of the ledger, told apart from how the ledger comes to it. */
interface Model {
  holder: { readonly worker: Worker; untilUs: bigint } | undefined;
  phase: "planned" | "writing" | "committed";
  ended: "available" | "failed" | undefined;
  unfit: boolean;
}

/** Any order of what two workers, time and operators do. */
export function sequenceSuite(open: () => Promise<Database>): void {
  describe("sequences of transitions", () => {
    it("end at most once, only under a held lease, after a commit, while nothing forbids it; a doorbell for exactly the ready ones", async () => {
      const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
        const world = await ledgerWorld(open);
        try {
          await run(world, steps);
        } finally {
          await world.db.close();
        }
      });
      await fc.assert(property, { numRuns: 30 });
    });
  });
}

async function run(world: LedgerWorld, steps: readonly Step[]): Promise<void> {
  const { db, clock } = world;
  await owed(db);
  const { reporting_materialization_id: id } = await opened(db);
  const model: Model = { holder: undefined, phase: "planned", ended: undefined, unfit: false };
  const leases = new Map<Worker, Lease>();
  for (const next of steps) {
    if (next.do === "wait") await clock.advance(next.ms);
    else if (!("by" in next)) await disturb(db, id, next.do, model, clock.nowUs());
    else await act(world, id, next, model, leases);
    await agrees(db, id, model);
  }
}

async function disturb(
  db: Database,
  id: string,
  what: "expire" | "supersede" | "revoke" | "withdraw",
  model: Model,
  nowUs: bigint,
): Promise<void> {
  if (what === "expire") {
    await expireLeases(db);
    if (model.holder !== undefined && model.holder.untilUs <= nowUs) model.holder = undefined;
    return;
  }
  model.unfit = true;
  if (what === "withdraw") await placeTombstone(db, { materializationId: id, what: "data", reason: "test" });
  if (what === "revoke") {
    const key = { accountId: "acct-1", deliveryConfigId: "daily", deliveryConfigVersion: 1 };
    await deactivateConfiguration(db, key, "test");
  }
  if (what === "supersede") {
    const revision = aRevision({ reporting_revision_id: "rev-b", supersedes_reporting_revision_id: "rev-a" });
    await publishRevision(db, { revision, retained: retainedParts() });
  }
}

const leaseMs = 1000;

async function act(
  { db, clock }: LedgerWorld,
  id: string,
  next: Extract<Step, { by: Worker }>,
  model: Model,
  leases: Map<Worker, Lease>,
): Promise<void> {
  const nowUs = clock.nowUs();
  const free = model.holder === undefined || model.holder.untilUs <= nowUs;
  if (next.do === "claim") {
    const taken = await claim(db, { materializationId: id, workerId: next.by, leaseMs });
    expect(taken !== undefined).toBe(free && model.ended === undefined);
    if (taken === undefined) return;
    leases.set(next.by, taken.lease);
    model.holder = { worker: next.by, untilUs: nowUs + BigInt(leaseMs) * 1000n };
    return;
  }
  const lease = leases.get(next.by);
  if (lease === undefined) return;
  const holds = !free && model.holder?.worker === next.by;
  const code = await codeOf(write(db, lease, next.do));
  expect(code).toBe(holds ? expectedCode(next.do, model) : "LEASE_LOST");
  if (code !== "done") return;
  if (next.do === "renew") model.holder = { worker: next.by, untilUs: nowUs + BigInt(leaseMs) * 1000n };
  if (next.do === "write") model.phase = "writing";
  if (next.do === "commit") model.phase = "committed";
  if (next.do === "ready") model.ended = "available";
  if (next.do === "fail") model.ended = "failed";
  if (next.do === "ready" || next.do === "fail" || next.do === "release") model.holder = undefined;
}

function expectedCode(what: string, { phase, unfit }: Model): string {
  if (what === "write") return phase === "committed" ? "ILLEGAL_TRANSITION" : "done";
  if (what === "probe") return phase === "committed" ? "done" : "ILLEGAL_TRANSITION";
  if (what === "ready") return phase !== "committed" ? "ILLEGAL_TRANSITION" : unfit ? "refused" : "done";
  return "done";
}

function write(db: Database, lease: Lease, what: string): Promise<unknown> {
  switch (what) {
    case "renew":
      return renew(db, lease, leaseMs);
    case "write":
      return recordPhase(db, lease, "writing");
    case "commit":
      return recordCommit(db, lease, commitEvidence);
    case "probe":
      return recordProbe(db, lease, { outcome: "not_yet" });
    case "ready":
      return finishReady(db, lease, readyOutcome(aRevision()));
    case "fail":
      return finishFailed(db, lease, { code: "DESTINATION_FULL" });
    default:
      return release(db, lease, { delayMs: 0, event: "stopped" });
  }
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    const result = await work;
    if (typeof result !== "object" || result === null || !("outcome" in result)) return "done";
    if (result.outcome === "done") return "done";
    return "code" in result && result.code === "LEASE_LOST" ? "LEASE_LOST" : "refused";
  } catch (error) {
    if (error instanceof DeliveryError) return error.code;
    if (error instanceof WaybillError) return error.problems[0]?.code ?? "";
    throw error;
  }
}

async function agrees(db: Database, id: string, model: Model): Promise<void> {
  const work = await findMaterialization(db, { operator: true }, id);
  expect(work?.record.status).toBe(model.ended ?? "pending");
  expect(work?.phase).toBe(model.ended === undefined ? model.phase : "done");
  const doorbells = (await outboxOf(db)).filter(([type]) => type === "reporting.delivery_ready");
  expect(doorbells).toHaveLength(model.ended === "available" ? 1 : 0);
}
