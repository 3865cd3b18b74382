import { describe, expect, it } from "vitest";
import { DeliveryError } from "../../../core/errors.ts";
import type { ObjectStore } from "../../../drivers/file-transfer/object-store.ts";
import { type DestinationToProve, proveDestination } from "../../../drivers/file-transfer/prove-destination.ts";
import { attemptOf } from "../../conformance/driver.ts";
import { aroundStore, failWhere } from "../../faults/around.ts";
import { createMemoryPlace, createMemoryStore, type MemoryPlace } from "../../faults/memory-store.ts";

const readOnly = (store: ObjectStore): ObjectStore =>
  aroundStore(
    store,
    failWhere(({ method }) => method === "putIfAbsent", {
      error: () => new DeliveryError("DESTINATION_FORBIDDEN"),
      times: Number.POSITIVE_INFINITY,
    }),
  );

async function prove(place: MemoryPlace, more: Partial<DestinationToProve> = {}) {
  const proof = await proveDestination({
    writer: createMemoryStore(place),
    openReader: () => createMemoryStore(place),
    consumer: undefined,
    fixFor: () => undefined,
    attempt: attemptOf("proof"),
    ...more,
  });
  expect([...place.objects.keys()]).toEqual([]);
  return proof;
}

const outcomeOf = (proof: Awaited<ReturnType<typeof prove>>, name: string) =>
  proof.checks.find((check) => check.name === name)?.outcome;

describe("a proof with the buyer's own identity", () => {
  const differs = async () => true;

  it("passes when the buyer may read and may not write", async () => {
    const place = createMemoryPlace();
    const openReader = () => readOnly(createMemoryStore(place));
    const proof = await prove(place, { consumer: { differs }, openReader });
    expect(proof).toMatchObject({ outcome: "pass" });
    expect(outcomeOf(proof, "identities_differ")).toBe("pass");
    expect(outcomeOf(proof, "reader_cannot_write")).toBe("pass");
  });

  it("refuses a buyer that may write: what it could change proves nothing", async () => {
    const proof = await prove(createMemoryPlace(), { consumer: { differs } });
    expect(proof).toMatchObject({ outcome: "fail", failure_code: "DESTINATION_UNSAFE" });
    expect(outcomeOf(proof, "reader_cannot_write")).toBe("fail");
  });

  it("refuses one identity for both, and does not guess where it cannot tell", async () => {
    const place = createMemoryPlace();
    const openReader = () => readOnly(createMemoryStore(place));
    const same = await prove(place, { consumer: { differs: async () => false }, openReader });
    expect(same).toMatchObject({ outcome: "fail", failure_code: "CONFIGURATION_INVALID" });
    const untold = await prove(place, { consumer: { differs: async () => undefined }, openReader });
    expect(outcomeOf(untold, "identities_differ")).toBe("unknown");
    expect(untold.outcome).toBe("pass");
  });

  it("knows nothing about a buyer whose mount is read with the process's own identity", async () => {
    const proof = await prove(createMemoryPlace(), { consumer: {} });
    expect(proof.outcome).toBe("pass");
    expect(outcomeOf(proof, "identities_differ")).toBe("unknown");
    expect(outcomeOf(proof, "reader_cannot_write")).toBe("unknown");
  });
});

describe("a proof of checksums", () => {
  /** Says that it checks what it is told, and does or does not. */
  const telling = (store: ObjectStore, checks: boolean): ObjectStore => ({
    ...store,
    sendsChecksum: true,
    putIfAbsent: async (key, body, options) => {
      if (checks && (options.declaredSha256 ?? body.sha256) !== body.sha256) {
        throw new DeliveryError("DESTINATION_UNREACHABLE");
      }
      return await store.putIfAbsent(key, body, options);
    },
  });

  it("passes a store that refuses what does not hash to what it was told", async () => {
    const place = createMemoryPlace();
    expect(await prove(place, { writer: telling(createMemoryStore(place), true) })).toMatchObject({ outcome: "pass" });
  });

  it("refuses one that takes it", async () => {
    const place = createMemoryPlace();
    const proof = await prove(place, { writer: telling(createMemoryStore(place), false) });
    expect(proof).toMatchObject({ outcome: "fail", failure_code: "DESTINATION_UNSAFE" });
    expect(outcomeOf(proof, "checksum")).toBe("fail");
  });

  it("refuses a store that shows a body before it was complete", async () => {
    const place = createMemoryPlace();
    const honest = createMemoryStore(place);
    const hasty: ObjectStore = {
      ...honest,
      putIfAbsent: async (key, body, options) => {
        const outcome = honest.putIfAbsent(key, body, options);
        return await outcome.catch((error: unknown) => {
          place.objects.set(key, { bytes: new Uint8Array([1]), version: 1 });
          throw error;
        });
      },
    };
    const proof = await prove(place, { writer: hasty });
    expect(outcomeOf(proof, "checksum")).toBe("fail");
  });
});

it("a destination that changes the probe is refused when it is read back", async () => {
  const place = createMemoryPlace();
  const openReader = (): ObjectStore => {
    const store = createMemoryStore(place);
    return {
      ...store,
      open: async (key, options) => {
        const stream = await store.open(key, options);
        return stream === undefined ? undefined : changed(stream);
      },
    };
  };
  const proof = await prove(place, { openReader });
  expect(proof).toMatchObject({ outcome: "fail", failure_code: "DESTINATION_UNSAFE" });
  expect(outcomeOf(proof, "read_back")).toBe("fail");
});

async function* changed(stream: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  for await (const chunk of stream) yield chunk.map((byte) => byte ^ 1);
}
