import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { nodeHasher } from "../../core/digest/node-hasher.ts";
import { DeliveryError } from "../../core/errors.ts";
import type { Materialization, ObligationFacts, Revision } from "../../core/model/records.ts";
import type { VerificationReport } from "../../manifests/verifier.ts";
import { describePeer, requireAdcp } from "../servers/peers.ts";
import { memoryPlace, verifyFiles } from "./delivered-folder.ts";

interface Scenario {
  readonly id: string;
  readonly mutation:
    | { readonly operation: "none" | "inject_receipt_write_outcome" | "use_receipt_asset" }
    | { readonly operation: "remove_object"; readonly object_ref: string }
    | {
        readonly operation: "xor_byte";
        readonly object_ref: string;
        readonly byte_offset: number;
        readonly xor_mask: number;
      }
    | {
        readonly operation: "replace_json_pointer";
        readonly asset: string;
        readonly pointer: string;
        readonly value: unknown;
      }
    | { readonly operation: "inject_read_error"; readonly object_ref: string; readonly attempt: number };
  readonly expected_resource_read_count: number;
  readonly expected_outcome: string;
  readonly expected_error?: { readonly code: string; readonly classification: "permanent" | "retryable" };
}

interface ScenarioIndex {
  readonly assets: {
    readonly [name: string]: { readonly size_bytes: number; readonly sha256: string; readonly sha512: string };
  };
  readonly base_inputs: { readonly [role: string]: string };
  readonly scenarios: readonly Scenario[];
}

describePeer("adcp", "the official reconciliation scenarios", () => {
  const folder = (): string => join(requireAdcp().vectors, "reporting-reconciliation");
  const asset = (name: string): Uint8Array => readFileSync(join(folder(), name));
  const index = (): ScenarioIndex => JSON.parse(readFileSync(join(folder(), "scenario-index.json"), "utf8"));

  it("are there with the bytes the index pins", () => {
    for (const [name, pinned] of Object.entries(index().assets)) {
      const bytes = asset(name);
      expect(bytes.length).toBe(pinned.size_bytes);
      for (const algorithm of ["sha256", "sha512"] as const) {
        const hasher = nodeHasher(algorithm);
        hasher.update(bytes);
        expect(hasher.hex()).toBe(pinned[algorithm]);
      }
    }
  });

  const ids = [
    "valid",
    "missing_file",
    "checksum_mismatch",
    "row_count_mismatch",
    "control_total_mismatch",
    "canonical_digest_mismatch",
    "retry",
    "checkpoint",
    "rejected_receipt",
  ];

  it("are all run here", () => {
    expect(index().scenarios.map(({ id }) => id)).toEqual(ids);
  });

  it.each(ids)("%s: its code, its class and its number of reads", async (id) => {
    const { base_inputs: base, scenarios } = index();
    const scenario = scenarios.find((one) => one.id === id);
    if (scenario === undefined) throw new Error(`no scenario ${id}`);
    const { mutation } = scenario;
    const record = (role: string): unknown => {
      const name = base[role] ?? "";
      const value: unknown = JSON.parse(new TextDecoder().decode(asset(name)));
      if (mutation.operation === "replace_json_pointer" && mutation.asset === name)
        replaceAt(value, mutation.pointer, mutation.value);
      return value;
    };
    const files = new Map([
      ["manifest.json", asset("manifest.json")],
      ["rows.jsonl", Uint8Array.from(asset("rows.jsonl"))],
    ]);
    if (mutation.operation === "remove_object") files.delete(mutation.object_ref);
    if (mutation.operation === "xor_byte") {
      const bytes = files.get(mutation.object_ref) ?? new Uint8Array();
      bytes[mutation.byte_offset] = (bytes[mutation.byte_offset] ?? 0) ^ mutation.xor_mask;
    }
    const place = memoryPlace(files, {
      failing: (name, opening) =>
        mutation.operation === "inject_read_error" &&
        name === `${mutation.object_ref}.json` &&
        opening === mutation.attempt
          ? new DeliveryError("DESTINATION_UNREACHABLE")
          : undefined,
    });
    const verify = (): Promise<VerificationReport> =>
      verifyFiles(files, {
        place,
        sideFiles: "ignore",
        documents: {
          reportDefinition: asset(base["report_definition"] ?? ""),
          rowSchema: asset(base["row_schema"] ?? ""),
          canonicalization: asset(base["canonicalization"] ?? ""),
        },
        expect: {
          obligation: record("obligation") as ObligationFacts,
          revision: record("revision") as Revision,
          materialization: record("materialization") as Materialization,
        },
        nowUs: 1_787_803_300_000_000n,
      });
    let report = await verify();
    const codes = report.findings.map(({ code }) => code);
    // What the receipt scenarios expect is the receipt's matter; their evidence is sound.
    const { code, classification } = scenario.expected_error ?? {};
    const isOfEvidence = code !== undefined && !code.startsWith("RECEIPT_");
    expect(codes).toEqual(isOfEvidence ? [code] : []);
    if (isOfEvidence) expect(report.retryable).toBe(classification === "retryable");
    if (report.retryable) report = await verify();
    expect(report.ok).toBe(scenario.expected_outcome.startsWith("accepted") || id === "rejected_receipt");
    if (report.ok) expect(report.level).toBe("MATCHES_LEDGER");
    expect(place.opened).toHaveLength(scenario.expected_resource_read_count);
  });
});

function replaceAt(root: unknown, pointer: string, value: unknown): void {
  const path = pointer.split("/").slice(1);
  let at = root as Record<string, unknown>;
  for (const name of path.slice(0, -1)) at = at[name] as Record<string, unknown>;
  at[path.at(-1) ?? ""] = value;
}
