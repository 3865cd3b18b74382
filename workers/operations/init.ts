import { mkdir, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { configFileName } from "./config-file.ts";
import { draftDefinition } from "./draft-definition.ts";

const definitionFileName = "definition.yaml";

const reportsFolderName = "reports";

/**
 * Writes a commented configuration, a definition to replace and an empty folder for reports. Existing files are not overwritten: then
 * an error (EEXIST) and no file is written. Returns the absolute paths written.
 */
export async function init(directory: string): Promise<readonly string[]> {
  const config = join(directory, configFileName);
  const definition = join(directory, definitionFileName);
  await mkdir(join(directory, reportsFolderName), { recursive: true });
  await writeFile(config, configText(directory), { flag: "wx" });
  try {
    await writeFile(definition, exampleDefinition(), { flag: "wx" });
  } catch (error) {
    await rm(config);
    throw error;
  }
  return [config, definition];
}

function configText(directory: string): string {
  const reports = pathToFileURL(resolve(directory, reportsFolderName)).href;
  return `# Waybill's configuration. "waybill config check" lists everything that is wrong with it; nothing is read from elsewhere.
waybill: 1

# Where obligations, revisions and deliveries are recorded. Keep it: it is the seller's memory.
ledger: {embedded: ./.waybill}

# What the reports look like. "waybill define ROWS --key ..." drafts one from your own rows.
definitions: [./${definitionFileName}]

# Where reports go. A changed destination becomes a new generation; what was delivered stays where it is.
destinations:
  - destination_id: reports
    transport: local_fs             # docs/drivers has every transport and its settings
    hosting: producer               # producer: you host it, a delivery ends as available; buyer: theirs, it ends as delivered
    verification_path: producer     # who reads back: producer, representative_consumer or destination
    retention_days: 90              # how long a verified delivery stays readable
    settings:
      location: ${reports}
      format: jsonl                 # jsonl, csv or parquet
      compression: gzip             # none, gzip, zstd; snappy for parquet
      # Secrets are references, never values: env:NAME or file:/run/secrets/name

# Which report of which account goes where, and how often. A version once used never changes: raise it.
configurations:
  - delivery_config_id: daily
    delivery_config_version: 1
    account_id: acct-1
    report_definition_id: ${exampleId}
    feed_purpose: analytics         # pacing, analytics or billing
    required_finality: snapshot     # snapshot or official
    reconciliation_mode: delivery_only
    verification_profile: canonical_digest
    media_buy_ids: all              # or a list of ids
    destination: reports
    schedule: {period_duration: P1D, alignment: utc, delivery_sla: PT4H}
`;
}

const exampleId = "daily-ad-delivery";

function exampleDefinition(): string {
  const forbidden = { missing: "forbidden", notes: [] } as const;
  return draftDefinition({
    definitionId: exampleId,
    primaryKeys: ["report_date", "media_buy_id"],
    members: [
      { name: "report_date", type: { kind: "date" }, ...forbidden },
      { name: "media_buy_id", type: { kind: "string" }, ...forbidden },
      { name: "impressions", type: { kind: "integer-string", column: "int64" }, ...forbidden },
      { name: "spend", type: { kind: "decimal-string", precision: 18, scale: 6 }, ...forbidden },
    ],
    origin: "An example to replace: waybill define ROWS --key ... drafts one from your own rows.",
  });
}
