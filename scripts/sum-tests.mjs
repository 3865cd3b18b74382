// Adds up the closing lines of several test logs and prints one: `N passed, N failed, N skipped`. Exit 1 when any failed or none ran.
import { readFileSync } from "node:fs";

let [passed, failed, skipped] = [0, 0, 0];
for (const path of process.argv.slice(2)) {
  const lines = readFileSync(path, "utf8").match(/^\d+ passed, \d+ failed, \d+ skipped$/gm);
  const counts = lines?.at(-1)?.match(/\d+/g)?.map(Number);
  if (counts === undefined) {
    console.error(`${path} has no closing line`);
    process.exit(1);
  }
  passed += counts[0];
  failed += counts[1];
  skipped += counts[2];
}
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exit(failed > 0 || passed === 0 ? 1 : 0);
