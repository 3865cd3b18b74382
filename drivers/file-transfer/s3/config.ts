import { parseSecretReference } from "../../../core/config/secret-reference.ts";
import type { Problem } from "../../../core/errors.ts";
import type { DestinationBinding } from "../../destination-binding.ts";
import { readSettings, type SettingsReader } from "../../settings-reader.ts";
import { type FileSettings, readFileSettings } from "../file-settings.ts";

/** References to the parts of an access key, never the parts themselves. */
export interface S3CredentialReferences {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** A checked S3 destination. */
export interface S3Config extends FileSettings, S3Place {
  /** The buyer's identity; it never falls back to the process's own. */
  readonly reader: S3CredentialReferences | undefined;
}

/** A bucket, how it is reached and as whom. */
export interface S3Place {
  readonly bucket: string;
  /** Without slashes at either end; "" for the whole bucket. */
  readonly prefix: string;
  readonly region: string;
  readonly endpoint: string | undefined;
  readonly pathStyle: boolean;
  readonly checksums: "full" | "when_required";
  readonly bucketOwner: string | undefined;
  /** Undefined: the process's own identity (default credential chain). */
  readonly credentials: S3CredentialReferences | undefined;
}

/**
 * Checks `{location: "s3://bucket/prefix", region, endpoint?, path_style?, checksums?, bucket_owner?, credentials?, reader?:
 * {credentials}, format, compression, …}`. Credentials are `{access_key_id, secret_access_key, session_token?}`, each a secret reference.
 */
export function readS3Config(binding: DestinationBinding): {
  readonly config?: S3Config;
  readonly problems: readonly Problem[];
} {
  const settings = readSettings(binding.settings);
  const place = readPlace(settings);
  const files = readFileSettings(settings);
  const consumer = settings.optionalGroup("reader");
  const reader = readCredentials(consumer?.optionalGroup("credentials"));
  if (consumer !== undefined && reader === undefined) {
    consumer.problem("MISSING_SETTING", "credentials", "is required: the buyer's identity never falls back to another");
  }
  if (reader !== undefined && reader.accessKeyId === place?.credentials?.accessKeyId) {
    consumer?.problem("READER_IS_WRITER", "credentials", "must be another identity than the one that writes");
  }
  checkPath(settings, binding, reader);
  const problems = settings.finish();
  if (problems.length > 0 || place === undefined || files === undefined) return { problems };
  return { config: { ...files, ...place, reader }, problems };
}

/** Reads where objects go and as whom. Undefined when something is missing; the reader has the problems. */
export function readPlace(settings: SettingsReader): S3Place | undefined {
  const place = readLocation(settings);
  const region = settings.text("region");
  const endpoint = readEndpoint(settings);
  const pathStyle = settings.optionalBoolean("path_style") ?? endpoint !== undefined;
  const checksums = settings.optionalChoice("checksums", ["full", "when_required"] as const) ?? "full";
  const bucketOwner = settings.optionalText("bucket_owner");
  if (bucketOwner !== undefined && !/^\d{12}$/.test(bucketOwner)) {
    settings.problem("WRONG_SETTING", "bucket_owner", "must be an account id of 12 digits");
  }
  const credentials = readCredentials(settings.optionalGroup("credentials"));
  if (place === undefined || region === undefined) return undefined;
  return { ...place, region, endpoint, pathStyle, checksums, bucketOwner, credentials };
}

function checkPath(
  settings: SettingsReader,
  { verification_path }: DestinationBinding,
  reader: S3CredentialReferences | undefined,
): void {
  if (verification_path === "representative_consumer" && reader === undefined) {
    const message = "is required for verification_path representative_consumer; without it use producer";
    settings.problem("READER_REQUIRED", "reader", message);
  }
  if (verification_path === "destination") {
    const message = "files are verified as producer or representative_consumer, not as destination";
    settings.problem("VERIFICATION_PATH", "location", message);
  }
}

function readLocation(settings: SettingsReader): { readonly bucket: string; readonly prefix: string } | undefined {
  const text = settings.text("location");
  if (text === undefined) return undefined;
  const match = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([A-Za-z0-9_.=/-]*))?$/.exec(text);
  const bucket = match?.[1];
  const prefix = (match?.[2] ?? "").replace(/\/+$/, "");
  const safe = prefix === "" || prefix.split("/").every((segment) => /^[A-Za-z0-9_][A-Za-z0-9_.=-]*$/.test(segment));
  if (bucket !== undefined && safe) return { bucket, prefix };
  const message = "must be s3://bucket or s3://bucket/prefix with plain segments of letters, digits and _ . = -";
  settings.problem("WRONG_SETTING", "location", message);
  return undefined;
}

function readEndpoint(settings: SettingsReader): string | undefined {
  const text = settings.optionalText("endpoint");
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const plain = url !== undefined && url.username === "" && url.password === "" && url.search === "" && url.hash === "";
  if (plain && (url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url.hostname)))) return text;
  const message = "must be an https URL without credentials or query; http only for this machine";
  settings.problem("WRONG_SETTING", "endpoint", message);
  return undefined;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

function readCredentials(group: SettingsReader | undefined): S3CredentialReferences | undefined {
  if (group === undefined) return undefined;
  const accessKeyId = group.text("access_key_id");
  const secretAccessKey = group.text("secret_access_key");
  const sessionToken = group.optionalText("session_token");
  for (const [name, value] of Object.entries({
    access_key_id: accessKeyId,
    secret_access_key: secretAccessKey,
    session_token: sessionToken,
  })) {
    // The value is not repeated: it may be the secret itself, put where its reference belongs.
    if (value !== undefined && parseSecretReference(value) === undefined) {
      group.problem("SECRET_REFERENCE", name, "must be a reference: env:NAME or file:/absolute/path");
    }
  }
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined;
  return { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) };
}
