import type { JsonObject } from "../core/json.ts";
import type { VerificationPath } from "../core/model/records.ts";

/** What a driver is made from; a DestinationGeneration is one. */
export interface DestinationBinding {
  /** Wire word: `local_fs`, `s3`, … */
  readonly transport: string;
  readonly verification_path: VerificationPath;
  readonly settings: JsonObject;
}

/** What the process lends to drivers. */
export interface DriverEnvironment {
  /** Folder for temporary files of the read-back. */
  readonly spoolDirectory: string;
  /** Resolves `env:NAME` or `file:/path`. Throws WaybillError `usage` that names the reference, never the value. */
  secret(reference: string): Promise<string>;
}
