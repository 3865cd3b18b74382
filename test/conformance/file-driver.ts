import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DeliveryError } from "../../core/errors.ts";
import type { FailureCode } from "../../core/failure-table.ts";
import type { JsonObject } from "../../core/json.ts";
import type { CommitEvidence, DeliveryContent, Driver } from "../../drivers/driver.ts";
import { type Around, type Call, crashAt, failWhere, recordCalls } from "../faults/around.ts";
import { sha256Hex } from "../faults/bodies.ts";
import { attemptOf, type Delivery, deliver, driverConformance, matches } from "./driver.ts";
import { fileCrashSweep } from "./file-crash-sweep.ts";
import { fileProof } from "./file-proof.ts";
import { createFileRig, type FilePlace, type FileRig, flipped, folderOf, partsOf } from "./file-rig.ts";
import { createSampleDelivery, type SampleDelivery } from "./sample-delivery.ts";

const sideNames = ["revision.json", "definition.json", "row-schema.json", "canonicalization.json", "SHA256SUMS"];

/** All promises of a driver over an object store: the general ones, manifest last, conflicts settled by content, and the crash sweep. */
export function fileDriverConformance(name: string, createPlace: () => Promise<FilePlace>): void {
  driverConformance(name, async () => createFileRig(await createPlace()));
  fileCrashSweep(name, createPlace);
  fileProof(name, createPlace);

  describe(`file driver: ${name}`, () => {
    let rig: FileRig;
    let driver: Driver;
    let a: Delivery;
    let sample: SampleDelivery;
    let other: SampleDelivery;
    let attempts = 0;
    const attempt = () => attemptOf(`file-attempt-${++attempts}`);
    const prepare = (by: Driver, of: SampleDelivery, materializationId: string): Delivery => ({
      sample: of,
      plan: by.prepare({
        revision: of.revision,
        obligationId: "obligation-1",
        materializationId,
        attempt: 1,
        destination: rig.settings,
        createdAt: "2026-03-09T02:00:00Z",
      }),
    });
    const probe = (by: Driver, { plan }: Delivery, commit: CommitEvidence) =>
      by.probe(plan, commit, "canonical_digest", attempt());
    const key = (object: string): string => `${folderOf(a.plan)}/${object}`;
    /** The same revision with other bytes, as another encoder might make them. */
    const otherBytes = (): DeliveryContent => ({ ...sample.content, encoded: other.content.encoded });

    beforeEach(async () => {
      rig = await createFileRig(await createPlace());
      driver = await rig.openDriver();
      sample = await createSampleDelivery({ revisionId: "revision-a", rowCount: 7 });
      other = await createSampleDelivery({ revisionId: "revision-a", rowCount: 7, seed: 1 });
      a = prepare(driver, sample, "materialization-a");
    });
    afterEach(async () => {
      await driver.close();
      await rig.close();
      await sample.close();
      await other.close();
    });

    it("B10, B12: parts are written and read back, then side files, then the manifest; nothing is listed", async () => {
      const recorder = recordCalls();
      await deliver(rig.openDriverWith({ writer: recorder.around }), a, "attempt-1");
      const puts = recorder.calls.filter(({ method }) => method === "putIfAbsent").map(({ target }) => target);
      expect(puts).toEqual([...partsOf(a.plan), ...sideNames, "manifest.json"].map(key));
      const readBefore = (object: string) =>
        recorder.calls.findIndex(({ method, target }) => method === "read" && target === key(object));
      const manifestPut = recorder.calls.findIndex(
        ({ method, target }) => method === "putIfAbsent" && target === key("manifest.json"),
      );
      for (const object of [...partsOf(a.plan), ...sideNames]) {
        if (readBefore(object) >= 0) expect(readBefore(object)).toBeLessThan(manifestPut);
      }
      expect(recorder.calls.map(({ method }) => method)).not.toContain("list");
    });

    it("the manifest names the parts by bare name with their size, hash and rows", async () => {
      const commit = await deliver(driver, a, "attempt-1");
      const bytes = await rig.read(a.plan, "manifest.json");
      const manifest = JSON.parse(new TextDecoder().decode(bytes));
      expect(commit["manifest_sha256"]).toBe(sha256Hex(bytes ?? new Uint8Array()));
      expect(manifest.files.map((file: { object_ref: string }) => file.object_ref)).toEqual(partsOf(a.plan));
      expect(manifest.files.map((file: { row_count: number }) => file.row_count)).toEqual([3, 3, 1]);
      for (const file of manifest.files) {
        const stored = await rig.read(a.plan, file.object_ref);
        expect([file.size_bytes, file.sha256]).toEqual([stored?.length, sha256Hex(stored ?? new Uint8Array())]);
      }
      expect(manifest).toMatchObject({ complete: true, row_count: 7, created_at: "2026-03-09T02:00:00Z" });
    });

    it("SHA256SUMS covers every file beside it", async () => {
      await deliver(driver, a, "attempt-1");
      const sums = new TextDecoder()
        .decode(await rig.read(a.plan, "SHA256SUMS"))
        .trimEnd()
        .split("\n");
      const contents = await rig.contents(a.plan);
      expect(sums).toHaveLength(contents.size - 1);
      for (const line of sums) {
        const [sha256 = "", object = ""] = line.split("  ");
        expect(contents.get(key(object))).toBe(sha256);
      }
    });

    describe("what stands at a name already", () => {
      it("B01: equal bytes are success, and nothing is written twice", async () => {
        await driver.write(a.plan, sample.content, attempt());
        const before = await rig.contents(a.plan);
        const commit = await deliver(await rig.openDriver(), a, "attempt-2");
        expect(matches(await probe(driver, a, commit), sample)).toBe(true);
        expect(new Map([...(await rig.contents(a.plan))].filter(([name]) => before.has(name)))).toEqual(before);
      });

      for (const object of ["part-00001.jsonl", "revision.json", "manifest.json"]) {
        it(`B01: other bytes of the same size at ${object} are CONTENT_CONFLICT and stay`, async () => {
          const clean = prepare(driver, sample, "materialization-a");
          await deliver(driver, clean, "attempt-1");
          const foreign = flipped((await rig.read(a.plan, object)) ?? new Uint8Array());
          await driver.withdraw(a.plan, "data", attempt());
          await rig.replace(key(object), foreign);
          await rejects(deliver(driver, a, "attempt-2"), "CONTENT_CONFLICT");
          expect(await rig.read(a.plan, object)).toEqual(Buffer.from(foreign));
          if (object !== "manifest.json") expect(await rig.commitMarks(a.plan)).toBe(0);
        });
      }

      it("other bytes written under another encoder's name are ENCODER_CHANGED, and nothing is created", async () => {
        const older = rig.openDriverWith({ fingerprint: "encoder-1" });
        const planned = prepare(older, sample, "materialization-a");
        await older.write(planned.plan, otherBytes(), attempt());
        const before = await rig.contents(planned.plan);
        const newer = rig.openDriverWith({ fingerprint: "encoder-2" });
        await rejects(deliver(newer, planned, "attempt-2"), "ENCODER_CHANGED");
        await rejects(deliver(older, planned, "attempt-3"), "CONTENT_CONFLICT");
        expect(await rig.contents(planned.plan)).toEqual(before);
      });

      it("a changed encoder that makes the same bytes goes on where the other one stopped", async () => {
        const planned = prepare(rig.openDriverWith({ fingerprint: "encoder-1" }), sample, "materialization-a");
        const staged = await rig
          .openDriverWith({ fingerprint: "encoder-1" })
          .write(planned.plan, sample.content, attempt());
        const newer = rig.openDriverWith({ fingerprint: "encoder-2" });
        expect(await newer.write(planned.plan, sample.content, attempt())).toEqual(staged);
      });

      it("a changed encoder starts no folder that was planned for another one", async () => {
        const planned = prepare(rig.openDriverWith({ fingerprint: "encoder-1" }), sample, "materialization-a");
        await rejects(
          deliver(rig.openDriverWith({ fingerprint: "encoder-2" }), planned, "attempt-1"),
          "ENCODER_CHANGED",
        );
        expect(await rig.contents(planned.plan)).toEqual(new Map());
      });

      it("B12: a foreign object in the folder is no part of the delivery", async () => {
        await rig.replace(key("part-09999.jsonl"), new TextEncoder().encode("{}\n"));
        const commit = await deliver(driver, a, "attempt-1");
        expect(matches(await probe(driver, a, commit), sample)).toBe(true);
      });

      it("B11: parts of an attempt that died are not mixed into the next one, which is split otherwise", async () => {
        await driver.write(a.plan, sample.content, attempt());
        const coarse = rig.openDriverWith({ encoding: { rowsPerPart: 4 } });
        const next = prepare(coarse, sample, "materialization-a2");
        const commit = await deliver(coarse, next, "attempt-2");
        expect(partsOf(next.plan)).toHaveLength(2);
        expect(await probe(coarse, next, commit)).toMatchObject({ rowCount: 7, findings: [] });
      });
    });

    describe("what gets lost before the manifest", () => {
      it("B10: a part that disappears after it was read back: no manifest, retryable, and the next try heals it", async () => {
        const staged = await driver.write(a.plan, sample.content, attempt());
        await rig.store.remove(key("part-00001.jsonl"), { signal: attempt().signal });
        await rejects(driver.commit(a.plan, staged, attempt()), "DESTINATION_UNREACHABLE");
        expect(await rig.commitMarks(a.plan)).toBe(0);
        expect(matches(await probe(driver, a, await deliver(driver, a, "attempt-2")), sample)).toBe(true);
      });

      it("B10: a part cut short before it was read back: no manifest, retryable, then a conflict", async () => {
        const short = async (call: Call) => {
          if (call.method !== "putIfAbsent" || call.target !== key("part-00001.jsonl")) return;
          const bytes = (await rig.read(a.plan, "part-00001.jsonl")) ?? new Uint8Array();
          await rig.replace(key("part-00001.jsonl"), bytes.subarray(0, -1));
        };
        const victim = rig.openDriverWith({ writer: afterwards(short) });
        await rejects(deliver(victim, a, "attempt-1"), "DESTINATION_UNREACHABLE");
        await rejects(deliver(driver, a, "attempt-2"), "CONTENT_CONFLICT");
        expect(await rig.commitMarks(a.plan)).toBe(0);
      });

      it("an encoder that brings fewer rows, other names or another revision is refused before anything is written", async () => {
        const parts = await sample.content.encoded({ format: "jsonl", compression: "none", rowsPerPart: 3 });
        const few = parts.map((part, index) => (index === 0 ? { ...part, rowCount: 2 } : part));
        const attempts: readonly (readonly [DeliveryContent, FailureCode])[] = [
          [{ ...sample.content, encoded: async () => few }, "REVISION_UNREADABLE"],
          [{ ...sample.content, encoded: async () => parts.slice(1) }, "INTERNAL"],
          [{ ...sample.content, revision: { ...sample.revision, reporting_revision_id: "revision-x" } }, "INTERNAL"],
        ];
        for (const [content, code] of attempts) {
          await rejects(driver.write(a.plan, content, attempt()), code);
          expect(await rig.contents(a.plan)).toEqual(new Map());
        }
      });

      it("B14: rows that cannot be encoded end the delivery with nothing at the destination", async () => {
        const refuse = async () => {
          throw new DeliveryError("ROW_NOT_ENCODABLE");
        };
        await rejects(driver.write(a.plan, { ...sample.content, encoded: refuse }, attempt()), "ROW_NOT_ENCODABLE");
        expect(await rig.contents(a.plan)).toEqual(new Map());
      });
    });

    describe("an earlier commit", () => {
      it("is found by content, not by existence: a manifest of others at our name is a conflict", async () => {
        const b = prepare(driver, sample, "materialization-b");
        await deliver(driver, b, "attempt-1");
        const foreign = (await rig.read(b.plan, "manifest.json")) ?? new Uint8Array();
        for (const bytes of [foreign, new TextEncoder().encode("{}"), new Uint8Array()]) {
          await rig.replace(key("manifest.json"), bytes);
          await rejects(driver.findCommit(a.plan, attempt()), "CONTENT_CONFLICT");
        }
      });

      it("is not believed while a part is gone, and writing again completes it", async () => {
        const commit = await deliver(driver, a, "attempt-1");
        await rig.store.remove(key("part-00002.jsonl"), { signal: attempt().signal });
        expect(await driver.findCommit(a.plan, attempt())).toBeUndefined();
        expect(await deliver(driver, a, "attempt-2")).toEqual(commit);
        expect(matches(await probe(driver, a, commit), sample)).toBe(true);
      });

      it("is a conflict when a part has other bytes of the same size", async () => {
        await deliver(driver, a, "attempt-1");
        await rig.damage(a.plan);
        await rejects(driver.findCommit(a.plan, attempt()), "CONTENT_CONFLICT");
      });
    });

    describe("the probe", () => {
      it("opens one store of its own, and reads the manifest and every object once", async () => {
        const commit = await deliver(driver, a, "attempt-1");
        const writes = recordCalls();
        const reads = recordCalls();
        const observer = rig.openDriverWith({ writer: writes.around, reader: reads.around });
        const before = rig.readersOpened();
        expect(matches(await probe(observer, a, commit), sample)).toBe(true);
        expect(rig.readersOpened()).toBe(before + 1);
        expect(writes.calls).toEqual([]);
        const opened = reads.calls.filter(({ method }) => method === "open").map(({ target }) => target);
        for (const object of ["manifest.json", ...partsOf(a.plan)]) {
          expect(opened.filter((target) => target === key(object))).toHaveLength(1);
        }
      });

      for (const object of ["manifest.json", "part-00000.jsonl", "part-00002.jsonl", ...sideNames]) {
        it(`sees another ${object}, while all that the writer keeps is intact`, async () => {
          const commit = await deliver(driver, a, "attempt-1");
          await rig.replace(key(object), flipped((await rig.read(a.plan, object)) ?? new Uint8Array()));
          const observation = await probe(driver, a, commit);
          expect(matches(observation, sample)).toBe(false);
          expect(observation).toMatchObject({ outcome: "read" });
        });
      }

      it("sees a delivery that is consistent in itself but is not the one committed", async () => {
        const commit = await deliver(driver, a, "attempt-1");
        const impostor = await createSampleDelivery({ revisionId: "revision-a", rowCount: 7, seed: 9 });
        await driver.withdraw(a.plan, "data", attempt());
        await deliver(driver, prepare(driver, impostor, "materialization-a"), "attempt-2");
        expect(matches(await probe(driver, a, commit), sample)).toBe(false);
        await impostor.close();
      });

      it("sees a manifest that is not the committed one, though it lists the same rows", async () => {
        const commit = await deliver(driver, a, "attempt-1");
        await driver.withdraw(a.plan, "data", attempt());
        const manifest = { ...(a.plan["manifest"] as JsonObject), created_at: "2026-03-09T02:00:01Z" };
        await deliver(driver, { sample, plan: { ...a.plan, manifest } }, "attempt-2");
        const observation = await probe(driver, a, commit);
        expect(observation).toMatchObject({ outcome: "read", findings: [{ code: "MANIFEST_DIGEST_MISMATCH" }] });
      });

      it("is not yet when nothing is there, and when the reader is refused; never a mismatch", async () => {
        const commit = await deliver(driver, a, "attempt-1");
        const refused = rig.openDriverWith({ reader: always("DESTINATION_FORBIDDEN") });
        expect(await probe(refused, a, commit)).toEqual({ outcome: "not_yet", code: "READER_FORBIDDEN" });
        const missing = rig.openDriverWith({ reader: always("DESTINATION_MISSING") });
        expect(await probe(missing, a, commit)).toEqual({ outcome: "not_yet", code: "NOT_YET_VISIBLE" });
        await driver.withdraw(a.plan, "data", attempt());
        expect(await probe(driver, a, commit)).toEqual({ outcome: "not_yet", code: "NOT_YET_VISIBLE" });
      });

      it("is repeated when the provider is in trouble: that says nothing about the delivery", async () => {
        const commit = await deliver(driver, a, "attempt-1");
        for (const method of ["open", "read"]) {
          for (const code of ["DESTINATION_UNREACHABLE", "DESTINATION_THROTTLED"] as const) {
            const error = () => new DeliveryError(code);
            const reader = failWhere((call) => call.method === method, { error });
            await rejects(probe(rig.openDriverWith({ reader }), a, commit), code);
          }
        }
        const late = failWhere((call) => call.method === "read" && call.target === key("part-00002.jsonl"));
        await rejects(probe(rig.openDriverWith({ reader: late }), a, commit), "DESTINATION_UNREACHABLE");
      });

      it("leaves the digest out under manifest_checksums, and still counts, totals and hashes", async () => {
        const commit = await deliver(driver, a, "attempt-1");
        const observation = await driver.probe(a.plan, commit, "manifest_checksums", attempt());
        expect(observation).not.toHaveProperty("canonicalDigest");
        expect(observation).toMatchObject({
          rowCount: 7,
          controlTotals: sample.revision.control_totals,
          manifestSha256: commit["manifest_sha256"],
          findings: [],
        });
        const contents = await rig.contents(a.plan);
        expect(observation).toMatchObject({
          physicalChecksums: partsOf(a.plan).map((name) => ({
            object_ref: name,
            algorithm: "sha256",
            value: contents.get(key(name)),
          })),
        });
      });
    });

    it("a withdrawal that dies anywhere leaves all or nothing to see, and the next one completes it", async () => {
      const recorder = recordCalls();
      const commit = await deliver(driver, a, "attempt-1");
      await rig.openDriverWith({ writer: recorder.around }).withdraw(a.plan, "data", attempt());
      for (const when of ["before", "after"] as const) {
        for (let n = 0; n < recorder.calls.length; n++) {
          await deliver(driver, a, `attempt-${when}-${n}`);
          const victim = rig.openDriverWith({ writer: crashAt(n, when) });
          await expect(victim.withdraw(a.plan, "data", attempt())).rejects.toThrow();
          const observation = await probe(driver, a, commit);
          if (observation.outcome === "read") expect([n, matches(observation, sample)]).toEqual([n, true]);
          await driver.withdraw(a.plan, "data", attempt());
          expect(await rig.contents(a.plan)).toEqual(new Map());
        }
      }
    });

    it("a stored plan that was tampered with leads nowhere", async () => {
      for (const change of [
        { folder: "../outside" },
        { folder: "/etc" },
        { parts: ["../../part"] },
        { parts: [".x"] },
      ]) {
        const plan = { ...a.plan, ...change };
        await rejects(driver.write(plan, sample.content, attempt()), "DESTINATION_UNSAFE");
        await rejects(driver.withdraw(plan, "data", attempt()), "DESTINATION_UNSAFE");
        await rejects(driver.findCommit(plan, attempt()), "DESTINATION_UNSAFE");
      }
      const elsewhere = { ...a.plan, location: "file:///elsewhere" };
      await rejects(driver.write(elsewhere, sample.content, attempt()), "CONFIGURATION_INVALID");
      await rejects(driver.findCommit({ ...a.plan, parts: [] }, attempt()), "INTERNAL");
      await rejects(
        driver.write(
          { ...a.plan, manifest: { row_count: 7, reporting_revision_id: "revision-a" } },
          sample.content,
          attempt(),
        ),
        "INTERNAL",
      );
    });
  });
}

function always(code: FailureCode): Around {
  return failWhere(() => true, { error: () => new DeliveryError(code), times: Number.POSITIVE_INFINITY });
}

function afterwards(act: (call: Call) => Promise<void>): Around {
  return async (call, run) => {
    const result = await run();
    await act(call);
    return result;
  };
}

async function rejects(call: Promise<unknown>, code: FailureCode): Promise<void> {
  const error = await call.then(
    (result) => ({ result }),
    (thrown: unknown) => thrown,
  );
  expect(error).toMatchObject({ name: "DeliveryError", code });
}
