import { DeliveryError } from "../../../core/errors.ts";
import { objectStoreConformance } from "../../conformance/object-store.ts";
import { aroundStore } from "../../faults/around.ts";
import { createMemoryPlace, createMemoryStore, type MemoryPlace } from "../../faults/memory-store.ts";

for (const [name, options] of [
  ["memory", {}],
  ["memory with versions and hashes", { versions: true, computesSha256: true }],
] as const) {
  objectStoreConformance(name, async () => {
    const place: MemoryPlace = createMemoryPlace(options);
    const refusing = (code: "DESTINATION_MISSING" | "DESTINATION_FORBIDDEN") =>
      aroundStore(createMemoryStore(createMemoryPlace()), async () => {
        throw new DeliveryError(code);
      });
    return {
      openStore: () => createMemoryStore(place),
      replace: async (key, bytes) => {
        place.objects.set(key, { bytes, version: (place.objects.get(key)?.version ?? 0) + 1 });
      },
      openMissing: () => refusing("DESTINATION_MISSING"),
      openForbidden: () => refusing("DESTINATION_FORBIDDEN"),
      leaveUnfinished: async (folder, startedUs) => {
        place.unfinished.set(`${folder}/upload-${place.unfinished.size}`, startedUs);
      },
      close: async () => undefined,
    };
  });
}
