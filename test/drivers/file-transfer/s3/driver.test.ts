import { S3 } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { JsonObject } from "../../../../core/json.ts";
import { readS3Config } from "../../../../drivers/file-transfer/s3/config.ts";
import { createS3Driver, traitsOf } from "../../../../drivers/file-transfer/s3/driver.ts";
import { openStore } from "../../../../drivers/file-transfer/s3/place.ts";
import { checkDestination } from "../../../../drivers/registry.ts";
import { fileDriverConformance } from "../../../conformance/file-driver.ts";
import { describePeer } from "../../../servers/peers.ts";
import { type S3Server, startS3 } from "../../../servers/s3.ts";

const ignore = (): void => undefined;
const silent = { trace: ignore, debug: ignore, info: ignore, warn: ignore, error: ignore };
const buyer = { accessKeyId: "buyer-canary-key", secretAccessKey: "buyer-canary-secret" };
const credentials = { access_key_id: "env:PRODUCER_KEY", secret_access_key: "env:PRODUCER_SECRET" };
const readerCredentials = { access_key_id: "env:BUYER_KEY", secret_access_key: "env:BUYER_SECRET" };

describePeer("s3", "S3 driver", () => {
  let server: S3Server;
  let raw: S3;
  let count = 0;

  beforeAll(async () => {
    server = await startS3();
    await server.createUser(buyer);
    raw = new S3({
      endpoint: server.endpoint,
      region: "us-east-1",
      forcePathStyle: true,
      logger: silent,
      credentials: server.producer,
    });
  });
  afterAll(async () => {
    raw.destroy();
    await server.stop();
  });

  /** A bucket of its own, of which the buyer may read one prefix. */
  async function newBucket(): Promise<string> {
    const bucket = `driver-${count++}`;
    await raw.createBucket({ Bucket: bucket });
    const read = { Effect: "Allow", Principal: { AWS: [buyer.accessKeyId] } };
    await raw.putBucketPolicy({
      Bucket: bucket,
      Policy: JSON.stringify({
        Version: "2012-10-17",
        Statement: [
          { ...read, Sid: "read", Action: ["s3:GetObject"], Resource: [`arn:aws:s3:::${bucket}/acct-1/*`] },
          { ...read, Sid: "list", Action: ["s3:ListBucket"], Resource: [`arn:aws:s3:::${bucket}`] },
        ],
      }),
    });
    return bucket;
  }

  const settingsOf = (bucket: string): JsonObject => ({
    location: `s3://${bucket}/acct-1`,
    region: "us-east-1",
    endpoint: server.endpoint,
    credentials,
    reader: { credentials: readerCredentials },
    format: "jsonl",
    compression: "none",
  });

  fileDriverConformance("S3, read back as the buyer", async () => {
    const bucket = await newBucket();
    const settings = settingsOf(bucket);
    const { config } = readS3Config({ transport: "s3", verification_path: "representative_consumer", settings });
    if (config === undefined) throw new Error("the settings of the rig are wrong");
    return {
      traits: traitsOf(config),
      settings,
      canaries: [server.producer.secretAccessKey, buyer.secretAccessKey, buyer.accessKeyId],
      openWriter: () => openStore(config, server.producer),
      openReader: () => openStore(config, buyer),
      replace: async (key, bytes) => {
        await raw.putObject({ Bucket: bucket, Key: `acct-1/${key}`, Body: bytes });
      },
      close: async () => undefined,
    };
  });

  describe("identities", () => {
    const secrets: { readonly [reference: string]: string } = {
      "env:PRODUCER_KEY": "producer",
      "env:PRODUCER_SECRET": "producer-secret",
      "env:BUYER_KEY": "producer",
      "env:BUYER_SECRET": "producer-secret",
    };

    it("two references that turn out to be the same key are refused: the seller would vouch for itself", async () => {
      const binding = {
        transport: "s3",
        verification_path: "representative_consumer" as const,
        settings: settingsOf("any-bucket"),
      };
      const environment = { spoolDirectory: "/tmp", secret: async (reference: string) => secrets[reference] ?? "" };
      await expect(createS3Driver(binding, environment)).rejects.toMatchObject({ code: "CONFIGURATION_INVALID" });
    });
  });
});

describe("S3 settings", () => {
  const good = { location: "s3://bucket/a/b", region: "eu-central-1", format: "jsonl", compression: "gzip" };
  const problemsOf = (
    settings: JsonObject,
    path: "producer" | "representative_consumer" | "destination" = "producer",
  ) => checkDestination({ transport: "s3", verification_path: path, settings });

  it("the least that works: a location, a region and a format", async () => {
    expect(await problemsOf(good)).toEqual([]);
  });

  it("everything that is wrong is told at once, by field and without its value", async () => {
    const problems = await problemsOf({
      location: "s3://Bucket/../x?canary-secret",
      endpoint: "http://example.com",
      checksums: "never",
      bucket_owner: "12",
      path_style: "yes",
      credentials: { access_key_id: "AKIACANARYSECRET", secret_access_key: "canary-secret" },
      format: "jsonl",
      compression: "snappy",
      typo: 1,
    });
    expect(problems.map((problem) => problem.field).sort()).toEqual(
      [
        "settings.bucket_owner",
        "settings.checksums",
        "settings.compression",
        "settings.credentials.access_key_id",
        "settings.credentials.secret_access_key",
        "settings.endpoint",
        "settings.location",
        "settings.path_style",
        "settings.region",
        "settings.typo",
      ].sort(),
    );
    expect(JSON.stringify(problems)).not.toMatch(/canary/i);
  });

  it("representative_consumer needs the buyer's own credentials, and other ones than the writer's", async () => {
    expect(await problemsOf(good, "representative_consumer")).toMatchObject([{ code: "READER_REQUIRED" }]);
    const same = { ...good, credentials, reader: { credentials } };
    expect(await problemsOf(same, "representative_consumer")).toMatchObject([{ code: "READER_IS_WRITER" }]);
    const own = { ...good, credentials, reader: { credentials: readerCredentials } };
    expect(await problemsOf(own, "representative_consumer")).toEqual([]);
  });

  it("files are never verified as `destination`", async () => {
    expect(await problemsOf(good, "destination")).toMatchObject([{ code: "VERIFICATION_PATH" }]);
  });
});
