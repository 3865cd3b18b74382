import type { DriverTraits } from "../../../drivers/driver.ts";
import { fileDriverConformance } from "../../conformance/file-driver.ts";
import { createMemoryPlace, createMemoryStore } from "../../faults/memory-store.ts";

for (const [name, options] of [
  ["memory", {}],
  ["memory with versions and hashes", { versions: true, computesSha256: true }],
] as const) {
  fileDriverConformance(name, async () => {
    const place = createMemoryPlace(options);
    const traits: DriverTraits = {
      transport: "memory",
      method: "file_transfer",
      immutability: "immutable_location",
      verificationPaths: ["producer"],
      visibilityWindowMs: 0,
      revocable: false,
    };
    return {
      traits,
      settings: {},
      canaries: [],
      openWriter: () => createMemoryStore(place),
      openReader: () => createMemoryStore(place),
      replace: async (key, bytes) => {
        place.objects.set(key, { bytes, version: (place.objects.get(key)?.version ?? 0) + 1 });
      },
      close: async () => undefined,
    };
  });
}
