import { S3 } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createS3Store } from "../../../../drivers/file-transfer/s3/store.ts";
import { objectStoreConformance } from "../../../conformance/object-store.ts";
import { bodyOf, collect } from "../../../faults/bodies.ts";
import { describePeer } from "../../../servers/peers.ts";
import { type S3Identity, type S3Server, startS3 } from "../../../servers/s3.ts";

const ignore = (): void => undefined;
const silent = { trace: ignore, debug: ignore, info: ignore, warn: ignore, error: ignore };

describePeer("s3", "S3", () => {
  let server: S3Server;
  let count = 0;
  const buyer = { accessKeyId: "stranger", secretAccessKey: "stranger-secret" };
  const signal = new AbortController().signal;

  beforeAll(async () => {
    server = await startS3();
    await server.createUser(buyer);
  });
  afterAll(() => server.stop());

  const client = (identity: S3Identity) =>
    new S3({
      endpoint: server.endpoint,
      region: server.region,
      forcePathStyle: true,
      maxAttempts: 1,
      // The SDK's own logger writes to the console.
      logger: silent,
      credentials: identity,
    });

  async function newBucket(): Promise<string> {
    const bucket = `bucket-${count++}`;
    await client(server.producer).createBucket({ Bucket: bucket });
    return bucket;
  }

  for (const multipart of [false, true]) {
    objectStoreConformance(multipart ? "S3, multipart" : "S3, single put", async () => {
      const bucket = await newBucket();
      const options = {
        prefix: "team/reports",
        checksums: "full" as const,
        ...(multipart && { multipartAboveBytes: 4, partBytes: 5 * 1024 * 1024 }),
      };
      const raw = client(server.producer);
      return {
        openStore: () => createS3Store({ ...options, client: client(server.producer), bucket }),
        replace: async (key, bytes) => {
          await raw.putObject({ Bucket: bucket, Key: `team/reports/${key}`, Body: bytes });
        },
        openMissing: () => createS3Store({ ...options, client: client(server.producer), bucket: "no-such-bucket" }),
        openForbidden: () => createS3Store({ ...options, client: client(buyer), bucket }),
        close: async () => raw.destroy(),
      };
    });
  }

  describe("S3 store", () => {
    it("B03: an upload that was left open is found, collected by age and never listed as an object", async () => {
      const bucket = await newBucket();
      const raw = client(server.producer);
      const store = createS3Store({ client: raw, bucket, prefix: "p", checksums: "full" });
      await raw.createMultipartUpload({ Bucket: bucket, Key: "p/a/part-00000" });
      expect(await store.collectLeftovers("a", { signal, startedBeforeUs: 1n })).toBe(0);
      expect(await store.collectLeftovers("b", { signal })).toBe(0);
      expect(await store.collectLeftovers("a", { signal })).toBe(1);
      expect((await raw.listMultipartUploads({ Bucket: bucket })).Uploads ?? []).toEqual([]);
    });

    it("B16: with checksums when_required the stored bytes are the body and nothing else", async () => {
      const bucket = await newBucket();
      const store = createS3Store({ client: client(server.producer), bucket, prefix: "", checksums: "when_required" });
      await store.putIfAbsent("a/object", bodyOf("hello"), { contentType: "text/csv", attemptKey: "1", signal });
      const bytes = await collect(await store.open("a/object", { signal }));
      expect(new TextDecoder().decode(bytes)).toBe("hello");
    });

    it("B06: objects have their content type and no content encoding", async () => {
      const bucket = await newBucket();
      const raw = client(server.producer);
      const store = createS3Store({ client: raw, bucket, prefix: "", checksums: "full" });
      await store.putIfAbsent("a/part-00000.jsonl.gz", bodyOf("x"), {
        contentType: "application/x-ndjson",
        attemptKey: "1",
        signal,
      });
      const head = await raw.headObject({ Bucket: bucket, Key: "a/part-00000.jsonl.gz" });
      expect([head.ContentType, head.ContentEncoding]).toEqual(["application/x-ndjson", undefined]);
    });

    it("in a versioned bucket an object is read by its version and removed with every version", async () => {
      const bucket = await newBucket();
      const raw = client(server.producer);
      await raw.putBucketVersioning({ Bucket: bucket, VersioningConfiguration: { Status: "Enabled" } });
      const store = createS3Store({ client: raw, bucket, prefix: "", checksums: "full" });
      await store.putIfAbsent("a/object", bodyOf("one"), { contentType: "text/csv", attemptKey: "1", signal });
      const first = (await store.stat("a/object", { signal }))?.nativeVersion ?? "";
      await raw.putObject({ Bucket: bucket, Key: "a/object", Body: "two" });
      const pinned = await collect(await store.open("a/object", { nativeVersion: first, signal }));
      expect(new TextDecoder().decode(pinned)).toBe("one");
      await store.remove("a/object", { signal });
      expect((await raw.listObjectVersions({ Bucket: bucket })).Versions ?? []).toEqual([]);
    });
  });
});
