/** What a statement takes and gives. bigint also for parameters of bigint columns; Uint8Array for bytea. */
export type SqlValue = string | number | bigint | boolean | null | Uint8Array;
/** bigint columns arrive as bigint, text as string, bytea as Uint8Array, boolean as boolean, integer as number. */
export type SqlRow = { readonly [column: string]: SqlValue };

/**
 * One statement at a time against the ledger database, PGlite or PostgreSQL.
 * Parameters are $1..$n; text never contains values. Inside `transaction` use only the handle passed in.
 */
export interface Sql {
  query<T extends SqlRow = SqlRow>(text: string, parameters?: readonly SqlValue[]): Promise<readonly T[]>;
  /** Commits when `work` resolves, rolls back when it throws. A commit that the database turned into a rollback throws. */
  transaction<T>(work: (tx: Sql) => Promise<T>): Promise<T>;
}

/** A ledger database with a lifetime. */
export interface Database extends Sql {
  /** Runs a migration script of several statements in one transaction, all or nothing; never with user text. */
  script(text: string): Promise<void>;
  close(): Promise<void>;
}
