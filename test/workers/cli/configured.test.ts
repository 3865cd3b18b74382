import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openWaybill } from "../../../workers/open-waybill.ts";
import { checkConfig } from "../../../workers/operations/check-config.ts";
import { requireConfigFile } from "../../../workers/operations/config-file.ts";
import { deliver } from "../../../workers/operations/deliver.ts";
import { officialSchema } from "../../servers/official-schemas.ts";
import { describePeer } from "../../servers/peers.ts";
import { type CommandLine, type CommandLines, definitionFile, fixture, openCommandLines } from "./command-line.ts";

let lines: CommandLines;
beforeAll(async () => {
  lines = await openCommandLines();
});
afterAll(() => lines.close());

interface Document {
  readonly revision: { readonly reporting_revision_id: string };
  readonly obligation: { readonly reporting_obligation_id: string; readonly health: string };
  readonly materialization: {
    readonly reporting_materialization_id: string;
    readonly status: string;
    readonly failure_code?: string;
    readonly attempt: number;
  };
  readonly manifest: object | null;
  readonly location: string | null;
}

/** A folder with the configuration of `waybill init`, for our fixture. */
async function configured(change: (text: string) => string = (text) => text): Promise<CommandLine> {
  const line = await lines.open();
  expect((await line.run("init")).code).toBe(0);
  const config = await readFile(line.path("waybill.config.yaml"), "utf8");
  await writeFile(line.path("waybill.config.yaml"), change(config));
  await writeFile(line.path("definition.yaml"), await readFile(definitionFile));
  return line;
}

async function retained(line: CommandLine, rows = fixture("rows.jsonl"), ...flags: string[]): Promise<string> {
  const parameters = ["retain", rows, "--definition", "definition.yaml", "--account", "acct-1", "--json", ...flags];
  const ended = await line.run(...parameters);
  expect(ended.stderr).not.toContain("waybill:");
  return ended.json<Document>().revision.reporting_revision_id;
}

/** Opens a delivery as a worker that died right afterwards would leave it. */
async function openAttempt(line: CommandLine, revisionId: string): Promise<string> {
  const config = await checkConfig(await requireConfigFile({ directory: line.directory }));
  const waybill = await openWaybill({ directory: line.path(".waybill"), work: false });
  try {
    const { signal } = new AbortController();
    const request = { revisionId, destination: undefined, config, patienceMs: "enqueue" as const, signal };
    return (await deliver(waybill, request)).materialization.reporting_materialization_id;
  } finally {
    await waybill.close();
  }
}

describe("a configured installation", () => {
  it("starts from init, whose files are right as they stand and are never overwritten", async () => {
    const line = await lines.open();
    const made = await line.run("init", "--json");
    expect(made.json()).toEqual({ files: [line.path("waybill.config.yaml"), line.path("definition.yaml")] });
    const checked = await line.run("config", "check", "--json");
    expect(checked.json()).toMatchObject({ ok: true, definitions: 1, feeds: 1 });
    expect(checked.json<{ warnings: string[] }>().warnings[0]).toContain("verified as producer");
    const again = await line.run("init");
    expect(again.code).toBe(2);
    expect(again.stderr).toContain("not overwritten");
  });

  it("config check lists the problems of all files at once, and never a value", async () => {
    const line = await configured((text) =>
      text
        .replace("hosting: producer ", "hosting: s3cr3t-c4n4ry ")
        .replace("retention_days: 90", "retention_days: -1")
        .replace("location: file", "location: ftp")
        .replace("alignment: utc", "alignment: billing_cycle"),
    );
    const schema = await line.run("config", "check");
    expect(schema.code).toBe(2);
    expect(schema.stderr).toContain("destinations[0].hosting");
    expect(schema.stderr).toContain("destinations[0].retention_days");
    expect(schema.stderr).not.toContain("s3cr3t-c4n4ry");

    const second = await configured((text) =>
      text.replace("location: file", "location: ftp").replace("daily-ad", "other"),
    );
    await writeFile(second.path("definition.yaml"), "waybill_definition: 1\n");
    const parts = await second.run("config", "check", "--json");
    const { problems } = parts.json<{ error: { problems: readonly { message: string }[] } }>().error;
    const all = problems.map((problem) => problem.message).join("\n");
    expect(all).toContain("definition.yaml: members: is required");
    expect(all).toContain("destinations[0].settings.location");
    expect(all).toContain("configurations[0].report_definition_id");
  });

  it("config apply installs once, replays as unchanged, and wants a new version for a change", async () => {
    const line = await configured();
    const outcomes = async (): Promise<readonly string[]> =>
      (await line.run("config", "apply", "--json"))
        .json<{ applied: readonly { outcome: string }[] }>()
        .applied.map((one) => one.outcome);
    expect(await outcomes()).toEqual(["installed", "installed"]);
    expect(await outcomes()).toEqual(["unchanged", "unchanged"]);
    const config = await readFile(line.path("waybill.config.yaml"), "utf8");
    await writeFile(line.path("waybill.config.yaml"), config.replace("delivery_sla: PT4H", "delivery_sla: PT6H"));
    const refused = await line.run("config", "apply");
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("raise delivery_config_version");
    const shown = await line.run("config", "show", "--json");
    expect(shown.json()).toMatchObject({
      feeds: [{ destination: { destination_ref: expect.stringMatching(/^reports\.[0-9a-f]{12}$/) } }],
    });
  });

  it("retains, delivers by the configured feed, tells the story, and repeats nothing by itself", async () => {
    const line = await configured();
    const revision = await retained(line);
    expect(await retained(line)).toBe(revision);
    const delivered = await line.run("deliver", revision, "--json");
    const document = delivered.json<Document>();
    expect(delivered.code).toBe(0);
    expect(document.materialization).toMatchObject({ status: "available", attempt: 1, delivery_config_id: "daily" });
    const obligation = document.obligation.reporting_obligation_id;
    expect(document.obligation.health).toBe("complete");

    const redriven = await line.run("redrive", obligation, "--json");
    expect(redriven.json<Document>().materialization).toEqual(document.materialization);
    expect(redriven.stderr).toContain("nothing to do");

    const told = await line.run("explain", obligation);
    expect(told.stdout).toContain("Complete: the current revision is delivered and verified.");
    expect(told.stdout).toContain("26 taken from the source");
    expect(told.stdout).toContain("Nobody has to act.");
    const ofRevision = await line.run("explain", revision);
    expect(ofRevision.stdout).toContain("1 of 1 deliveries of it are ready");
  });

  it("restates only the revision it names, and says which one that is", async () => {
    const line = await configured();
    const first = await retained(line);
    const flags = ["--definition", "definition.yaml", "--account", "acct-1"];
    const unnamed = await line.run("retain", fixture("rows-restated.jsonl"), ...flags);
    expect(unnamed.code).toBe(2);
    expect(unnamed.stderr).toContain(first);
    const wrong = await line.run("retain", fixture("rows-restated.jsonl"), ...flags, "--supersedes", "rev_other");
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain(first);
    const second = await retained(line, fixture("rows-restated.jsonl"), "--supersedes", first);
    const listed = await line.run("ls", "revisions", "--json");
    expect(listed.json<{ items: unknown[] }>().items).toMatchObject([
      { current: false, revision: { reporting_revision_id: first } },
      { current: true, revision: { reporting_revision_id: second, supersedes_reporting_revision_id: first } },
    ]);
  });

  it("a destination that is missing fails the delivery, is explained, and a redrive succeeds once it is there", async () => {
    const line = await configured();
    await rm(line.path("reports"), { recursive: true });
    const revision = await retained(line);
    const failed = await line.run("deliver", revision, "--json");
    const document = failed.json<Document>();
    expect(failed.code).toBe(2);
    expect(document).toMatchObject({
      materialization: { status: "failed", failure_code: "DESTINATION_MISSING" },
      manifest: null,
      location: null,
    });
    expect(failed.stderr).toContain(`waybill explain ${document.materialization.reporting_materialization_id}`);
    expect(failed.stderr).toContain(`waybill redrive ${document.obligation.reporting_obligation_id}`);

    const told = await line.run("explain", document.materialization.reporting_materialization_id, "--json");
    expect(told.json()).toMatchObject({
      kind: "materialization",
      failure: { code: "DESTINATION_MISSING", next: "stop", responsible_party: "buyer" },
      responsible_party: "buyer",
      next_run_at: null,
    });

    await mkdir(line.path("reports"));
    const redriven = await line.run("redrive", document.obligation.reporting_obligation_id, "--json");
    expect(redriven.code).toBe(0);
    expect(redriven.json<Document>().materialization).toMatchObject({ status: "available", attempt: 2 });
  });

  it("an attempt that is left open is told, and sweep or redrive go on with it", async () => {
    const line = await configured();
    const revision = await retained(line);
    const id = await openAttempt(line, revision);
    const told = await line.run("explain", id);
    expect(told.stdout).toContain("is under way");
    const swept = await line.run("sweep", "--json");
    expect(swept.json()).toMatchObject({ deliveries_run: 1 });
    const listed = await line.run("ls", "materializations", "--json");
    expect(listed.json<{ items: unknown[] }>().items).toMatchObject([
      { reporting_materialization_id: id, status: "available" },
    ]);
  });

  it("ls pages by a cursor that belongs to its list, oldest or newest first", async () => {
    const line = await configured();
    const first = await retained(line);
    const second = await retained(line, fixture("rows-restated.jsonl"), "--supersedes", "current");
    const page = async (...flags: string[]): Promise<readonly [readonly string[], string | null]> => {
      const { items, after } = (await line.run("ls", "revisions", "--limit", "1", "--json", ...flags)).json<{
        items: readonly Document[];
        after: string | null;
      }>();
      return [items.map((item) => item.revision.reporting_revision_id), after];
    };
    const [ids, cursor] = await page();
    expect(ids).toEqual([first]);
    expect(await page("--after", cursor ?? "")).toEqual([[second], null]);
    expect((await page("--newest"))[0]).toEqual([second]);
    expect((await line.run("ls", "obligations", "--after", cursor ?? "")).code).toBe(2);
    expect((await line.run("ls", "revisions", "--account", "someone-else", "--json")).json()).toEqual({
      items: [],
      after: null,
    });
    const text = await line.run("ls", "revisions", "--limit", "1");
    expect(text.stdout).toContain(first);
    expect(text.stderr).toContain("--after");
  });
});

describe("define", () => {
  it("drafts a definition from rows that retain takes as it stands", async () => {
    const line = await lines.open();
    const flags = ["--key", "report_date,media_buy_id,package_id,creative_id", "--out", "drafted.yaml"];
    const drafted = await line.run("define", fixture("rows.jsonl"), ...flags, "--json");
    expect(drafted.json()).toMatchObject({ path: line.path("drafted.yaml"), row_count: 26 });
    expect((await line.run("retain", fixture("rows.jsonl"), "--definition", "drafted.yaml")).code).toBe(0);
  });
});

describePeer("adcp", "records of a delivery that failed, by the official schemas", () => {
  it("are valid", async () => {
    const line = await configured();
    await rm(line.path("reports"), { recursive: true });
    const document = (await line.run("deliver", await retained(line), "--json")).json<Document>();
    expect(officialSchema("core/reporting-materialization")(document.materialization)).toEqual([]);
    expect(officialSchema("core/reporting-obligation")(document.obligation)).toEqual([]);
  });
});
