import type { Sql } from "../../store/sql.ts";
import type { ConfigurationKey } from "../configuration-key.ts";
import type { ConfigurationGeneration, DestinationGeneration, Scope } from "../ledger-records.ts";
import { fromStored } from "../stored-json.ts";
import { type Page, type PageRequest, pageOf, windowOf, windowSql, windowValues } from "./page.ts";
import { accountOf } from "./scope.ts";

/** An installed configuration generation with its destination. */
export interface ConfigurationEntry {
  readonly configuration: ConfigurationGeneration;
  readonly destination: DestinationGeneration;
  /** False once either was deactivated. */
  readonly active: boolean;
}

type ConfigurationRow = {
  readonly account_id: string;
  readonly seq: bigint;
  readonly configuration: string;
  readonly destination: string;
  readonly active: boolean;
};

const selectConfiguration = `select c.account_id, c.seq, c.content as configuration, d.content as destination,
    c.deactivated_at is null and d.deactivated_at is null as active
  from configuration c join destination d using (destination_ref)`;

const entryOf = (row: ConfigurationRow): ConfigurationEntry => ({
  configuration: fromStored<ConfigurationGeneration>(row.configuration),
  destination: fromStored<DestinationGeneration>(row.destination),
  active: row.active,
});

/** Undefined when there is none in this scope. */
export async function findConfiguration(
  db: Sql,
  scope: Scope,
  key: ConfigurationKey,
): Promise<ConfigurationEntry | undefined> {
  const [row] = await db.query<ConfigurationRow>(
    `${selectConfiguration} where ($1::text is null or c.account_id = $1) and c.account_id = $2
       and c.delivery_config_id = $3 and c.delivery_config_version = $4`,
    [accountOf(scope), key.accountId, key.deliveryConfigId, key.deliveryConfigVersion],
  );
  return row === undefined ? undefined : entryOf(row);
}

/** Generations in the order of their installation, inactive ones included. */
export async function listConfigurations(
  db: Sql,
  scope: Scope,
  request: PageRequest & { readonly destinationRef?: string } = {},
): Promise<Page<ConfigurationEntry>> {
  const destination = request.destinationRef ?? null;
  const list = ["configurations", accountOf(scope), destination];
  const window = windowOf(list, request);
  const rows = await db.query<ConfigurationRow>(
    `${selectConfiguration} where ($1::text is null or c.account_id = $1) and ($2::text is null or c.destination_ref = $2)
     ${windowSql("c", window, 3)}`,
    [accountOf(scope), destination, ...windowValues(window)],
  );
  return pageOf(list, window, rows, (row) => ({ accountId: row.account_id, seq: row.seq }), entryOf);
}
