import type { JsonObject } from "../json.ts";
import type {
  FeedPurpose,
  Finality,
  ReconciliationMode,
  Schedule,
  VerificationPath,
  VerificationProfile,
} from "../model/records.ts";

/** `waybill.config.yaml` as written: paths are still relative to its folder, secrets are still references. */
export interface WaybillConfig {
  readonly waybill: 1;
  readonly ledger: LedgerConfig;
  /** Default: jobs in memory, for one process. */
  readonly queue?: QueueConfig;
  /** Default: a folder beside the ledger's. */
  readonly retained?: RetainedConfig;
  /** Paths of definition files. */
  readonly definitions: readonly string[];
  readonly destinations: readonly DestinationConfig[];
  readonly configurations: readonly DeliveryConfig[];
}

/** Where the ledger is. `work`: folder of this machine for work files. Default `.waybill` beside the file. */
export type LedgerConfig =
  | { readonly embedded: string }
  | { readonly postgres: { readonly url: string }; readonly work?: string };

/** `url` is a secret reference; `prefix` keeps installations apart on one Redis. Default `waybill`. */
export interface QueueConfig {
  readonly redis: { readonly url: string; readonly prefix?: string };
}

/** Where retained revisions are. All workers must reach the same place. */
export type RetainedConfig =
  | { readonly folder: string }
  /** Settings as of an s3 destination, without those about formats and readers. */
  | { readonly s3: JsonObject };

/** A place reports are delivered to. */
export interface DestinationConfig {
  readonly destination_id: string;
  /** Wire word; the drivers' registry knows which there are. */
  readonly transport: string;
  readonly hosting: "producer" | "buyer";
  readonly verification_path: VerificationPath;
  readonly retention_days: number;
  /** Checked by the transport's own driver. */
  readonly settings: JsonObject;
}

/** One feed: which report, of which account and buys, how often, to which destination. */
export interface DeliveryConfig {
  readonly delivery_config_id: string;
  readonly delivery_config_version: number;
  readonly account_id: string;
  readonly report_definition_id: string;
  readonly feed_purpose: FeedPurpose;
  readonly required_finality: Finality;
  readonly reconciliation_mode: ReconciliationMode;
  readonly verification_profile: VerificationProfile;
  readonly media_buy_ids: readonly string[] | "all";
  /** `destination_id` of one of the destinations. */
  readonly destination: string;
  readonly schedule: Schedule;
}
