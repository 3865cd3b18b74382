import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { freshPglite } from "../conformance/ledger/fresh-pglite.ts";
import { type DeliveryWorld, deliveryWorld } from "./delivery-world.ts";

export interface UsedWorld {
  readonly world: DeliveryWorld;
  readonly directory: string;
}

/** One world for the suite that calls this: each attempt in it is for an obligation of its own, so tests do not meet. */
export function useWorld(): UsedWorld {
  let used: UsedWorld | undefined;
  const get = (): UsedWorld => {
    if (used === undefined) throw new Error("the world is there once the suite runs");
    return used;
  };
  beforeAll(async () => {
    const directory = await mkdtemp(join(tmpdir(), "waybill-worker-"));
    used = { directory, world: await deliveryWorld(await freshPglite(), directory) };
  });
  afterAll(async () => {
    await used?.world.db.close();
    if (used !== undefined) await rm(used.directory, { recursive: true, force: true });
  });
  return {
    get world() {
      return get().world;
    },
    get directory() {
      return get().directory;
    },
  };
}

/** A signal that nobody aborts. */
export const calm: AbortSignal = new AbortController().signal;
