import { afterEach, beforeEach, expect, it } from "vitest";
import { due } from "../../core/ledger/queries.ts";
import { claim, expireAllLeases, renew } from "../../core/ledger/transitions.ts";
import type { Database } from "../../core/store/sql.ts";
import { freshPglite } from "../conformance/ledger/fresh-pglite.ts";
import { opened, owed } from "../conformance/ledger/world.ts";

let db: Database;
beforeEach(async () => {
  db = await freshPglite();
});
afterEach(() => db.close());

it("a ledger that one process has to itself does not wait for the leases of dead ones", async () => {
  await owed(db);
  const { reporting_materialization_id: materializationId } = await opened(db);
  const claimed = await claim(db, { materializationId, workerId: "killed", leaseMs: 3_600_000 });
  expect(await due(db, { limit: 10 })).toEqual([]);
  expect(await expireAllLeases(db)).toMatchObject([{ materializationId, outcome: "due" }]);
  expect(await due(db, { limit: 10 })).toMatchObject([{ materializationId }]);
  // The token of the dead worker is worth nothing any more.
  await expect(claimed === undefined ? undefined : renew(db, claimed.lease, 1_000)).rejects.toMatchObject({
    code: "LEASE_LOST",
  });
});
