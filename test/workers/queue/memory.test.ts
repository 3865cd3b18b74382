import { describe, expect, it } from "vitest";
import { createMemoryQueue } from "../../../workers/queue/memory.ts";
import { collect, jobOf, queueConformance } from "../../conformance/queue.ts";

queueConformance("memory", async () => ({ queue: createMemoryQueue(), close: async () => undefined }));

describe("the memory queue", () => {
  it("refuses a second handler: one process has one", () => {
    const queue = createMemoryQueue();
    collect(queue);
    expect(() => collect(queue)).toThrow("handler");
  });

  it("forgets delayed jobs when it closes, so that a process can end", async () => {
    const queue = createMemoryQueue();
    const seen = collect(queue);
    await queue.add(jobOf("late"), { delayMs: 3_600_000 });
    await queue.close(1_000);
    await queue.idle();
    expect(seen.ids()).toEqual([]);
  });
});
