import type { Sql } from "../../store/sql.ts";

/** A materialization that a worker may claim now. */
export interface Due {
  readonly materializationId: string;
  readonly transport: string;
  readonly nextRunAtUs: bigint;
}

type DueRow = {
  readonly reporting_materialization_id: string;
  readonly transport: string;
  readonly next_run_at: bigint;
};

/** The longest waiting first, those whose lease has ended included. For workers: not scoped to an account. */
export async function due(
  db: Sql,
  options: { readonly transports?: readonly string[]; readonly limit: number },
): Promise<readonly Due[]> {
  const rows = await db.query<DueRow>(
    `select reporting_materialization_id, transport, next_run_at from delivery_work
     where phase <> 'done' and next_run_at <= ledger_now() and (lease_until is null or lease_until <= ledger_now())
       and ($1::text is null or transport = any (string_to_array($1, ',')))
     order by next_run_at, reporting_materialization_id limit $2::bigint`,
    [transportList(options.transports), BigInt(options.limit)],
  );
  return rows.map((row) => ({
    materializationId: row.reporting_materialization_id,
    transport: row.transport,
    nextRunAtUs: row.next_run_at,
  }));
}

/** When the next pending delivery can be claimed, by its schedule or the end of its lease, and what the database's clock says now. Undefined: none is pending. */
export async function nextDueAt(
  db: Sql,
  options: { readonly transports?: readonly string[] } = {},
): Promise<{ readonly atUs: bigint; readonly nowUs: bigint } | undefined> {
  const [row] = await db.query<{ at: bigint | null; now: bigint }>(
    `select min(greatest(next_run_at, coalesce(lease_until, next_run_at))) as at, ledger_now() as now from delivery_work
     where phase <> 'done' and ($1::text is null or transport = any (string_to_array($1, ',')))`,
    [transportList(options.transports)],
  );
  return row === undefined || row.at === null ? undefined : { atUs: row.at, nowUs: row.now };
}

/** The wire's transport words hold no comma. */
function transportList(transports: readonly string[] | undefined): string | null {
  return transports === undefined ? null : transports.join(",");
}

/** A withdrawal that was announced. */
export interface Tombstone {
  readonly materializationId: string;
  readonly what: "access" | "data";
  readonly reason: string;
  readonly placedAtUs: bigint;
  readonly settledAtUs: bigint | undefined;
}

type TombstoneRow = {
  readonly reporting_materialization_id: string;
  readonly what: string;
  readonly reason: string;
  readonly placed_at: bigint;
  readonly settled_at: bigint | null;
};

/** Withdrawals that are open, or were announced within `recheckMs`, oldest first. For sweepers. */
export async function tombstonesToCheck(
  db: Sql,
  options: { readonly recheckMs: number; readonly limit: number },
): Promise<readonly Tombstone[]> {
  const rows = await db.query<TombstoneRow>(
    `select reporting_materialization_id, what, reason, placed_at, settled_at from tombstone
     where settled_at is null or placed_at > ledger_now() - $1::bigint
     order by placed_at, reporting_materialization_id limit $2::bigint`,
    [BigInt(options.recheckMs) * 1000n, BigInt(options.limit)],
  );
  return rows.map((row) => ({
    materializationId: row.reporting_materialization_id,
    what: row.what as Tombstone["what"],
    reason: row.reason,
    placedAtUs: row.placed_at,
    settledAtUs: row.settled_at ?? undefined,
  }));
}
