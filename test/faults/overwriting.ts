import type { ObjectStore } from "../../drivers/file-transfer/object-store.ts";
import type { Around } from "./around.ts";

/** A destination that ignores the condition of a create-only write: what stands at the name is replaced, and the write succeeds. */
export function overwriting(store: ObjectStore): Around {
  return async (call, act) => {
    if (call.method === "putIfAbsent") await store.remove(call.target, { signal: new AbortController().signal });
    return await act();
  };
}
