import { tmpdir } from "node:os";
import { S3 } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { JsonObject } from "../../../../core/json.ts";
import type { DestinationProof } from "../../../../core/model/destination-proof.ts";
import { readS3Config } from "../../../../drivers/file-transfer/s3/config.ts";
import { createS3Driver, traitsOf } from "../../../../drivers/file-transfer/s3/driver.ts";
import { openStore } from "../../../../drivers/file-transfer/s3/place.ts";
import { checkDestination } from "../../../../drivers/registry.ts";
import { attemptOf } from "../../../conformance/driver.ts";
import { fileDriverConformance } from "../../../conformance/file-driver.ts";
import { startHttpProxy } from "../../../faults/http-proxy.ts";
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
  async function newBucket(actions: readonly string[] = ["s3:GetObject"]): Promise<string> {
    const bucket = `driver-${count++}`;
    await raw.createBucket({ Bucket: bucket });
    const read = { Effect: "Allow", Principal: { AWS: [buyer.accessKeyId] } };
    await raw.putBucketPolicy({
      Bucket: bucket,
      Policy: JSON.stringify({
        Version: "2012-10-17",
        Statement: [
          { ...read, Sid: "read", Action: actions, Resource: [`arn:aws:s3:::${bucket}/acct-1/*`] },
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
      consumer: { differs: async () => true },
      replace: async (key, bytes) => {
        await raw.putObject({ Bucket: bucket, Key: `acct-1/${key}`, Body: bytes });
      },
      close: async () => undefined,
    };
  });

  describe("proof of a bucket, with the genuine SDK", () => {
    const secrets: { readonly [reference: string]: string } = {
      "env:PRODUCER_KEY": "producer",
      "env:PRODUCER_SECRET": "producer-secret",
      "env:BUYER_KEY": buyer.accessKeyId,
      "env:BUYER_SECRET": buyer.secretAccessKey,
    };
    async function prove(
      settings: JsonObject,
      path: "representative_consumer" | "producer" = "representative_consumer",
    ) {
      const environment = { spoolDirectory: tmpdir(), secret: async (reference: string) => secrets[reference] ?? "" };
      const driver = await createS3Driver({ transport: "s3", verification_path: path, settings }, environment);
      try {
        const proof = await driver.prove?.(attemptOf("proof"));
        if (proof === undefined) throw new Error("the driver proves nothing");
        expect(JSON.stringify(proof)).not.toMatch(/canary|producer-secret/);
        return proof;
      } finally {
        await driver.close();
      }
    }
    const failing = (proof: DestinationProof) =>
      proof.checks.filter((check) => check.outcome === "fail").map(({ name, fix }) => ({ name, fix }));
    const keysIn = async (bucket: string) =>
      ((await raw.listObjectVersions({ Bucket: bucket })).Versions ?? []).map(({ Key }) => Key);

    it("passes a bucket where the buyer may only read, also with versions, and leaves no version behind", async () => {
      const bucket = await newBucket(["s3:GetObject", "s3:GetObjectVersion"]);
      expect(failing(await prove(settingsOf(bucket)))).toEqual([]);
      await raw.putBucketVersioning({ Bucket: bucket, VersioningConfiguration: { Status: "Enabled" } });
      const proof = await prove(settingsOf(bucket));
      expect(proof.checks.map(({ name, outcome }) => `${name} ${outcome}`)).toEqual([
        "write pass",
        "read_back pass",
        "create_only pass",
        "checksum pass",
        "identities_differ pass",
        "reader_cannot_write pass",
        "clean_up pass",
      ]);
      expect(await keysIn(bucket)).toEqual([]);
    });

    it("passes as producer without a buyer, and without checksum headers", async () => {
      const bucket = await newBucket();
      const { reader: _, ...settings } = settingsOf(bucket);
      const proof = await prove({ ...settings, checksums: "when_required" }, "producer");
      expect(proof.checks.map(({ name }) => name)).not.toContain("reader_cannot_write");
      expect(proof.outcome).toBe("pass");
    });

    it("refuses a bucket that ignores If-None-Match", async () => {
      const bucket = await newBucket();
      const proxy = await startHttpProxy(server.endpoint, ({ method, path }) => {
        if (method !== "PUT") return { kind: "pass" };
        const Key = decodeURIComponent(new URL(path, server.endpoint).pathname.slice(bucket.length + 2));
        // The object is gone when the condition is looked at, as if nobody had asked.
        return { kind: "after", act: async () => void (await raw.deleteObject({ Bucket: bucket, Key })) };
      });
      const proof = await prove({ ...settingsOf(bucket), endpoint: proxy.url });
      await proxy.close();
      expect(proof.failure_code).toBe("DESTINATION_UNSAFE");
      expect(failing(proof)).toEqual([{ name: "create_only", fix: expect.stringContaining("If-None-Match") }]);
      expect(await keysIn(bucket)).toEqual([]);
    });

    it("refuses a buyer that may write, and takes its object away again", async () => {
      const bucket = await newBucket(["s3:GetObject", "s3:PutObject"]);
      const proof = await prove(settingsOf(bucket));
      expect(proof.failure_code).toBe("DESTINATION_UNSAFE");
      expect(failing(proof)).toEqual([
        {
          name: "reader_cannot_write",
          fix: expect.stringContaining(`s3:PutObject on arn:aws:s3:::${bucket}/acct-1/*`),
        },
      ]);
      expect(await keysIn(bucket)).toEqual([]);
    });

    it("names the permission that is missing, and a bucket that is", async () => {
      const blind = await newBucket(["s3:GetObjectTagging"]);
      const unread = await prove(settingsOf(blind));
      expect(unread.failure_code).toBe("READER_FORBIDDEN");
      expect(failing(unread)).toEqual([
        { name: "read_back", fix: expect.stringMatching(/s3:GetObject .*s3:GetObjectVersion.*acct-1/) },
      ]);
      const versioned = await newBucket();
      await raw.putBucketVersioning({ Bucket: versioned, VersioningConfiguration: { Status: "Enabled" } });
      // Manifests name versions, so a buyer that may read only the latest could not read a delivery.
      expect(await prove(settingsOf(versioned))).toMatchObject({ failure_code: "READER_FORBIDDEN" });
      const bucket = await newBucket();
      const swapped = { ...settingsOf(bucket), credentials: readerCredentials, reader: { credentials } };
      const unwritten = await prove(swapped, "representative_consumer");
      expect(unwritten.failure_code).toBe("DESTINATION_FORBIDDEN");
      expect(failing(unwritten)).toEqual([{ name: "write", fix: expect.stringContaining("s3:PutObject") }]);
      const missing = await prove(settingsOf("no-such-bucket"));
      expect(missing.failure_code).toBe("DESTINATION_MISSING");
      expect(failing(missing)).toEqual([{ name: "write", fix: expect.stringContaining("no-such-bucket") }]);
    });
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
