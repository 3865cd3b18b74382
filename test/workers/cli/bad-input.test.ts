import { mkdir, readFile, writeFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { lockFolder } from "../../../core/store/folder-lock.ts";
import { type CommandLine, type CommandLines, definitionFile, fixture, openCommandLines } from "./command-line.ts";

let lines: CommandLines;
let line: CommandLine;
beforeAll(async () => {
  lines = await openCommandLines();
  line = await lines.open();
  await writeFile(line.path("a-file"), "");
  await writeFile(line.path("broken.yaml"), await brokenDefinition());
  const row = JSON.parse((await readFile(fixture("rows.jsonl"), "utf8")).split("\n")[0] ?? "");
  const rows: { readonly [name: string]: readonly string[] } = {
    "wrong-type.jsonl": [
      JSON.stringify({ ...row, impressions: 12 }),
      JSON.stringify({ ...row, spend: "1.5", creative_id: "b" }),
    ],
    "duplicate-key.jsonl": [JSON.stringify(row), JSON.stringify(row)],
    "duplicate-member.jsonl": [JSON.stringify(row).replace("{", '{"clicks":"1",')],
    "lone-surrogate.jsonl": [JSON.stringify(row).replace('"USD"', '"\\ud800"')],
    "beyond-double.jsonl": [JSON.stringify(row).replace('"clicks":"', '"viewability_rate":9007199254740993,"x":"')],
    "not-finite.jsonl": [JSON.stringify(row).replace('"USD"', "NaN")],
    "unknown-member.jsonl": [JSON.stringify({ ...row, colour: "red" })],
    "truncated.jsonl": [JSON.stringify(row).slice(0, 40)],
  };
  for (const [name, content] of Object.entries(rows)) await writeFile(line.path(name), `${content.join("\n")}\n`);
});
afterAll(() => lines.close());

async function brokenDefinition(): Promise<string> {
  const definition = JSON.parse(await readFile(definitionFile, "utf8"));
  return JSON.stringify({
    ...definition,
    grain: 7,
    colour: "red",
    primary_keys: ["report_date", "report_date"],
    members: definition.members.map((member: { name: string }) =>
      member.name === "spend" ? { ...member, type: "money" } : member,
    ),
  });
}

const rows = fixture("rows.jsonl");
const good = ["--definition", definitionFile, "--to", "out"];

interface Case {
  readonly title: string;
  readonly parameters: readonly string[];
  readonly code: number;
  /** Texts that stderr must have. */
  readonly says: readonly string[];
}

const cases: readonly Case[] = [
  {
    title: "an unknown flag",
    parameters: ["ship", rows, ...good, "--colour"],
    code: 2,
    says: ["--colour", "ship --help"],
  },
  { title: "an unknown command", parameters: ["shipp"], code: 2, says: ["shipp", "Did you mean ship"] },
  { title: "a flag that is missing", parameters: ["ship", rows, "--to", "out"], code: 2, says: ["--definition"] },
  {
    title: "a value that is none of the choices",
    parameters: ["ship", rows, ...good, "--format", "xml"],
    code: 2,
    says: ["jsonl, csv, parquet"],
  },
  {
    title: "a compression that the format lacks",
    parameters: ["ship", rows, ...good, "--compression", "snappy"],
    code: 2,
    says: ["--compression", "parquet"],
  },
  {
    title: "a number out of bounds",
    parameters: ["ls", "revisions", "--limit", "0"],
    code: 2,
    says: ["--limit", "1 to 1000"],
  },
  {
    title: "rows that do not exist",
    parameters: ["ship", "nowhere.jsonl", ...good],
    code: 2,
    says: ["does not exist"],
  },
  { title: "rows of an unknown kind", parameters: ["ship", "a-file", ...good], code: 2, says: ["format"] },
  {
    title: "a definition that does not exist",
    parameters: ["ship", rows, "--definition", "no.yaml", "--to", "out"],
    code: 2,
    says: ["no.yaml does not exist"],
  },
  {
    title: "a definition with several problems, all at once",
    parameters: ["ship", rows, "--definition", "broken.yaml", "--to", "out"],
    code: 2,
    says: ["broken.yaml: grain", "broken.yaml: colour", "broken.yaml: primary_keys", "members[7].type"],
  },
  {
    title: "a target below a file",
    parameters: ["ship", rows, "--definition", definitionFile, "--to", "a-file/out"],
    code: 2,
    says: ["a-file/out"],
  },
  {
    title: "a target in a cloud",
    parameters: ["ship", rows, "--definition", definitionFile, "--to", "s3://bucket/x"],
    code: 2,
    says: ["--to"],
  },
  {
    title: "an account that is no id",
    parameters: ["ship", rows, ...good, "--account", "a b"],
    code: 2,
    says: ["account_id"],
  },
  {
    title: "a media buy that is no id",
    parameters: ["ship", rows, ...good, "--media-buys", "a/b"],
    code: 2,
    says: ["media_buy_ids"],
  },
  {
    title: "half a period",
    parameters: ["ship", rows, ...good, "--period-start", "2026-03-08"],
    code: 2,
    says: ["--period-end"],
  },
  {
    title: "a zone that is none",
    parameters: ["ship", rows, ...good, "--timezone", "+01:00"],
    code: 2,
    says: ["--timezone", "Europe/Berlin"],
  },
  {
    title: "a period that is not over",
    parameters: ["ship", rows, ...good, "--period-start", "2026-03-08", "--period-end", "9000-01-01"],
    code: 2,
    says: ["has not passed"],
  },
  {
    title: "a finality policy that the definition lacks",
    parameters: ["ship", rows, ...good, "--finality", "official", "--finality-policy", "x"],
    code: 2,
    says: ["finality_policy_id"],
  },
  {
    title: "totals that name not all",
    parameters: ["ship", rows, ...good, "--expect-totals", "clicks=1"],
    code: 2,
    says: ["impressions, clicks, spend"],
  },
  {
    title: "another count than the pipeline's",
    parameters: ["ship", rows, ...good, "--expect-rows", "27"],
    code: 1,
    says: ["27 rows are declared, the rows are 26"],
  },
  {
    title: "other totals than the pipeline's",
    parameters: ["ship", rows, ...good, "--expect-totals", "impressions=1,clicks=2,spend=3.000000"],
    code: 1,
    says: ["control total impressions", "control total clicks", "control total spend"],
  },
  {
    title: "values of the wrong type, every row",
    parameters: ["ship", "wrong-type.jsonl", ...good],
    code: 1,
    says: ["row 1: impressions", "row 2: spend"],
  },
  {
    title: "two rows with one key",
    parameters: ["ship", "duplicate-key.jsonl", ...good],
    code: 1,
    says: ["1", "2", "key"],
  },
  {
    title: "a member that stands twice",
    parameters: ["ship", "duplicate-member.jsonl", ...good],
    code: 1,
    says: ["row 1"],
  },
  { title: "a lone surrogate", parameters: ["ship", "lone-surrogate.jsonl", ...good], code: 1, says: ["row 1"] },
  {
    title: "a number that a double cannot hold",
    parameters: ["ship", "beyond-double.jsonl", ...good],
    code: 1,
    says: ["row 1"],
  },
  { title: "a number that is not finite", parameters: ["ship", "not-finite.jsonl", ...good], code: 1, says: ["row 1"] },
  {
    title: "a member that the definition lacks",
    parameters: ["ship", "unknown-member.jsonl", ...good],
    code: 1,
    says: ["row 1", "colour"],
  },
  {
    title: "a line that ends in the middle",
    parameters: ["ship", "truncated.jsonl", ...good],
    code: 1,
    says: ["row 1"],
  },
  {
    title: "a revision that is not there",
    parameters: ["deliver", ".."],
    code: 2,
    says: ["there is no revision ..", "waybill ls revisions"],
  },
  {
    title: "an obligation that is not there",
    parameters: ["redrive", ".."],
    code: 2,
    says: ["there is no obligation ..", "waybill ls obligations"],
  },
  { title: "a record that is not there", parameters: ["explain", ".."], code: 2, says: ["has the id .."] },
  { title: "a cursor that is none", parameters: ["ls", "revisions", "--after", "x"], code: 2, says: ["cursor"] },
  {
    title: "a ledger that is not there",
    parameters: ["ls", "revisions", "--ledger", "elsewhere"],
    code: 2,
    says: ["there is no ledger", "--ledger"],
  },
  {
    title: "a ledger below a file",
    parameters: ["ship", rows, ...good, "--ledger", "a-file/ledger"],
    code: 2,
    says: ["a-file"],
  },
  { title: "no configuration", parameters: ["config", "check"], code: 2, says: ["waybill init"] },
  {
    title: "a configuration that does not exist",
    parameters: ["config", "check", "--config", "no.yaml"],
    code: 2,
    says: ["no.yaml does not exist"],
  },
  {
    title: "a delivery that does not exist",
    parameters: ["verify", "nowhere"],
    code: 2,
    says: ["nowhere does not exist"],
  },
  {
    title: "an expectation that is none",
    parameters: ["verify", ".", "--expect", "broken.yaml"],
    code: 2,
    says: ["expectation"],
  },
  { title: "a folder without a manifest yet", parameters: ["verify", "."], code: 3, says: [] },
  { title: "a demo into a folder with something in it", parameters: ["demo", "."], code: 2, says: ["is not empty"] },
];

describe("bad input", () => {
  for (const { title, parameters, code, says } of cases) {
    it(`${title}: exit ${code}, a sentence on what to do, and nothing half-written`, async () => {
      const before = await line.files();
      const ended = await line.run(...parameters, "--json");
      expect({ code: ended.code, stderr: ended.stderr }).toMatchObject({ code });
      for (const text of says) expect(ended.stderr).toContain(text);
      expect(ended.stderr).not.toMatch(/\n {4}at |please report/);
      const document = ended.json<{ error?: { kind: string; problems: readonly object[] }; ok?: boolean }>();
      expect((document.error?.problems.length ?? 0) > 0 || document.ok === false).toBe(true);
      expect(await line.files()).toEqual(before);
    });
  }

  it("none of it published or kept anything", async () => {
    for (const kind of ["revisions", "obligations", "materializations"]) {
      expect((await line.run("ls", kind, "--json")).json()).toEqual({ items: [], after: null });
    }
  });

  it("a ledger that another process has open: exit 2, naming its pid", async () => {
    const locked = await lines.open();
    await mkdir(locked.path(".waybill", "ledger"), { recursive: true });
    const lock = await lockFolder(locked.path(".waybill", "ledger"));
    try {
      for (const parameters of [["ls", "revisions"], ["sweep"], ["ship", rows, ...good]]) {
        const ended = await locked.run(...parameters);
        expect(ended.code).toBe(2);
        expect(ended.stderr).toContain(`process ${process.pid}`);
      }
      expect(await locked.files()).toEqual([]);
    } finally {
      await lock.release();
    }
  });

  it("a definition that changed after rows were retained with it asks for a new profile", async () => {
    const pinned = await lines.open();
    expect((await pinned.run("retain", rows, "--definition", definitionFile)).code).toBe(0);
    const changed = (await readFile(definitionFile, "utf8")).replace('"creative-day"', '"creative-hour"');
    await writeFile(pinned.path("changed.json"), changed);
    const refused = await pinned.run("retain", rows, "--definition", "changed.json");
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("new reporting_profile");
    await writeFile(pinned.path("changed.json"), changed.replace("daily-ad-delivery-v1", "daily-ad-delivery-v2"));
    expect((await pinned.run("retain", rows, "--definition", "changed.json")).code).toBe(0);
  });

  it("a definition can be corrected as long as nothing was retained with it", async () => {
    const fresh = await lines.open();
    const wrong = (await readFile(definitionFile, "utf8")).replace('"scale": 6', '"scale": 2');
    await writeFile(fresh.path("definition.json"), wrong);
    expect((await fresh.run("retain", rows, "--definition", "definition.json")).code).toBe(1);
    await writeFile(fresh.path("definition.json"), await readFile(definitionFile));
    expect((await fresh.run("retain", rows, "--definition", "definition.json")).code).toBe(0);
  });

  it("stdout stays empty of anything but the document, and stderr of it", async () => {
    const ended = await line.run("ls", "revisions", "--json");
    expect(ended.stdout).toBe(`${JSON.stringify({ items: [], after: null }, null, 2)}\n`);
    expect(ended.stderr).toBe("");
  });
});
