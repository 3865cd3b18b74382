import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { parse as parseYaml } from "yaml";
import { canonicalJson } from "../../../core/canonical-json.ts";
import { adjustmentDigest } from "../../../core/digest/adjustment-digest.ts";
import { createBindingDigest } from "../../../core/digest/binding-digest.ts";
import { canonicalContent } from "../../../core/digest/canonical-content.ts";
import { readCanonicalizationContract } from "../../../core/digest/canonicalization-contract.ts";
import { runGoldenVectors } from "../../../core/digest/golden-vectors.ts";
import { nodeHasher, sha256Hex } from "../../../core/digest/node-hasher.ts";
import type { JsonObject } from "../../../core/json.ts";
import { aggregateCoverage, coverageProblems, type Support } from "../../../core/model/coverage.ts";
import { instantToUs } from "../../../core/model/instant.ts";
import { evidenceProblems } from "../../../core/model/materialization.ts";
import type { Adjustment, ControlTotal, Coverage, Materialization, Revision } from "../../../core/model/records.ts";
import { revisionProblems } from "../../../core/model/revision.ts";
import { chainProblem } from "../../../core/model/revision-chain.ts";
import { createTotals, totalDifferences } from "../../../core/model/totals.ts";
import { expectedAt, periodContaining } from "../../../core/schedule/calendar.ts";
import { type FinalityPolicy, finalityProblem } from "../../../core/schedule/finality.ts";
import { parseJson, parseJsonBytes } from "../../../core/strict-json.ts";
import { describePeer, requireAdcp } from "../../servers/peers.ts";

function asset(name: string): Uint8Array {
  return readFileSync(join(requireAdcp().vectors, "reporting-reconciliation", name));
}

function document<T>(name: string): T {
  return parseJsonBytes(asset(name)) as unknown as T;
}

function rowsOf(name: string): readonly JsonObject[] {
  const lines = new TextDecoder().decode(asset(name)).split("\n");
  return lines.filter((line) => line !== "").map((line) => parseJson(line) as JsonObject);
}

function binding(revisionId: string, controlTotals: readonly ControlTotal[], rows: readonly JsonObject[]): string {
  const digest = createBindingDigest(nodeHasher("sha256"), { revisionId, controlTotals });
  for (const row of rows) digest.add(canonicalJson(row));
  return digest.finish();
}

interface ScenarioIndex {
  readonly assets: Readonly<
    Record<string, { readonly size_bytes: number; readonly sha256: string; readonly sha512: string }>
  >;
  readonly canonical_report: {
    readonly control_totals: readonly ControlTotal[];
    readonly canonical_utf8_base64: string;
    readonly sha256: string;
  };
}

describePeer("adcp", "the official reporting vectors are reproduced", () => {
  it("every asset has the size and digests that the index names", () => {
    const index = document<ScenarioIndex>("scenario-index.json");
    for (const [name, expected] of Object.entries(index.assets)) {
      const bytes = asset(name);
      const sha512 = nodeHasher("sha512");
      sha512.update(bytes);
      expect([name, bytes.length, sha256Hex(bytes), sha512.hex()]).toEqual([
        name,
        expected.size_bytes,
        expected.sha256,
        expected.sha512,
      ]);
    }
  });

  it("golden vectors of the canonicalization contract", () => {
    const contract = readCanonicalizationContract(asset("canonicalization.json"));
    expect(runGoldenVectors(contract, () => nodeHasher("sha256"))).toEqual([]);
    expect(contract.schema_sha256).toBe(sha256Hex(asset("row-schema.json")));
  });

  it("canonical content, binding digest and totals of the official revision", () => {
    const index = document<ScenarioIndex>("scenario-index.json");
    const revision = document<Revision>("revision.json");
    const contract = readCanonicalizationContract(asset("canonicalization.json"));
    const rows = rowsOf("rows.jsonl");
    const content = canonicalContent(rows, contract.primary_keys);
    expect(Buffer.from(content).toString("base64")).toBe(index.canonical_report.canonical_utf8_base64);
    expect(sha256Hex(content)).toBe(index.canonical_report.sha256);
    expect(sha256Hex(content)).toBe(revision.canonical_content_digest?.value);
    expect(binding(revision.reporting_revision_id, revision.control_totals, rows)).toBe(
      revision.revision_content_sha256,
    );
    const totals = createTotals([
      { name: "impressions", member: "impressions", value_type: "integer", scale: 0, unit: "impressions" },
      { name: "spend", member: "spend", value_type: "decimal", scale: 2, unit: "USD" },
    ]);
    for (const row of rows) totals.add(row);
    expect(totalDifferences(revision.control_totals, totals.result())).toEqual([]);
    expect(totals.result()).toEqual(index.canonical_report.control_totals);
  });

  it("adjustment digest", () => {
    const adjustment = document<Adjustment>("adjustment.json");
    expect(adjustmentDigest(adjustment, nodeHasher("sha256"))).toBe(adjustment.canonical_adjustment_sha256);
  });

  it("coverage aggregation", () => {
    interface Vector {
      readonly id: string;
      readonly input: {
        readonly media_buy_ids: readonly string[];
        readonly period_slices: readonly { readonly support: Support }[];
      };
      readonly expected_coverage: Coverage;
    }
    const { vectors } = document<{ readonly vectors: readonly Vector[] }>("coverage-aggregation.json");
    expect(vectors.length).toBeGreaterThanOrEqual(2);
    for (const { id, input, expected_coverage: expected } of vectors) {
      const slices = input.period_slices.map(({ support }) => support);
      const buys = input.media_buy_ids.map((media_buy_id) => ({ media_buy_id, slices }));
      expect([id, aggregateCoverage(buys, expected.evaluated_at)]).toEqual([id, expected]);
      expect(coverageProblems(expected)).toEqual([]);
    }
  });

  it("the golden records keep the rules that we enforce", () => {
    const revision = document<Revision>("revision.json");
    const definition = document<{ readonly finality_policies: readonly FinalityPolicy[] }>("report-definition.json");
    expect(revisionProblems(revision)).toEqual([]);
    expect(finalityProblem(revision, definition.finality_policies)).toBeUndefined();
    expect(chainProblem(revision, [])).toBeUndefined();
    const materialization = document<Materialization>("materialization.json");
    const { status, ready_at, resource, verification } = materialization;
    if (status !== "available" && status !== "delivered") throw new Error("the golden materialization is not ready");
    if (ready_at === undefined || resource === undefined || verification === undefined) throw new Error("no evidence");
    expect(evidenceProblems(materialization, { status, ready_at, resource, verification }, revision)).toEqual([]);
  });

  it("binding digest of the Core storyboard: rows with JSON numbers and nested objects, in served order", () => {
    const { rows, revision } = storyboard();
    expect(rows).toHaveLength(2);
    expect(binding(revision.id, revision.totals, rows)).toBe(revision.sha256);
    expect(binding(revision.id, revision.totals, [...rows].reverse())).not.toBe(revision.sha256);
  });

  it("source-timezone days of the Core storyboard", () => {
    const values = new Map<string, unknown>();
    walk(readStoryboard(), (node) => {
      if (typeof node["path"] === "string" && node["path"].startsWith("simulated."))
        values.set(node["path"], node["value"]);
    });
    const schedule = {
      period_duration: "P1D",
      alignment: "source_timezone",
      period_timezone: "America/New_York",
      delivery_sla: "PT4H",
    } as const;
    for (const turn of ["fall_back", "spring_forward"]) {
      const value = (member: string): string => String(values.get(`simulated.${turn}.${member}`));
      const period = periodContaining(schedule, value("start"), "UTC");
      const instants = [period.start, period.end, expectedAt(period, schedule)].map((instant) => instantToUs(instant));
      expect(instants).toEqual([value("start"), value("end"), value("expected_at")].map((text) => instantToUs(text)));
    }
  });
});

interface Step {
  readonly [member: string]: unknown;
}

function readStoryboard(): unknown {
  const path = join(dirname(requireAdcp().vectors), "universal", "reporting-core.yaml");
  return parseYaml(readFileSync(path, "utf8"));
}

function storyboard(): {
  rows: readonly JsonObject[];
  revision: { id: string; totals: readonly ControlTotal[]; sha256: string };
} {
  const rows: JsonObject[] = [];
  let id = "";
  let sha256 = "";
  let totals: readonly ControlTotal[] = [];
  walk(readStoryboard(), (node) => {
    if (node["check"] !== "field_value") return;
    switch (node["path"]) {
      case "reporting_rows[0]":
        rows.push(node["value"] as JsonObject);
        return;
      case "reporting_revision_binding.reporting_revision_id":
        id = String(node["value"]);
        return;
      case "reporting_revision_binding.content_sha256":
        sha256 = String(node["value"]);
        return;
      case "reporting_revision_binding.control_totals":
        totals = node["value"] as readonly ControlTotal[];
    }
  });
  return { rows, revision: { id, totals, sha256 } };
}

function walk(value: unknown, visit: (node: Step) => void): void {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) visit(value as Step);
  for (const member of Object.values(value)) walk(member, visit);
}
