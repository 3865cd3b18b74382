import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CommandLine, type CommandLines, definitionFile, openCommandLines } from "./command-line.ts";

let lines: CommandLines;
beforeAll(async () => {
  lines = await openCommandLines();
});
afterAll(() => lines.close());

interface Document {
  readonly destinations: readonly {
    readonly destination_id: string;
    readonly outcome: string;
    readonly failure_code: string | null;
    readonly checks: readonly { readonly name: string; readonly outcome: string; readonly fix: string | null }[];
  }[];
}

/** A folder with the configuration of `waybill init`, changed, and no ledger. */
async function configured(change: (text: string) => string = (text) => text): Promise<CommandLine> {
  const line = await lines.open({ ledger: false });
  expect((await line.run("init")).code).toBe(0);
  const config = await readFile(line.path("waybill.config.yaml"), "utf8");
  await writeFile(line.path("waybill.config.yaml"), change(config));
  await writeFile(line.path("definition.yaml"), await readFile(definitionFile));
  return line;
}

/** A second destination, an S3 store at a port where nothing listens. */
const withSilentBucket = (text: string): string =>
  text.replace(
    /^destinations:\n/m,
    `destinations:
  - destination_id: silent-bucket
    transport: s3
    hosting: producer
    verification_path: producer
    retention_days: 90
    settings:
      location: s3://some-bucket/acct
      region: us-east-1
      endpoint: http://127.0.0.1:1
      credentials: {access_key_id: "env:SILENT_KEY", secret_access_key: "env:SILENT_SECRET"}
      format: jsonl
      compression: none
`,
  );

describe("doctor", () => {
  it("passes a good folder, needs no ledger and leaves nothing behind", async () => {
    const line = await configured();
    const before = await line.files();
    const ended = await line.run("doctor");
    expect(ended).toMatchObject({ code: 0, stderr: expect.not.stringContaining("waybill:") });
    expect(ended.stdout).toMatch(/local_fs: pass/);
    for (const check of ["settings", "write", "read_back", "create_only", "checksum", "clean_up"]) {
      expect(ended.stdout).toMatch(new RegExp(`${check} +pass`));
    }
    expect(await line.files()).toEqual(before);
  });

  it("ends with 1 and the exact fix for a folder that is not there, in text and JSON", async () => {
    const line = await configured();
    const first = (await line.run("doctor", "--json")).json<Document>().destinations[0];
    const folder = /location: "?(?:file:\/\/)([^"\n]+)/.exec(
      await readFile(line.path("waybill.config.yaml"), "utf8"),
    )?.[1];
    await rm(folder ?? "", { recursive: true });
    const ended = await line.run("doctor", first?.destination_id ?? "", "--json");
    expect(ended.code).toBe(1);
    const [diagnosis] = ended.json<Document>().destinations;
    expect(diagnosis).toMatchObject({ outcome: "fail", failure_code: "DESTINATION_MISSING" });
    expect(diagnosis?.checks.find(({ name }) => name === "write")).toMatchObject({
      outcome: "fail",
      fix: expect.stringContaining("settings.location"),
    });
    expect((await line.run("doctor")).stdout).toMatch(/write +fail +create the configured place/);
    await mkdir(folder ?? "");
    expect((await line.run("doctor")).code).toBe(0);
  });

  it("ends with 1 for a secret that is missing, naming its reference", async () => {
    const line = await configured(withSilentBucket);
    const ended = await line.run("doctor", "silent-bucket");
    expect(ended.code).toBe(1);
    expect(ended.stdout).toMatch(/settings +fail .*SILENT_KEY/);
  });

  it("ends with 3 when a destination does not answer, and tells of the others all the same", async () => {
    const line = await configured((text) => withSilentBucket(text).replace(/env:SILENT_(KEY|SECRET)/g, "env:PATH"));
    const ended = await line.run("doctor", "--json");
    expect(ended.code).toBe(3);
    const found = ended.json<Document>().destinations.map(({ destination_id, outcome }) => [destination_id, outcome]);
    expect(found[0]).toEqual(["silent-bucket", "unreachable"]);
    expect(found[1]?.[1]).toBe("pass");
  });

  it("ends with 2 for a destination that the configuration does not have, naming those it has", async () => {
    const line = await configured(withSilentBucket);
    const ended = await line.run("doctor", "no-such");
    expect(ended.code).toBe(2);
    expect(ended.stderr).toMatch(/no destination no-such; it has silent-bucket, /);
  });
});
