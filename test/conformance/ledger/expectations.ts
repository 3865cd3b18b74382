import { expect } from "vitest";
import { DeliveryError, WaybillError } from "../../../core/errors.ts";
import type { FailureCode } from "../../../core/failure-table.ts";
import type { Database } from "../../../core/store/sql.ts";

/** Expects a WaybillError whose problems have exactly these codes. */
export async function refused(work: Promise<unknown>, ...codes: readonly string[]): Promise<WaybillError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof WaybillError)) throw new Error("it was not refused", { cause: error });
  expect(error.problems.map(({ code }) => code)).toEqual(codes);
  return error;
}

/** Expects a DeliveryError of this code. */
export async function fails(work: Promise<unknown>, code: FailureCode): Promise<void> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(DeliveryError);
  expect(error).toMatchObject({ code });
}

const tables = [
  "account_seq",
  "definition",
  "destination",
  "configuration",
  "slice",
  "obligation",
  "revision",
  "materialization",
  "delivery_work",
  "tombstone",
  "journal",
  "outbox",
  "account_change",
] as const;

/** Every row of the ledger as text, to see that nothing changed. */
export async function everything(db: Database): Promise<readonly string[]> {
  const rows: string[] = [];
  for (const table of tables) {
    for (const row of await db.query(`select t::text as line from ${table} t order by 1`))
      rows.push(`${table} ${row["line"]}`);
  }
  return rows;
}

/** Expects that `work` leaves every row as it was. */
export async function unchanged<T>(db: Database, work: () => Promise<T>): Promise<T> {
  const before = await everything(db);
  const result = await work();
  expect(await everything(db)).toEqual(before);
  return result;
}

/** Rows of the outbox as [type, cause], in order. */
export async function outboxOf(db: Database): Promise<readonly (readonly [string, string])[]> {
  const rows = await db.query<{ event_type: string; cause_id: string }>(
    "select event_type, cause_id from outbox order by account_id, seq",
  );
  return rows.map(({ event_type, cause_id }) => [event_type, cause_id]);
}
