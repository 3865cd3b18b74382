import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { configSchema } from "../../../core/config/config-schema.ts";
import { parseConfig } from "../../../core/config/parse-config.ts";
import { WaybillError } from "../../../core/errors.ts";
import { repositoryRoot } from "../../servers/peers.ts";

const good = `
waybill: 1
ledger: {embedded: ./.waybill}
definitions: [./definition.yaml]
destinations:
  - destination_id: buyer-folder
    transport: local_fs
    hosting: producer
    verification_path: producer
    retention_days: 90
    settings: {location: "file:///srv/reports", format: jsonl, compression: gzip}
configurations:
  - delivery_config_id: daily
    delivery_config_version: 1
    account_id: acct-1
    report_definition_id: daily-ad-delivery
    feed_purpose: analytics
    required_finality: snapshot
    reconciliation_mode: delivery_only
    verification_profile: canonical_digest
    media_buy_ids: all
    destination: buyer-folder
    schedule: {period_duration: P1D, alignment: utc, delivery_sla: PT4H}
`;

function problemsOf(
  text: string,
  format: "yaml" | "json" = "yaml",
): readonly { code: string; field?: string; message: string }[] {
  try {
    parseConfig(text, format);
  } catch (error) {
    if (error instanceof WaybillError && error.kind === "usage") return error.problems;
    throw error;
  }
  return [];
}

const fieldsOf = (text: string): readonly string[] => problemsOf(text).map((problem) => problem.field ?? "");

describe("waybill.config.yaml", () => {
  it("is read as written", () => {
    const config = parseConfig(good, "yaml");
    expect(config.configurations[0]?.schedule.delivery_sla).toBe("PT4H");
    expect(parseConfig(JSON.stringify(config), "json")).toEqual(config);
  });

  it("reports all problems at once, each with its path", () => {
    const text = good
      .replace("transport: local_fs\n    ", "")
      .replace("hosting: producer", "hosting: nobody")
      .replace("retention_days: 90", "retention_days: 0")
      .replace("delivery_config_version: 1", 'delivery_config_version: "1"')
      .replace("media_buy_ids: all", "media_buy_ids: [a, a]")
      .replace("period_duration: P1D", "period_duration: P1W")
      .replace("feed_purpose: analytics", "feed_purpose: analytics\n    colour: red");
    expect(fieldsOf(text).toSorted()).toEqual([
      "configurations[0].colour",
      "configurations[0].delivery_config_version",
      "configurations[0].media_buy_ids",
      "configurations[0].schedule.period_duration",
      "destinations[0].hosting",
      "destinations[0].retention_days",
      "destinations[0].transport",
    ]);
  });

  it("never repeats a value in a problem", () => {
    const secret = "s3cr3t-c4n4ry";
    const wrong = [
      good.replace("hosting: producer", `hosting: ${secret}`),
      good.replace("delivery_sla: PT4H", `delivery_sla: ${secret}`),
      good.replace("account_id: acct-1", `account_id: "${secret} /"`),
      good.replace("destination: buyer-folder", `destination: ${secret}`),
      good.replace("waybill: 1", `waybill: ${secret}`),
      `${good}\n  - [${secret}`,
      good.replace("waybill: 1", `waybill: 1\nwaybill: ${secret}`),
      good.replace("waybill: 1", `waybill: !${secret} 1`),
    ];
    for (const text of wrong) {
      const problems = problemsOf(text);
      expect(problems.length).toBeGreaterThan(0);
      expect(JSON.stringify(problems)).not.toContain(secret);
    }
  });

  it("finds references that lead nowhere and ids given twice", () => {
    const twice = good.replace(
      "configurations:",
      `  - ${block(good, "destination_id: buyer-folder", 6)}\nconfigurations:`,
    );
    expect(fieldsOf(twice)).toEqual(["destinations[1].destination_id"]);
    expect(fieldsOf(good.replace("destination: buyer-folder", "destination: other"))).toEqual([
      "configurations[0].destination",
    ]);
  });

  it("holds billing feeds and schedules to the contract's combinations", () => {
    expect(fieldsOf(good.replace("feed_purpose: analytics", "feed_purpose: billing"))).toEqual([
      "configurations[0].required_finality",
      "configurations[0].reconciliation_mode",
    ]);
    expect(fieldsOf(good.replace("alignment: utc", "alignment: billing_cycle"))).toEqual([
      "configurations[0].schedule.period_timezone",
      "configurations[0].schedule.period_anchor",
    ]);
    const offset = good.replace("alignment: utc", 'alignment: source_timezone, period_timezone: "+02:00"');
    expect(problemsOf(offset)[0]?.message).toContain("must be an IANA zone");
  });

  it("says where the syntax breaks", () => {
    expect(problemsOf("waybill: 1\nwaybill: 1\n")[0]?.message).toBe("line 2, column 1: this key stands here twice");
    expect(problemsOf('{"waybill": 1,}', "json")[0]?.message).toMatch(/^line 1, column \d+: /);
    expect(problemsOf("- 1\n--- \n- 2\n")).not.toEqual([]);
    expect(problemsOf("")).not.toEqual([]);
  });

  it("is refused when aliases multiply beyond bounds", () => {
    const bomb = [
      "a: &a [1,1,1,1,1,1,1,1,1]",
      ...["b", "c", "d", "e"].map((name, index) => {
        const before = String.fromCharCode(name.charCodeAt(0) - 1);
        return `${name}: &${name} [${Array(9 + index)
          .fill(`*${before}`)
          .join(",")}]`;
      }),
    ].join("\n");
    expect(problemsOf(bomb)[0]?.code).toBe("NOT_JSON");
  });

  it("has its schema published for editors", () => {
    const published = readFileSync(join(repositoryRoot, "docs/config.schema.json"), "utf8");
    expect(JSON.parse(published)).toEqual(configSchema);
  });
});

/** The block mapping that starts with a line, without its first indentation. */
function block(text: string, start: string, lines: number): string {
  const from = text.slice(text.indexOf(start)).split("\n").slice(0, lines);
  return from.join("\n");
}
