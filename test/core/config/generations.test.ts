import { describe, expect, it } from "vitest";
import { destinationGeneration } from "../../../core/config/generations.ts";

const destination = {
  destination_id: "buyer-folder",
  transport: "local_fs",
  hosting: "producer",
  verification_path: "producer",
  retention_days: 90,
  settings: { location: "file:///srv/reports", format: "jsonl", compression: "gzip" },
} as const;

describe("destination generations", () => {
  it("an exact replay keeps its ref, whatever the order of its members", () => {
    const reordered = {
      ...destination,
      settings: { compression: "gzip", format: "jsonl", location: "file:///srv/reports" },
    };
    expect(destinationGeneration(reordered as typeof destination).destination_ref).toBe(
      destinationGeneration(destination).destination_ref,
    );
    expect(destinationGeneration(destination).destination_ref).toMatch(/^buyer-folder\.[0-9a-f]{12}$/);
  });

  it("any other content gets another ref", () => {
    const refs = [
      destination,
      { ...destination, retention_days: 91 },
      { ...destination, hosting: "buyer" as const },
      { ...destination, settings: { ...destination.settings, format: "csv" } },
    ].map((entry) => destinationGeneration(entry).destination_ref);
    expect(new Set(refs).size).toBe(4);
  });
});
