import { createInterface } from "node:readline";
import { finishReady } from "../../core/ledger/transitions.ts";
import { migrate } from "../../core/store/migrate.ts";
import { openPglite } from "../../core/store/pglite.ts";
import { readyOutcome } from "../conformance/ledger/records.ts";
import { claimed, committed, opened, owed } from "../conformance/ledger/world.ts";

/**
 * Opens the ledger in the folder given and does what the second argument says; each word it prints is a point where the test may kill it.
 * hold: "open", then waits for a line before it closes. deliver: "ready" after a whole delivery. break: "open transaction" in
 * the middle of one. The process never ends by itself in the last two.
 */
const [directory = "", what = "hold"] = process.argv.slice(2);
const say = (word: string): void => void process.stdout.write(`${word}\n`);
const forEver = (): Promise<never> => new Promise(() => setInterval(() => undefined, 1000));

try {
  const db = await openPglite(directory);
  await migrate(db);
  say("open");
  if (what === "hold") {
    for await (const _ of createInterface(process.stdin)) break;
    await db.close();
    say("closed");
    process.stdin.destroy();
  } else {
    const { revision } = await owed(db);
    const lease = await claimed(db, await opened(db));
    await committed(db, lease);
    if (what === "break") {
      await db.transaction(async (tx) => {
        await tx.query("insert into account_seq values ('acct-broken', 1, 1)");
        say("open transaction");
        await forEver();
      });
    }
    await finishReady(db, lease, readyOutcome(revision));
    say("ready");
    await forEver();
  }
} catch (error) {
  say(`refused ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 2;
}
