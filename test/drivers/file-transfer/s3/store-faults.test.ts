import { S3 } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { DeliveryError } from "../../../../core/errors.ts";
import type { ObjectStore } from "../../../../drivers/file-transfer/object-store.ts";
import { createS3Store } from "../../../../drivers/file-transfer/s3/store.ts";
import { bodyOf, collect } from "../../../faults/bodies.ts";
import { type Fault, type ProxiedRequest, startHttpProxy } from "../../../faults/http-proxy.ts";
import { describePeer } from "../../../servers/peers.ts";
import { type S3Server, startS3 } from "../../../servers/s3.ts";

const ignore = (): void => undefined;
const silent = { trace: ignore, debug: ignore, info: ignore, warn: ignore, error: ignore };
const signal = new AbortController().signal;
const put = { contentType: "application/json", attemptKey: "attempt-1", signal };

describePeer("s3", "S3 store on a broken wire", () => {
  let server: S3Server;
  let raw: S3;
  let bucket: string;
  let count = 0;

  beforeAll(async () => {
    server = await startS3();
    raw = client(server.endpoint);
  });
  afterAll(async () => {
    raw.destroy();
    await server.stop();
  });
  beforeEach(async () => {
    bucket = `bucket-${count++}`;
    await raw.createBucket({ Bucket: bucket });
  });

  function client(endpoint: string): S3 {
    const credentials = { accessKeyId: "producer", secretAccessKey: "producer-secret" };
    return new S3({ endpoint, region: "us-east-1", forcePathStyle: true, maxAttempts: 1, logger: silent, credentials });
  }

  async function through(
    decide: (request: ProxiedRequest) => Fault,
    use: (store: ObjectStore) => Promise<void>,
    multipart = false,
  ): Promise<readonly ProxiedRequest[]> {
    const proxy = await startHttpProxy(server.endpoint, decide);
    const options = multipart ? { multipartAboveBytes: 4, partBytes: 5 * 1024 * 1024 } : {};
    const store = createS3Store({ client: client(proxy.url), bucket, prefix: "p", checksums: "full", ...options });
    try {
      await use(store);
    } finally {
      await store.close();
      await proxy.close();
    }
    return proxy.requests;
  }

  const text = async (): Promise<string | undefined> => {
    const store = createS3Store({ client: client(server.endpoint), bucket, prefix: "p", checksums: "full" });
    const bytes = await collect(await store.open("a/m.json", { signal }));
    await store.close();
    return bytes === undefined ? undefined : new TextDecoder().decode(bytes);
  };

  it("B01: a write whose reply was lost is unreachable, and the next try says exists over the same bytes", async () => {
    let writes = 0;
    await through(
      ({ method }) => ({ kind: method === "PUT" && writes++ === 0 ? "lost" : "pass" }),
      async (store) => {
        await expectCode(store.putIfAbsent("a/m.json", bodyOf("hello"), put), "DESTINATION_UNREACHABLE");
        expect(await store.putIfAbsent("a/m.json", bodyOf("hello"), put)).toEqual({ outcome: "exists" });
      },
    );
    expect(await text()).toBe("hello");
  });

  it("B02: a 409 for a concurrent conditional write is to be tried again, never `exists`", async () => {
    const conflict = "<Error><Code>ConditionalRequestConflict</Code><Message>other request under way</Message></Error>";
    let conflicts = 0;
    await through(
      ({ method }) =>
        method === "PUT" && conflicts++ === 0 ? { kind: "status", status: 409, body: conflict } : { kind: "pass" },
      async (store) => {
        await expectCode(store.putIfAbsent("a/m.json", bodyOf("hello"), put), "DESTINATION_UNREACHABLE");
        expect(await text()).toBeUndefined();
        expect(await store.putIfAbsent("a/m.json", bodyOf("hello"), put)).toEqual({ outcome: "created" });
      },
    );
    expect(await text()).toBe("hello");
  });

  it("B03: when a part is refused and the abort fails too, the first cause is told and the upload is collected later", async () => {
    await through(
      ({ method, path }) => {
        if (method === "PUT" && path.includes("partNumber=2"))
          return { kind: "status", status: 403, body: "<Error><Code>AccessDenied</Code></Error>" };
        if (method === "DELETE") return { kind: "status", status: 500 };
        return { kind: "pass" };
      },
      async (store) => {
        await expectCode(
          store.putIfAbsent("a/m.json", bodyOf(new Uint8Array(6 * 1024 * 1024)), put),
          "DESTINATION_FORBIDDEN",
        );
      },
      true,
    );
    expect((await raw.listMultipartUploads({ Bucket: bucket })).Uploads).toHaveLength(1);
    const store = createS3Store({ client: client(server.endpoint), bucket, prefix: "p", checksums: "full" });
    expect(await store.collectLeftovers("a", { signal })).toBe(1);
    await store.close();
    expect(await text()).toBeUndefined();
  });

  it("a completed multipart upload whose reply was lost is there, once", async () => {
    const bytes = new Uint8Array(6 * 1024 * 1024).fill(65);
    await through(
      ({ method, path }) => ({ kind: method === "POST" && path.includes("uploadId=") ? "lost" : "pass" }),
      async (store) => {
        await expectCode(store.putIfAbsent("a/m.json", bodyOf(bytes), put), "DESTINATION_UNREACHABLE");
        expect(await store.putIfAbsent("a/m.json", bodyOf(bytes), put)).toEqual({ outcome: "exists" });
      },
      true,
    );
    expect((await text())?.length).toBe(bytes.length);
    expect((await raw.listMultipartUploads({ Bucket: bucket })).Uploads ?? []).toEqual([]);
  });

  for (const [status, code] of [
    [403, "DESTINATION_FORBIDDEN"],
    [429, "DESTINATION_THROTTLED"],
    [500, "DESTINATION_UNREACHABLE"],
    [503, "DESTINATION_UNREACHABLE"],
    [501, "CONFIGURATION_INVALID"],
  ] as const) {
    it(`an answer ${status} to a write is ${code}, and nothing of the provider's text is in the message`, async () => {
      const body = "<Error><Code>Whatever</Code><Message>canary-secret</Message></Error>";
      await through(
        ({ method }) => (method === "PUT" ? { kind: "status", status, body } : { kind: "pass" }),
        async (store) => {
          const error = await expectCode(store.putIfAbsent("a/m.json", bodyOf("hello"), put), code);
          expect(error.message).toBe(code);
        },
      );
      expect(await text()).toBeUndefined();
    });
  }

  it("a throttled answer hands on its Retry-After", async () => {
    await through(
      ({ method }) =>
        method === "PUT" ? { kind: "status", status: 429, headers: { "retry-after": "7" } } : { kind: "pass" },
      async (store) => {
        const error = await expectCode(store.putIfAbsent("a/m.json", bodyOf("hello"), put), "DESTINATION_THROTTLED");
        expect(error.retryAfterMs).toBe(7_000);
      },
    );
  });

  it("a read that breaks off in the middle is an error, never a short object", async () => {
    await raw.putObject({ Bucket: bucket, Key: "p/a/m.json", Body: "x".repeat(100_000) });
    await through(
      ({ method }) => (method === "GET" ? { kind: "truncate", afterBytes: 50_000 } : { kind: "pass" }),
      async (store) => {
        await expectCode((async () => collect(await store.open("a/m.json", { signal })))(), "DESTINATION_UNREACHABLE");
      },
    );
  });

  it("a connection that is refused is DESTINATION_UNREACHABLE", async () => {
    const store = createS3Store({ client: client("http://127.0.0.1:1"), bucket, prefix: "p", checksums: "full" });
    await expectCode(store.putIfAbsent("a/m.json", bodyOf("hello"), put), "DESTINATION_UNREACHABLE");
    await expectCode(store.open("a/m.json", { signal }), "DESTINATION_UNREACHABLE");
  });
});

async function expectCode(call: Promise<unknown>, code: string): Promise<DeliveryError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(DeliveryError);
  expect((error as DeliveryError).code).toBe(code);
  return error as DeliveryError;
}
