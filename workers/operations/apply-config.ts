import { type Problem, WaybillError } from "../../core/errors.ts";
import { installConfiguration, installDefinition } from "../../core/ledger/transitions.ts";
import type { Database } from "../../core/store/sql.ts";
import type { CheckedConfig } from "./check-config.ts";

/** What `config apply` did to one definition or feed. */
export interface Applied {
  readonly kind: "definition" | "feed";
  readonly id: string;
  readonly version?: number;
  readonly destination_ref?: string;
  readonly outcome: "installed" | "unchanged";
}

/**
 * Installs definitions and feeds that are not there yet; repeating it changes nothing. What the ledger refuses is reported together at
 * the end (WaybillError `usage`); what it took stays.
 */
export async function applyConfig(db: Database, config: CheckedConfig): Promise<readonly Applied[]> {
  const applied: Applied[] = [];
  const problems: Problem[] = [];
  const collect = async (work: () => Promise<Applied>): Promise<void> => {
    try {
      applied.push(await work());
    } catch (error) {
      if (!(error instanceof WaybillError)) throw error;
      problems.push(...error.problems);
    }
  };
  for (const documents of config.definitions) {
    await collect(async () => ({
      kind: "definition",
      id: documents.reportDefinitionId,
      outcome: await installDefinition(db, documents),
    }));
  }
  for (const feed of config.feeds) {
    const { configuration } = feed;
    await collect(async () => ({
      kind: "feed",
      id: configuration.delivery_config_id,
      version: configuration.delivery_config_version,
      destination_ref: configuration.destination_ref,
      outcome: await installConfiguration(db, feed),
    }));
  }
  if (problems.length > 0) throw new WaybillError("usage", problems);
  return applied;
}
