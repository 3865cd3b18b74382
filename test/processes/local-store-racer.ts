import { createLocalStore } from "../../drivers/file-transfer/local/store.ts";
import { bodyOf } from "../faults/bodies.ts";

/** Tries to create the same keys as its rivals in other processes. Arguments: root, own name, keys. Prints the keys it created as JSON. */
const [root = "", name = "", ...keys] = process.argv.slice(2);
const store = createLocalStore({ root });
const created: string[] = [];

process.stdout.write("ready\n");
process.stdin.once("data", async () => {
  for (const key of keys) {
    const body = bodyOf(`${name} `.repeat(20_000), 1000);
    const options = { contentType: "text/plain", attemptKey: name, signal: new AbortController().signal };
    const { outcome } = await store.putIfAbsent(key, body, options);
    if (outcome === "created") created.push(key);
  }
  process.stdout.write(`${JSON.stringify(created)}\n`);
  process.stdin.destroy();
});
