import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DeliveryError } from "../../core/errors.ts";
import { type Call, failWhere, recordCalls } from "../faults/around.ts";
import { overwriting } from "../faults/overwriting.ts";
import { attemptOf } from "./driver.ts";
import { createFileRig, type FilePlace, type FileRig } from "./file-rig.ts";

/** What a proof says about an honest file destination and about one that lies, and that it leaves nothing there. */
export function fileProof(name: string, createPlace: () => Promise<FilePlace>): void {
  describe(`proof of the destination: ${name}`, () => {
    let rig: FileRig;
    let attempts = 0;
    const attempt = (signal?: AbortSignal) => attemptOf(`proof-${++attempts}`, signal);
    const prove = (options: Parameters<FileRig["openDriverWith"]>[0] = {}, signal?: AbortSignal) => {
      const proving = rig.openDriverWith(options).prove?.(attempt(signal));
      if (proving === undefined) throw new Error("the driver proves nothing");
      return proving;
    };
    /** Every object of the destination. */
    const standing = async (): Promise<readonly string[]> => {
      const keys: string[] = [];
      for await (const { key } of rig.store.list("", attempt())) keys.push(key);
      return keys;
    };

    beforeEach(async () => {
      rig = await createFileRig(await createPlace());
    });
    afterEach(() => rig.close());

    it("passes every check, with nothing to do, and leaves nothing behind", async () => {
      const proof = await prove();
      expect(proof).toMatchObject({ outcome: "pass", failure_code: null });
      const names = proof.checks.map((check) => check.name);
      expect(names.slice(0, 4)).toEqual(["write", "read_back", "create_only", "checksum"]);
      expect(names.at(-1)).toBe("clean_up");
      for (const check of proof.checks) expect(check).toEqual({ name: check.name, outcome: "pass", fix: null });
      expect(await standing()).toEqual([]);
    });

    it("may be run by several workers at once, and again", async () => {
      const proofs = [...(await Promise.all([prove(), prove(), prove()])), await prove()];
      expect(proofs.map(({ outcome }) => outcome)).toEqual(["pass", "pass", "pass", "pass"]);
      expect(await standing()).toEqual([]);
    });

    it("fails a place that overwrites what it was told to create, and tests the rest all the same", async () => {
      const proof = await prove({ writer: overwriting(rig.store) });
      expect(proof).toMatchObject({ outcome: "fail", failure_code: "DESTINATION_UNSAFE" });
      expect(proof.checks.find((check) => check.name === "create_only")).toMatchObject({
        outcome: "fail",
        fix: expect.stringMatching(/.{20}/),
      });
      expect(proof.checks.find((check) => check.name === "checksum")).toMatchObject({ outcome: "pass" });
      expect(await standing()).toEqual([]);
    });

    it("fails a place that cannot be written to, with what is missing, and tests nothing else", async () => {
      for (const code of ["DESTINATION_FORBIDDEN", "DESTINATION_MISSING", "DESTINATION_FULL"] as const) {
        const writer = failWhere(isPut, { error: () => new DeliveryError(code), times: Number.POSITIVE_INFINITY });
        const proof = await prove({ writer });
        expect(proof).toMatchObject({ outcome: "fail", failure_code: code });
        const [write, ...rest] = proof.checks;
        expect(write).toMatchObject({ name: "write", outcome: "fail", fix: expect.stringMatching(/.{10}/) });
        for (const check of rest) expect(check).toMatchObject({ outcome: "unknown", fix: null });
      }
    });

    it("fails where the reader may not read, and where it sees nothing", async () => {
      const forbidden = failWhere(isRead, {
        error: () => new DeliveryError("DESTINATION_FORBIDDEN"),
        times: Number.POSITIVE_INFINITY,
      });
      expect(await prove({ reader: forbidden })).toMatchObject({ outcome: "fail", failure_code: "READER_FORBIDDEN" });
      const blind = { reader: async <T>(call: Call, act: () => Promise<T>) => (isRead(call) ? hidden<T>() : act()) };
      expect(await prove(blind)).toMatchObject({ outcome: "fail", failure_code: "NOT_YET_VISIBLE" });
      expect(await standing()).toEqual([]);
    });

    it("says nothing when the place did not answer, wherever that was, and leaves nothing behind", async () => {
      const recorder = recordCalls();
      await prove({ writer: recorder.around, reader: recorder.around });
      const calls = recorder.calls.filter(({ method }) => method !== "remove").length;
      for (const when of ["before", "after"] as const) {
        for (let n = 0; n < calls; n++) {
          let seen = 0;
          const around = failWhere(() => seen++ === n, { when });
          const proof = await prove({ writer: around, reader: around }).catch((error: unknown) => error);
          if (proof instanceof Error) expect(proof).toMatchObject({ code: "DESTINATION_UNREACHABLE" });
          else expect(proof).toMatchObject({ outcome: "pass" });
          expect([n, when, await standing()]).toEqual([n, when, []]);
        }
      }
    });

    it("removes its probe also when it is aborted, and the abort passes unchanged", async () => {
      const reason = new Error("shutting down");
      const stop = new AbortController();
      const writer = async <T>(call: Call, act: () => Promise<T>): Promise<T> => {
        const result = await act();
        if (call.method === "putIfAbsent") stop.abort(reason);
        return result;
      };
      await expect(prove({ writer }, stop.signal)).rejects.toBe(reason);
      expect(await standing()).toEqual([]);
    });

    it("passes where nothing can be removed, and says so: such a place keeps what it is given", async () => {
      const writer = failWhere(({ method }) => method === "remove", {
        error: () => new DeliveryError("DESTINATION_FORBIDDEN"),
        times: Number.POSITIVE_INFINITY,
      });
      const proof = await prove({ writer });
      expect(proof.outcome).toBe("pass");
      expect(proof.checks.at(-1)).toMatchObject({ name: "clean_up", outcome: "unknown", fix: expect.any(String) });
    });

    it("tells no secret", async () => {
      const told = JSON.stringify([await prove(), await prove({ writer: overwriting(rig.store) })]);
      for (const canary of rig.canaries) expect(told).not.toContain(canary);
    });
  });
}

const isPut = ({ method }: Call): boolean => method === "putIfAbsent";
const isRead = ({ method }: Call): boolean => method === "stat" || method === "open";

/** What a port answers about an object that it does not see. */
async function hidden<T>(): Promise<T> {
  return undefined as T;
}
