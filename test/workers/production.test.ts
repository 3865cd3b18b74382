import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { S3 } from "@aws-sdk/client-s3";
import { Redis } from "ioredis";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { generatedRows } from "../../fixtures/generator.ts";
import { describePeer, repositoryRoot } from "../servers/peers.ts";
import { type PostgresServer, startPostgres } from "../servers/postgres.ts";
import { type RedisServer, startRedis } from "../servers/redis.ts";
import { type S3Server, startS3 } from "../servers/s3.ts";
import { until } from "../servers/until.ts";

const cli = join(repositoryRoot, "dist/workers/cli/main.js");
const definition = join(repositoryRoot, "fixtures/daily-ad-delivery/definition.json");
const buyer = { accessKeyId: "buyer-canary-key", secretAccessKey: "buyer-canary-secret" };
const ignore = (): void => undefined;
const silent = { trace: ignore, debug: ignore, info: ignore, warn: ignore, error: ignore };

/** The real parts together: command line and worker as processes, PostgreSQL, Redis, an S3 server with a seller and a buyer. */
describePeer(["postgres", "redis", "s3"], "workers on PostgreSQL, Redis and S3", () => {
  let postgres: PostgresServer;
  let redis: RedisServer;
  let s3: S3Server;
  let raw: S3;
  let count = 0;
  let world: World;

  beforeAll(async () => {
    [postgres, redis, s3] = await Promise.all([startPostgres(), startRedis(), startS3()]);
    await s3.createUser(buyer);
    raw = new S3({
      endpoint: s3.endpoint,
      region: "us-east-1",
      forcePathStyle: true,
      logger: silent,
      credentials: s3.producer,
    });
  });
  afterAll(async () => {
    raw?.destroy();
    await Promise.all([postgres?.stop(), redis?.stop(), s3?.stop()]);
  });
  beforeEach(async () => {
    count += 1;
    world = await openWorld();
  });
  afterEach(() => world.close());

  interface World {
    readonly bucket: string;
    /** Variables given first stand above the world's. */
    run(
      ...parameters: (string | { readonly [name: string]: string })[]
    ): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }>;
    json(...parameters: string[]): Promise<Record<string, unknown>>;
    startWorker(): Promise<ChildProcess>;
    retain(rows: number, seed: number): Promise<string>;
    enqueue(revisionId: string): Promise<string>;
    query(text: string): Promise<Record<string, unknown>[]>;
    keys(): Promise<string[]>;
    close(): Promise<void>;
  }

  async function openWorld(): Promise<World> {
    const directory = await mkdtemp(join(tmpdir(), "waybill-production-"));
    const bucket = `production-${count}`;
    await raw.createBucket({ Bucket: bucket });
    await raw.putBucketPolicy({
      Bucket: bucket,
      Policy: JSON.stringify({
        Version: "2012-10-17",
        Statement: [
          {
            Effect: "Allow",
            Principal: { AWS: [buyer.accessKeyId] },
            Action: ["s3:GetObject"],
            Resource: [`arn:aws:s3:::${bucket}/acct-1/*`],
          },
          {
            Effect: "Allow",
            Principal: { AWS: [buyer.accessKeyId] },
            Action: ["s3:ListBucket"],
            Resource: [`arn:aws:s3:::${bucket}`],
          },
        ],
      }),
    });
    const url = await postgres.createDatabase(`world_${count}`);
    const credentials = { access_key_id: "env:SELLER_KEY", secret_access_key: "env:SELLER_SECRET" };
    const place = { region: "us-east-1", endpoint: s3.endpoint, credentials };
    const config = {
      waybill: 1,
      ledger: { postgres: { url: "env:DATABASE_URL" }, work: "./work" },
      queue: { redis: { url: "env:REDIS_URL", prefix: `w${count}` } },
      retained: { s3: { location: `s3://${bucket}/retained`, ...place } },
      definitions: [definition],
      destinations: [
        {
          destination_id: "buyer-bucket",
          transport: "s3",
          hosting: "producer",
          verification_path: "representative_consumer",
          retention_days: 90,
          settings: {
            location: `s3://${bucket}/acct-1`,
            ...place,
            reader: { credentials: { access_key_id: "env:BUYER_KEY", secret_access_key: "env:BUYER_SECRET" } },
            format: "jsonl",
            compression: "gzip",
            rows_per_part: 50,
          },
        },
      ],
      configurations: [
        {
          delivery_config_id: "daily",
          delivery_config_version: 1,
          account_id: "acct-1",
          report_definition_id: "daily-ad-delivery",
          feed_purpose: "analytics",
          required_finality: "snapshot",
          reconciliation_mode: "delivery_only",
          verification_profile: "canonical_digest",
          media_buy_ids: "all",
          destination: "buyer-bucket",
          schedule: { period_duration: "P1D", alignment: "utc", delivery_sla: "PT4H" },
        },
      ],
    };
    await writeFile(join(directory, "waybill.config.yaml"), JSON.stringify(config));
    const environment = {
      ...process.env,
      DATABASE_URL: url,
      REDIS_URL: redis.url,
      SELLER_KEY: s3.producer.accessKeyId,
      SELLER_SECRET: s3.producer.secretAccessKey,
      BUYER_KEY: buyer.accessKeyId,
      BUYER_SECRET: buyer.secretAccessKey,
      AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true",
    };
    const workers: ChildProcess[] = [];
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    pool.on("error", ignore);
    const self: World = {
      bucket,
      run: (...parameters) =>
        new Promise((resolve) => {
          const words = parameters.filter((parameter) => typeof parameter === "string");
          const env = Object.assign(
            {},
            environment,
            ...parameters.filter((parameter) => typeof parameter !== "string"),
          );
          execFile(process.execPath, [cli, ...words], { cwd: directory, env }, (error, stdout, stderr) => {
            resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
          });
        }),
      async json(...parameters) {
        const { code, stdout, stderr } = await self.run(...parameters, "--json");
        if (code !== 0) throw new Error(`${parameters.join(" ")} ended with ${code}: ${stderr}`);
        return JSON.parse(stdout);
      },
      async startWorker() {
        const worker = spawn(process.execPath, [cli, "up", "--lease", "2", "--sweep-every", "1"], {
          cwd: directory,
          env: environment,
          stdio: ["ignore", "pipe", "pipe"],
        });
        workers.push(worker);
        let output = "";
        worker.stderr?.on("data", (data) => (output += data));
        await until(() => output.includes("working") || worker.exitCode !== null);
        if (worker.exitCode !== null) throw new Error(`the worker ended: ${output}`);
        return worker;
      },
      async retain(rows, seed) {
        const path = join(directory, `rows-${seed}.jsonl`);
        const lines: string[] = [];
        for await (const batch of generatedRows({ rows, seed }))
          for (const { row } of batch) lines.push(JSON.stringify(row));
        await writeFile(path, `${lines.join("\n")}\n`);
        const answer = await self.json(
          "retain",
          path,
          "--definition",
          definition,
          "--account",
          "acct-1",
          "--finality",
          "snapshot",
        );
        const revision = (answer["revision"] ?? answer) as { reporting_revision_id: string };
        return revision.reporting_revision_id;
      },
      async enqueue(revisionId) {
        const answer = await self.json("deliver", revisionId, "--enqueue");
        const materialization = answer["materialization"] as { reporting_materialization_id: string; status: string };
        expect(materialization.status).toBe("pending");
        return materialization.reporting_materialization_id;
      },
      query: async (text) => (await pool.query(text)).rows,
      async keys() {
        const found = await raw.listObjectsV2({ Bucket: bucket, Prefix: "acct-1/" });
        return (found.Contents ?? []).map((object) => object.Key ?? "");
      },
      async close() {
        for (const worker of workers) worker.kill("SIGKILL");
        await pool.end();
        await rm(directory, { recursive: true, force: true });
      },
    };
    return self;
  }

  const ready = (id: string) => async (): Promise<boolean> => {
    const [row] = await world.query(`select status from materialization where reporting_materialization_id = '${id}'`);
    return row?.["status"] === "available";
  };
  const phase = async (id: string): Promise<unknown> => {
    const [row] = await world.query(`select phase from delivery_work where reporting_materialization_id = '${id}'`);
    return row?.["phase"];
  };

  /** The one truth of a delivery: one manifest, one terminal record, one notification. */
  async function expectDeliveredOnce(id: string): Promise<void> {
    const manifests = (await world.keys()).filter((key) => key.endsWith("/manifest.json"));
    expect(manifests).toHaveLength(1);
    expect(await world.query("select status, attempt from materialization")).toEqual([
      { status: "available", attempt: 1 },
    ]);
    const outbox = await world.query("select cause_id from outbox where event_type = 'reporting.delivery_ready'");
    expect(outbox).toEqual([{ cause_id: id }]);
    const explained = await world.run("explain", id);
    expect(explained.stdout).toContain("available");
  }

  it("a worker delivers what another process enqueued, read back as the buyer", async () => {
    await world.json("config", "apply");
    const revision = await world.retain(200, 1);
    const worker = await world.startWorker();
    const id = await world.enqueue(revision);
    await until(ready(id));
    await expectDeliveredOnce(id);
    const [row] = await world.query("select verification from materialization");
    expect(JSON.parse(String(row?.["verification"]))).toMatchObject({
      verification_path: "representative_consumer",
      row_count: 200,
    });
    const ended = new Promise((resolve) => worker.once("exit", resolve));
    worker.kill("SIGTERM");
    expect(await ended).toBe(0);
  });

  it("kill -9 of the worker while it writes: another one goes on, and there is one delivery", async () => {
    await world.json("config", "apply");
    const revision = await world.retain(2_000, 2);
    const worker = await world.startWorker();
    const id = await world.enqueue(revision);
    await until(async () => (await phase(id)) === "writing" && (await world.keys()).length > 2);
    worker.kill("SIGKILL");
    expect(await phase(id)).toBe("writing");
    await world.startWorker();
    await until(ready(id));
    await expectDeliveredOnce(id);
    const [row] = await world.query("select tries from delivery_work");
    expect(row?.["tries"]).toBeGreaterThan(1);
  });

  it("B73: FLUSHALL while deliveries wait loses none: the ledger brings them back", async () => {
    await world.json("config", "apply");
    const revision = await world.retain(100, 3);
    const id = await world.enqueue(revision);
    const connection = new Redis(redis.url);
    expect((await connection.keys(`w${count}:*`)).length).toBeGreaterThan(0);
    await connection.flushall();
    connection.disconnect();
    await world.startWorker();
    await until(ready(id));
    await expectDeliveredOnce(id);
  });

  it("a crash of PostgreSQL in mid-run delays the delivery and doubles nothing", async () => {
    await world.json("config", "apply");
    const revision = await world.retain(2_000, 4);
    await world.startWorker();
    const id = await world.enqueue(revision);
    await until(async () => (await phase(id)) === "writing");
    await postgres.restart("immediate");
    await until(async () => await ready(id)().catch(() => false));
    await expectDeliveredOnce(id);
  });

  it("no secret is in the ledger, in Redis or in what the worker prints", async () => {
    await world.json("config", "apply");
    const revision = await world.retain(50, 5);
    const worker = await world.startWorker();
    let printed = "";
    worker.stdout?.on("data", (data) => (printed += data));
    worker.stderr?.on("data", (data) => (printed += data));
    const id = await world.enqueue(revision);
    await until(ready(id));
    const connection = new Redis(redis.url);
    const dump: string[] = [printed];
    for (const key of await connection.keys("*")) dump.push(key, JSON.stringify(await connection.dump(key)));
    connection.disconnect();
    const tables = await world.query("select table_name from information_schema.tables where table_schema = 'public'");
    for (const { table_name } of tables) {
      for (const row of await world.query(`select t::text as line from "${table_name}" t`))
        dump.push(String(row["line"]));
    }
    const secrets = [s3.producer.secretAccessKey, buyer.secretAccessKey, buyer.accessKeyId];
    expect(dump.length).toBeGreaterThan(20);
    for (const secret of secrets) expect(dump.filter((text) => text.includes(secret))).toEqual([]);
  });

  it("what does not answer or refuses is said with the field to look at, and exit code 3 or 2", async () => {
    const cases: readonly (readonly [{ readonly [name: string]: string }, number, RegExp])[] = [
      [{ DATABASE_URL: "postgresql://postgres@127.0.0.1:1/nothing" }, 3, /ledger\.postgres\.url.*does not answer/],
      [{ DATABASE_URL: `${postgres.url}_missing` }, 2, /ledger\.postgres\.url.*refused/],
      [{ DATABASE_URL: "" }, 2, /DATABASE_URL is not set/],
      [{ REDIS_URL: "redis://:canary-secret@127.0.0.1:1" }, 3, /queue\.redis\.url.*does not answer/],
    ];
    for (const [environment, code, text] of cases) {
      const ended = await world.run(environment, "up");
      expect([ended.code, ended.stderr.replaceAll("\n", " ")]).toEqual([code, expect.stringMatching(text)]);
      expect(ended.stderr).not.toContain("canary-secret");
    }
  });
});
