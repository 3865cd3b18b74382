import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { WaybillError } from "../../../core/errors.ts";
import type { JsonObject } from "../../../core/json.ts";
import { checkDefinition, parseDefinition } from "../../../core/rows/definition.ts";

const file = readFileSync(new URL("../../../fixtures/daily-ad-delivery/definition.json", import.meta.url), "utf8");
const valid: JsonObject = JSON.parse(file);

function fieldsOf(change: JsonObject): readonly (string | undefined)[] {
  try {
    checkDefinition({ ...valid, ...change });
    return [];
  } catch (error) {
    if (!(error instanceof WaybillError)) throw error;
    expect(error.kind).toBe("usage");
    return error.problems.map(({ field }) => field).sort();
  }
}

const member = (name: string, more: JsonObject = {}): JsonObject => ({ name, type: "string", ...more });
const money = { type: "decimal-string", precision: 18, scale: 6 };

/** A definition of these members, keyed and summed by the first two. */
function withMembers(...members: readonly JsonObject[]): JsonObject {
  const all = [member("id"), member("spend", money), ...members];
  return {
    members: all,
    primary_keys: ["id"],
    media_buy_member: "id",
    control_totals: [{ name: "spend", member: "spend" }],
  };
}

describe("definition file", () => {
  it("is read from JSON and from YAML", () => {
    const yaml =
      "waybill_definition: 1\n" +
      Object.entries(valid)
        .slice(1)
        .map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`)
        .join("");
    expect(parseDefinition(yaml, "yaml")).toEqual(parseDefinition(file, "json"));
  });

  it("a version that YAML reads as a number is refused with advice", () => {
    const yaml = JSON.stringify({ ...valid, schema_version: 1.0 });
    expect(() => parseDefinition(yaml, "yaml")).toThrow(/schema_version.*quotes/);
  });

  it("names every unknown, missing and wrong setting at once", () => {
    const { grain: _, ...rest } = valid;
    const broken = { ...rest, colour: "red", waybill_definition: 2, members: [{ name: "9a", type: "money" }] };
    try {
      checkDefinition(broken);
      expect.unreachable();
    } catch (error) {
      const fields = (error as WaybillError).problems.map(({ field }) => field).sort();
      expect(fields).toEqual([
        "colour",
        "grain",
        "members",
        "members[0].name",
        "members[0].type",
        "waybill_definition",
      ]);
    }
  });

  it("duplicate keys in the text are refused", () => {
    expect(() => parseDefinition('{"waybill_definition": 1, "waybill_definition": 1}', "json")).toThrow(/repeated/);
    expect(() => parseDefinition("grain: a\ngrain: b\n", "yaml")).toThrow(/twice/);
  });

  it("members are told apart without regard to case", () => {
    expect(fieldsOf(withMembers(member("a"), member("A"), member("id")))).toEqual([
      "members[3].name",
      "members[4].name",
    ]);
  });

  it("__proto__ is no member name", () => {
    expect(fieldsOf(withMembers(member("__proto__")))).toEqual(["members[2].name"]);
  });

  it("precision and scale belong to decimals, which need both", () => {
    expect(
      fieldsOf(withMembers(member("a", { precision: 3 }), member("b", { type: "decimal-string", scale: 2 }))),
    ).toEqual(["members[2].precision", "members[3].precision"]);
    expect(fieldsOf(withMembers(member("a", { ...money, precision: 2 })))).toEqual(["members[2].scale"]);
    expect(fieldsOf(withMembers(member("a", { fraction: 3 }), member("b", { column: "int64" })))).toEqual([
      "members[2].fraction",
      "members[3].column",
    ]);
  });

  it("keys are members, plain and never missing", () => {
    const members = withMembers(member("nested", { type: "json" }), member("gone", { missing: "null" }));
    expect(fieldsOf({ ...members, primary_keys: ["nested", "gone", "unknown"] })).toEqual([
      "primary_keys[0]",
      "primary_keys[1]",
      "primary_keys[2]",
    ]);
    expect(fieldsOf({ ...members, media_buy_member: "gone" })).toEqual(["media_buy_member"]);
    expect(fieldsOf({ ...members, media_buy_member: "unknown" })).toEqual(["media_buy_member"]);
  });

  it("totals sum exact members, each once, under distinct names", () => {
    const totals = (...control_totals: readonly JsonObject[]) => fieldsOf({ control_totals });
    expect(totals({ name: "rate", member: "viewability_rate" })).toEqual(["control_totals[0].member"]);
    expect(totals({ name: "x", member: "unknown" })).toEqual(["control_totals[0].member"]);
    expect(totals({ name: "a", member: "spend" }, { name: "a", member: "clicks" })).toEqual(["control_totals[1].name"]);
    expect(totals({ name: "a", member: "spend" }, { name: "b", member: "spend" })).toEqual([
      "control_totals[1].member",
    ]);
    expect(totals()).toEqual(["control_totals"]);
  });

  it("finality policies have an id of their own and durations that can be read", () => {
    const policy = { finality_policy_id: "a", basis: "contractual_cutoff", duration_after_period_end: "4 hours" };
    expect(fieldsOf({ finality_policies: [policy, { ...policy, duration_after_period_end: "PT4H" }] })).toEqual([
      "finality_policies[0].duration_after_period_end",
      "finality_policies[1].finality_policy_id",
    ]);
    expect(fieldsOf({ finality_policies: [{ finality_policy_id: "a", basis: "stabilized" }] })).toEqual([
      "finality_policies[0]",
    ]);
  });

  it("a configured calendar has a zone, no other has one", () => {
    expect(fieldsOf({ calendar: { timezone_basis: "configured_timezone" } })).toEqual(["calendar.timezone"]);
    expect(fieldsOf({ calendar: { timezone_basis: "utc", timezone: "UTC" } })).toEqual(["calendar.timezone"]);
    expect(fieldsOf({ calendar: { timezone_basis: "configured_timezone", timezone: "+02:00" } })).toEqual([
      "calendar.timezone",
    ]);
  });

  it("an id of dots alone cannot become part of a URI", () => {
    expect(fieldsOf({ report_definition_id: ".." })).toEqual(["report_definition_id"]);
  });

  it("documents are published under a public https URI", () => {
    for (const documents_base_uri of [
      "http://a.example/x",
      "https://localhost/x",
      "https://a.example/x/",
      "https://u@a.example",
      "https://127.0.0.1/x",
    ]) {
      expect(fieldsOf({ documents_base_uri })).toEqual(["documents_base_uri"]);
    }
  });
});
