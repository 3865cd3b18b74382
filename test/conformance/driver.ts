import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { canonicalJson } from "../../core/canonical-json.ts";
import type { JsonObject } from "../../core/json.ts";
import { totalDifferences } from "../../core/model/totals.ts";
import type { Attempt, CommitEvidence, Driver, DriverPlan, Observation } from "../../drivers/driver.ts";
import { createSampleDelivery, type SampleDelivery } from "./sample-delivery.ts";

/** One empty destination of a transport, with ways past the driver to look at it and to damage it. */
export interface DriverRig {
  /** A new driver with clients of its own over the destination. */
  openDriver(): Promise<Driver>;
  /** The destination's settings, as a plan is made from them. */
  readonly settings: JsonObject;
  /** Commit marks that a reader sees for this plan: manifests, shared tables, partitions. */
  commitMarks(plan: DriverPlan): Promise<number>;
  /** All that a reader could fetch for this plan: name to a hash of its content. */
  contents(plan: DriverPlan): Promise<ReadonlyMap<string, string>>;
  /** Changes one delivered value behind the driver's back. */
  damage(plan: DriverPlan): Promise<void>;
  /** Secret texts that must not show up in plans, staged facts, evidence or resources. */
  readonly canaries: readonly string[];
  close(): Promise<void>;
}

/** What one delivery of a test is about. */
export interface Delivery {
  readonly sample: SampleDelivery;
  readonly plan: DriverPlan;
}

/** An attempt of a test. Each key is fresh, as two claims of one materialization never share theirs. */
export function attemptOf(key: string, signal: AbortSignal = new AbortController().signal): Attempt {
  return { key, signal, nowUs: () => 1_772_960_000_000_000n };
}

/** Write and commit, or find what was committed: what a runner does on every entry. */
export async function deliver(driver: Driver, { plan, sample }: Delivery, key: string): Promise<CommitEvidence> {
  const attempt = attemptOf(key);
  const found = await driver.findCommit(plan, attempt);
  return found ?? driver.commit(plan, await driver.write(plan, sample.content, attempt), attempt);
}

/** Whether a read shows the revision, judged as a runner judges it. */
export function matches(observation: Observation, sample: SampleDelivery): boolean {
  const { revision } = sample;
  return (
    observation.outcome === "read" &&
    observation.findings.length === 0 &&
    observation.rowCount === revision.row_count &&
    totalDifferences(revision.control_totals, observation.controlTotals).length === 0 &&
    observation.canonicalDigest === revision.canonical_content_digest?.value
  );
}

/** The promises of a driver, whatever its method. A driver passes this suite unchanged; a skip names the missing trait. */
export function driverConformance(name: string, createRig: () => Promise<DriverRig>): void {
  describe(`driver: ${name}`, () => {
    let rig: DriverRig;
    let driver: Driver;
    const samples: SampleDelivery[] = [];
    let attempts = 0;
    const attempt = (signal?: AbortSignal) => attemptOf(`attempt-${++attempts}`, signal);
    const prepare = (sample: SampleDelivery, materializationId: string, number = 1): Delivery => ({
      sample,
      plan: driver.prepare({
        revision: sample.revision,
        obligationId: "obligation-1",
        materializationId,
        attempt: number,
        destination: rig.settings,
        createdAt: "2026-03-09T02:00:00Z",
      }),
    });
    const sampleOf = async (revisionId: string, rowCount: number, seed?: number): Promise<SampleDelivery> => {
      const sample = await createSampleDelivery({ revisionId, rowCount, ...(seed === undefined ? {} : { seed }) });
      samples.push(sample);
      return sample;
    };
    const probe = async ({ plan }: Delivery, commit: CommitEvidence) =>
      (await rig.openDriver()).probe(plan, commit, "canonical_digest", attempt());
    /** Seven rows in parts of three, where the transport has parts. */
    let a: Delivery;

    beforeEach(async () => {
      rig = await createRig();
      driver = await rig.openDriver();
      a = prepare(await sampleOf("revision-a", 7), "materialization-a");
    });
    afterEach(async () => {
      await driver.close();
      await rig.close();
      for (const sample of samples.splice(0)) await sample.close();
    });

    it("a plan is pure: equal for equal input, plain JSON, and it touches nothing", async () => {
      const again = prepare(a.sample, "materialization-a");
      expect(again.plan).toEqual(a.plan);
      expect(JSON.parse(canonicalJson(a.plan))).toEqual(a.plan);
      expect(await rig.contents(a.plan)).toEqual(new Map());
      expect(a.sample.encodings()).toBe(0);
    });

    it("nothing is committed before commit: no mark, nothing found, and a probe reads nothing", async () => {
      expect(await driver.findCommit(a.plan, attempt())).toBeUndefined();
      await driver.write(a.plan, a.sample.content, attempt());
      expect(await rig.commitMarks(a.plan)).toBe(0);
      expect(await driver.findCommit(a.plan, attempt())).toBeUndefined();
    });

    for (const rowCount of [0, 1, 7]) {
      it(`${rowCount === 0 ? "B13: " : ""}${rowCount} rows are committed and read back as the revision`, async () => {
        const delivery = prepare(await sampleOf("revision-n", rowCount), "materialization-n");
        const commit = await deliver(driver, delivery, "attempt-n");
        const observation = await probe(delivery, commit);
        expect(observation).toMatchObject({ outcome: "read", rowCount, findings: [] });
        expect(matches(observation, delivery.sample)).toBe(true);
        expect(await rig.commitMarks(delivery.plan)).toBe(1);
      });
    }

    it("a new driver finds the commit of an earlier one, with the same evidence", async () => {
      const commit = await deliver(driver, a, "attempt-a");
      expect(await (await rig.openDriver()).findCommit(a.plan, attempt())).toEqual(commit);
    });

    it("write and commit may be repeated: same evidence, one mark, the same content", async () => {
      const first = await driver.write(a.plan, a.sample.content, attempt());
      const staged = await (await rig.openDriver()).write(a.plan, a.sample.content, attempt());
      expect(staged).toEqual(first);
      const commit = await driver.commit(a.plan, staged, attempt());
      const contents = await rig.contents(a.plan);
      expect(await (await rig.openDriver()).commit(a.plan, first, attempt())).toEqual(commit);
      const late = await rig.openDriver();
      expect(await late.commit(a.plan, await late.write(a.plan, a.sample.content, attempt()), attempt())).toEqual(
        commit,
      );
      expect(await rig.commitMarks(a.plan)).toBe(1);
      expect(await rig.contents(a.plan)).toEqual(contents);
    });

    it("staged facts survive JSON", async () => {
      const staged = await driver.write(a.plan, a.sample.content, attempt());
      const commit = await driver.commit(a.plan, JSON.parse(JSON.stringify(staged)), attempt());
      expect(matches(await probe(a, JSON.parse(JSON.stringify(commit))), a.sample)).toBe(true);
    });

    it("two workers that race on one plan end with one commit", async () => {
      const rivals = await Promise.all([rig.openDriver(), rig.openDriver(), rig.openDriver()]);
      const commits = await Promise.all(rivals.map((rival, index) => deliver(rival, a, `rival-${index}`)));
      for (const commit of commits) expect(commit).toEqual(commits[0]);
      expect(await rig.commitMarks(a.plan)).toBe(1);
      expect(matches(await probe(a, commits[0] as CommitEvidence), a.sample)).toBe(true);
    });

    it("a restatement leaves the earlier revision readable, and a replay of it is another materialization", async () => {
      const commitA = await deliver(driver, a, "attempt-a");
      const b = prepare(await sampleOf("revision-b", 8, 5), "materialization-b");
      const commitB = await deliver(driver, b, "attempt-b");
      const replay = prepare(a.sample, "materialization-a2");
      const commitReplay = await deliver(driver, replay, "attempt-c");
      expect(matches(await probe(a, commitA), a.sample)).toBe(true);
      expect(matches(await probe(b, commitB), b.sample)).toBe(true);
      expect(matches(await probe(replay, commitReplay), a.sample)).toBe(true);
      expect(new Set([commitA, commitB, commitReplay].map(({ location }) => location)).size).toBe(3);
    });

    it("two attempts at one obligation share no name", async () => {
      const second = prepare(a.sample, "materialization-second", 2);
      await deliver(driver, a, "attempt-a");
      await deliver(driver, second, "attempt-b");
      const names = [...(await rig.contents(a.plan)).keys(), ...(await rig.contents(second.plan)).keys()];
      expect(new Set(names).size).toBe(names.length);
    });

    it("a value changed at the destination is seen by the probe while the writer's own copy is intact", async () => {
      const commit = await deliver(driver, a, "attempt-a");
      await rig.damage(a.plan);
      expect(matches(await probe(a, commit), a.sample)).toBe(false);
      expect(matches(await driver.probe(a.plan, commit, "canonical_digest", attempt()), a.sample)).toBe(false);
      expect(a.sample.encodings()).toBe(1);
    });

    it("two probes of one driver both look: the second sees what changed after the first", async () => {
      const commit = await deliver(driver, a, "attempt-a");
      expect(matches(await driver.probe(a.plan, commit, "canonical_digest", attempt()), a.sample)).toBe(true);
      await rig.damage(a.plan);
      expect(matches(await driver.probe(a.plan, commit, "canonical_digest", attempt()), a.sample)).toBe(false);
    });

    it("the resource is pure, names what was committed, and leaves the expiry to the ledger", async () => {
      const commit = await deliver(driver, a, "attempt-a");
      const resource = driver.resource(a.plan, commit);
      expect((await rig.openDriver()).resource(a.plan, commit)).toEqual(resource);
      expect(resource).toMatchObject({ location: commit.location, immutability: driver.traits.immutability });
      expect(resource.resource_ref).toMatch(/^[A-Za-z0-9_.:-]{1,255}$/);
      expect(resource).not.toHaveProperty("expires_at");
      expect(commit.location.length).toBeLessThanOrEqual(2048);
    });

    it("data withdrawn is gone for readers, again without complaint, and its neighbours stay", async () => {
      const commit = await deliver(driver, a, "attempt-a");
      const b = prepare(a.sample, "materialization-b");
      const commitB = await deliver(driver, b, "attempt-b");
      for (let round = 0; round < 2; round++) {
        await driver.withdraw(a.plan, "data", attempt());
        expect(await rig.commitMarks(a.plan)).toBe(0);
        expect(await rig.contents(a.plan)).toEqual(new Map());
        expect(await driver.findCommit(a.plan, attempt())).toBeUndefined();
        expect(await probe(a, commit)).toMatchObject({ outcome: "not_yet" });
      }
      expect(matches(await probe(b, commitB), b.sample)).toBe(true);
    });

    it("data of a delivery that never got to its commit can be withdrawn too", async () => {
      await driver.withdraw(a.plan, "data", attempt());
      await driver.write(a.plan, a.sample.content, attempt());
      await driver.withdraw(a.plan, "data", attempt());
      expect(await rig.contents(a.plan)).toEqual(new Map());
    });

    it("withdrawing access alone is refused where it cannot be done, never pretended", async (context) => {
      if (driver.traits.revocable) return context.skip("the transport is revocable");
      const commit = await deliver(driver, a, "attempt-a");
      await expect(driver.withdraw(a.plan, "access", attempt())).rejects.toMatchObject({ name: "DeliveryError" });
      expect(matches(await probe(a, commit), a.sample)).toBe(true);
    });

    it("an abort passes unchanged through every call", async () => {
      const reason = new Error("shutting down");
      const commit = await deliver(driver, a, "attempt-a");
      const aborted = attempt(AbortSignal.abort(reason));
      const b = prepare(a.sample, "materialization-b");
      await expect(driver.write(b.plan, b.sample.content, aborted)).rejects.toBe(reason);
      await expect(driver.findCommit(a.plan, aborted)).rejects.toBe(reason);
      await expect(driver.probe(a.plan, commit, "canonical_digest", aborted)).rejects.toBe(reason);
      await expect(driver.withdraw(a.plan, "data", aborted)).rejects.toBe(reason);
      expect(await rig.commitMarks(b.plan)).toBe(0);
    });

    it("no secret is in the plan, the staged facts, the evidence or the resource", async () => {
      const staged = await driver.write(a.plan, a.sample.content, attempt());
      const commit = await driver.commit(a.plan, staged, attempt());
      const facts = JSON.stringify([a.plan, staged, commit, driver.resource(a.plan, commit)]);
      for (const canary of rig.canaries) expect(facts).not.toContain(canary);
    });

    it("its traits can be relied on", () => {
      const { traits } = driver;
      expect(traits.transport).toBe(a.plan.transport);
      expect(traits.verificationPaths.length).toBeGreaterThan(0);
      expect(traits.visibilityWindowMs).toBeGreaterThanOrEqual(0);
    });
  });
}
