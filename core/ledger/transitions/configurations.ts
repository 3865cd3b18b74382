import { canonicalJson } from "../../canonical-json.ts";
import type { Database, Sql } from "../../store/sql.ts";
import { type ConfigurationKey, configurationSubject } from "../configuration-key.ts";
import { configurationProblems } from "../configuration-rules.ts";
import { lockAccount, recordFacts } from "../facts.ts";
import type { ConfigurationGeneration, DestinationGeneration } from "../ledger-records.ts";
import { refusal, refuseProblems } from "../refusal.ts";

/**
 * Installs a configuration generation with its destination generation. Exact replay is "unchanged". Refused: other content
 * under the same version (CONFIGURATION_IMMUTABLE) or the same destination_ref (DESTINATION_IMMUTABLE), a generation that
 * was deactivated (CONFIGURATION_INACTIVE, DESTINATION_INACTIVE), and content that breaks a rule (INVALID_CONFIGURATION).
 */
export async function installConfiguration(
  db: Database,
  {
    configuration,
    destination,
  }: {
    readonly configuration: ConfigurationGeneration;
    readonly destination: DestinationGeneration;
  },
): Promise<"installed" | "unchanged"> {
  refuseProblems(configurationProblems(configuration, destination));
  return await db.transaction(async (tx) => {
    await installDestination(tx, destination);
    const key = keyOf(configuration);
    const content = canonicalJson(configuration);
    await lockAccount(tx, key.accountId);
    const found = await selectConfiguration(tx, key);
    if (found === undefined) return await insertConfiguration(tx, key, configuration, content);
    const name = `delivery configuration ${key.deliveryConfigId} version ${key.deliveryConfigVersion}`;
    if (found.content !== content) {
      const message = `${name} is installed with other content; raise delivery_config_version`;
      throw refusal("CONFIGURATION_IMMUTABLE", message, "delivery_config_version");
    }
    if (found.deactivated_at === null) return "unchanged";
    const message = `${name} was deactivated; raise delivery_config_version to deliver again`;
    throw refusal("CONFIGURATION_INACTIVE", message, "delivery_config_version");
  });
}

function keyOf(configuration: ConfigurationGeneration): ConfigurationKey {
  return {
    accountId: configuration.account_id,
    deliveryConfigId: configuration.delivery_config_id,
    deliveryConfigVersion: configuration.delivery_config_version,
  };
}

async function installDestination(tx: Sql, destination: DestinationGeneration): Promise<void> {
  const content = canonicalJson(destination);
  await tx.query(
    `insert into destination (destination_ref, content, installed_at) values ($1, $2, ledger_now())
     on conflict do nothing`,
    [destination.destination_ref, content],
  );
  const [found] = await tx.query<{ content: string; deactivated_at: bigint | null }>(
    "select content, deactivated_at from destination where destination_ref = $1 for share",
    [destination.destination_ref],
  );
  if (found?.content !== content) {
    const message = `destination ${destination.destination_ref} is installed with other content; a changed destination needs a new destination_ref`;
    throw refusal("DESTINATION_IMMUTABLE", message, "destination_ref");
  }
  if (found.deactivated_at !== null) {
    const message = `destination ${destination.destination_ref} was deactivated; install it under a new destination_ref`;
    throw refusal("DESTINATION_INACTIVE", message, "destination_ref");
  }
}

type ConfigurationRow = { readonly content: string; readonly deactivated_at: bigint | null };

async function selectConfiguration(tx: Sql, key: ConfigurationKey): Promise<ConfigurationRow | undefined> {
  const [row] = await tx.query<ConfigurationRow>(
    `select content, deactivated_at from configuration
     where account_id = $1 and delivery_config_id = $2 and delivery_config_version = $3`,
    [key.accountId, key.deliveryConfigId, key.deliveryConfigVersion],
  );
  return row;
}

async function insertConfiguration(
  tx: Sql,
  key: ConfigurationKey,
  configuration: ConfigurationGeneration,
  content: string,
): Promise<"installed" | "unchanged"> {
  const subjectId = configurationSubject(key);
  const detail = { destination_ref: configuration.destination_ref };
  const { first, atUs } = await recordFacts(tx, key.accountId, [
    { kind: "configuration", subjectId, event: "installed", detail },
  ]);
  await tx.query(
    `insert into configuration (account_id, delivery_config_id, delivery_config_version, destination_ref, content,
       installed_at, seq)
     values ($1, $2, $3, $4, $5, $6, $7)`,
    [
      key.accountId,
      key.deliveryConfigId,
      key.deliveryConfigVersion,
      configuration.destination_ref,
      content,
      atUs,
      first,
    ],
  );
  return "installed";
}

/**
 * Ends the authority of one configuration generation: its running deliveries end UNAUTHORIZED, new ones are refused.
 * False when there is no active one.
 */
export async function deactivateConfiguration(db: Database, key: ConfigurationKey, reason: string): Promise<boolean> {
  return await db.transaction(async (tx) => {
    const changed = await tx.query(
      `update configuration set deactivated_at = ledger_now()
       where account_id = $1 and delivery_config_id = $2 and delivery_config_version = $3 and deactivated_at is null
       returning 1`,
      [key.accountId, key.deliveryConfigId, key.deliveryConfigVersion],
    );
    if (changed.length === 0) return false;
    const subjectId = configurationSubject(key);
    await recordFacts(tx, key.accountId, [
      { kind: "configuration", subjectId, event: "deactivated", detail: { reason } },
    ]);
    return true;
  });
}

/** Ends the authority of a destination generation for every configuration bound to it. False when there is no active one. */
export async function deactivateDestination(db: Database, destinationRef: string, reason: string): Promise<boolean> {
  return await db.transaction(async (tx) => {
    const changed = await tx.query(
      `update destination set deactivated_at = ledger_now()
       where destination_ref = $1 and deactivated_at is null
       returning 1`,
      [destinationRef],
    );
    if (changed.length === 0) return false;
    // By name, so that two of these never wait for each other's account counters in a circle.
    const accounts = await tx.query<{ account_id: string }>(
      "select distinct account_id from configuration where destination_ref = $1 order by account_id",
      [destinationRef],
    );
    for (const { account_id } of accounts) {
      await recordFacts(tx, account_id, [
        { kind: "destination", subjectId: destinationRef, event: "deactivated", detail: { reason } },
      ]);
    }
    return true;
  });
}
