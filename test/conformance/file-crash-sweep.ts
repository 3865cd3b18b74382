import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { CommitEvidence, Driver } from "../../drivers/driver.ts";
import { crashAt, failWhere, recordCalls } from "../faults/around.ts";
import { attemptOf, type Delivery, deliver, matches } from "./driver.ts";
import { createFileRig, type FilePlace, type FileRig } from "./file-rig.ts";
import { createSampleDelivery, type SampleDelivery } from "./sample-delivery.ts";

/** Cuts a delivery off before and after every call to its store, and lets another driver, or the same one, take it up. */
export function fileCrashSweep(name: string, createPlace: () => Promise<FilePlace>): void {
  describe(`file driver: ${name}, interrupted at any call to the destination`, () => {
    let rig: FileRig;
    let driver: Driver;
    let a: Delivery;
    let sample: SampleDelivery;
    let attempts = 0;
    const attempt = () => attemptOf(`sweep-attempt-${++attempts}`);
    const probe = (by: Driver, { plan }: Delivery, commit: CommitEvidence) =>
      by.probe(plan, commit, "canonical_digest", attempt());

    beforeEach(async () => {
      rig = await createFileRig(await createPlace());
      driver = await rig.openDriver();
      sample = await createSampleDelivery({ revisionId: "revision-a", rowCount: 7 });
      const plan = driver.prepare({
        revision: sample.revision,
        obligationId: "obligation-1",
        materializationId: "materialization-a",
        attempt: 1,
        destination: rig.settings,
        createdAt: "2026-03-09T02:00:00Z",
      });
      a = { sample, plan };
    });
    afterEach(async () => {
      await driver.close();
      await rig.close();
      await sample.close();
    });

    /** What one clean run does and leaves; the sweep compares every interrupted run with it. */
    const cleanRun = async () => {
      const recorder = recordCalls();
      const clean = rig.openDriverWith({ writer: recorder.around, reader: recorder.around });
      const commit = await deliver(clean, a, "clean");
      expect(matches(await probe(clean, a, commit), sample)).toBe(true);
      const contents = await rig.contents(a.plan);
      await driver.withdraw(a.plan, "data", attempt());
      return { calls: recorder.calls.length, commit, contents };
    };

    for (const when of ["before", "after"] as const) {
      it(`crash ${when} any call: no partial read verifies, redelivery leaves exactly one commit and the same bytes`, async () => {
        const clean = await cleanRun();
        expect(clean.calls).toBeGreaterThan(30);
        for (let n = 0; n < clean.calls; n++) {
          const dying = crashAt(n, when);
          const victim = rig.openDriverWith({ writer: dying, reader: dying });
          const died = await deliver(victim, a, `victim-${n}`)
            .then((commit) => probe(victim, a, commit))
            .then(
              () => false,
              () => true,
            );
          expect([n, died]).toEqual([n, true]);

          const early = await probe(await rig.openDriver(), a, clean.commit);
          if (early.outcome === "read") expect([n, matches(early, sample)]).toEqual([n, true]);

          const heir = await rig.openDriver();
          expect(await deliver(heir, a, `heir-${n}`)).toEqual(clean.commit);
          expect(matches(await probe(heir, a, clean.commit), sample)).toBe(true);
          expect(await rig.contents(a.plan)).toEqual(clean.contents);
          await driver.withdraw(a.plan, "data", attempt());
        }
      });

      it(`B04, B05: unreachable ${when} any call took effect: the same driver's next try leaves exactly one commit`, async () => {
        const clean = await cleanRun();
        for (let n = 0; n < clean.calls; n++) {
          let seen = 0;
          const faulty = failWhere(() => seen++ === n, { when });
          const unlucky = rig.openDriverWith({ writer: faulty, reader: faulty });
          const run = async () => matches(await probe(unlucky, a, await deliver(unlucky, a, `try-${n}`)), sample);
          await expect(run()).rejects.toMatchObject({ name: "DeliveryError", code: "DESTINATION_UNREACHABLE" });
          expect(await run()).toBe(true);
          expect(await rig.contents(a.plan)).toEqual(clean.contents);
          await driver.withdraw(a.plan, "data", attempt());
        }
      });
    }
  });
}
