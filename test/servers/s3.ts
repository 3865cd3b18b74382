import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { s3Binary } from "./peers.ts";
import { freePort, type ServerProcess, startProcess } from "./process.ts";

export interface S3Identity {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export interface S3Server extends ServerProcess {
  readonly endpoint: string;
  readonly region: string;
  /** Root of the server, used as the seller. */
  readonly producer: S3Identity;
  /** A user that owns nothing; reads only what a bucket policy allows. */
  createUser(identity: S3Identity): Promise<void>;
}

/** versitygw over a folder: real S3 wire protocol, conditional writes, versions and bucket policies. Proves no IAM, KMS or throttling. */
export async function startS3(): Promise<S3Server> {
  const root = mkdtempSync(join(tmpdir(), "waybill-s3-"));
  for (const name of ["root", "versions", "iam"]) mkdirSync(join(root, name));
  const port = await freePort();
  const adminPort = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const producer = { accessKeyId: "producer", secretAccessKey: "producer-secret" };
  const server = await startProcess(
    s3Binary(),
    [
      "--quiet",
      "--keep-alive",
      "--port",
      `127.0.0.1:${port}`,
      "--admin-port",
      `127.0.0.1:${adminPort}`,
      "--iam-dir",
      join(root, "iam"),
      "--iam-cache-disable",
      "--health",
      "/health",
      "posix",
      "--versioning-dir",
      join(root, "versions"),
      join(root, "root"),
    ],
    { env: { ...process.env, ROOT_ACCESS_KEY: producer.accessKeyId, ROOT_SECRET_KEY: producer.secretAccessKey } },
    async () => (await fetch(`${endpoint}/health`)).ok,
  );
  return {
    ...server,
    endpoint,
    region: "us-east-1",
    producer,
    async createUser(identity) {
      await startAdmin(adminPort, producer, identity);
    },
    async stop(signal) {
      await server.stop(signal);
      rmSync(root, { recursive: true, force: true });
    },
  };
}

async function startAdmin(adminPort: number, root: S3Identity, user: S3Identity): Promise<void> {
  const { execFile } = await import("node:child_process");
  const { promisify } = await import("node:util");
  await promisify(execFile)(s3Binary(), [
    "admin",
    "--access",
    root.accessKeyId,
    "--secret",
    root.secretAccessKey,
    "--endpoint-url",
    `http://127.0.0.1:${adminPort}`,
    "create-user",
    "--access",
    user.accessKeyId,
    "--secret",
    user.secretAccessKey,
    "--role",
    "user",
  ]);
}
