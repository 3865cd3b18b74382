import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalBytes, canonicalJson } from "../../../core/canonical-json.ts";
import { adjustmentDigest } from "../../../core/digest/adjustment-digest.ts";
import { createBindingDigest } from "../../../core/digest/binding-digest.ts";
import { canonicalContent } from "../../../core/digest/canonical-content.ts";
import { createCanonicalDigest } from "../../../core/digest/canonical-digest.ts";
import { nodeHasher, sha256Hex } from "../../../core/digest/node-hasher.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { Adjustment, ControlTotal } from "../../../core/model/records.ts";
import { compareBytes, sortKey } from "../../../core/rows/sort-key.ts";
import { parseJsonBytes } from "../../../core/strict-json.ts";

interface HardValues {
  readonly primary_keys: readonly string[];
  readonly rows: readonly JsonObject[];
  readonly sorted_keys_utf8: readonly string[];
  readonly canonical_utf8_base64: string;
  readonly sha256: string;
  readonly binding: {
    readonly reporting_revision_id: string;
    readonly control_totals: readonly ControlTotal[];
    readonly sha256: string;
  };
  readonly adjustment: Adjustment;
  readonly adjustment_sha256: string;
}

const golden = parseJsonBytes(
  readFileSync(new URL("../../../fixtures/golden/hard-values.json", import.meta.url)),
) as unknown as HardValues;

function bindingOf(revisionId: string, controlTotals: readonly ControlTotal[], rows: readonly JsonObject[]): string {
  const digest = createBindingDigest(nodeHasher("sha256"), { revisionId, controlTotals });
  for (const row of rows) digest.add(canonicalJson(row));
  return digest.finish();
}

describe("digests of rows with hard values equal those of an independent program", () => {
  it("canonical content: bytes, key order and digest", () => {
    const content = canonicalContent(golden.rows, golden.primary_keys);
    expect(Buffer.from(content).toString("base64")).toBe(golden.canonical_utf8_base64);
    expect(sha256Hex(content)).toBe(golden.sha256);
    const keys = golden.rows.map((row) => sortKey(row, golden.primary_keys)).sort(compareBytes);
    expect(keys.map((key) => new TextDecoder().decode(key))).toEqual(golden.sorted_keys_utf8);
  });

  it("revision binding: served order, totals in their own order", () => {
    const { reporting_revision_id: id, control_totals: totals, sha256 } = golden.binding;
    expect(bindingOf(id, totals, golden.rows)).toBe(sha256);
    expect(bindingOf(id, [...totals].reverse(), golden.rows)).not.toBe(sha256);
    expect(bindingOf(id, totals, [...golden.rows].reverse())).not.toBe(sha256);
  });

  it("adjustment, with and without its own digest in it", () => {
    const { adjustment, adjustment_sha256: sha256 } = golden;
    expect(adjustmentDigest(adjustment, nodeHasher("sha256"))).toBe(sha256);
    const stamped = { ...adjustment, canonical_adjustment_sha256: sha256 };
    expect(adjustmentDigest(stamped, nodeHasher("sha256"))).toBe(sha256);
  });
});

describe("streaming", () => {
  it("the empty report has the digest of []", () => {
    const empty = "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945";
    expect(createCanonicalDigest(nodeHasher("sha256")).finish()).toBe(empty);
    expect(sha256Hex(canonicalContent([], ["a"]))).toBe(empty);
    expect(bindingOf("r", [], [])).toBe(
      sha256Hex('{"control_totals":[],"reporting_revision_id":"r","reporting_rows":[],"row_count":0}'),
    );
  });

  it("equals the digest of the whole text, for rows of any size around the block size, as text or bytes", () => {
    const size = fc.oneof(fc.nat(40), fc.nat(70_000), fc.integer({ min: 21_700, max: 21_900 }));
    const row = fc.record({ size, wide: fc.constantFrom("x", "é", "\u2028", "\u{1F600}"), asBytes: fc.boolean() });
    fc.assert(
      fc.property(fc.array(row, { maxLength: 12 }), (rows) => {
        const digest = createCanonicalDigest(nodeHasher("sha256"));
        const texts = rows.map(({ size: length, wide }) => canonicalJson({ text: wide.repeat(length) }));
        rows.forEach(({ asBytes }, index) => {
          const text = texts[index] ?? "";
          digest.add(asBytes ? canonicalBytes(JSON.parse(text)) : text);
        });
        expect(digest.finish()).toBe(sha256Hex(`[${texts.join(",")}]`));
      }),
      { numRuns: 60 },
    );
  });

  it("a declared row count that differs from the rows gives another binding", () => {
    const start = () => createBindingDigest(nodeHasher("sha256"), { revisionId: "r", controlTotals: [] });
    expect(start().finish(1)).not.toBe(start().finish());
    expect(start().finish(0)).toBe(start().finish());
  });
});

describe("canonicalContent", () => {
  it("refuses two rows with one key and names both", () => {
    const rows = [
      { id: "a", v: 1 },
      { id: "b", v: 2 },
      { id: "a", v: 3 },
    ];
    expect(() => canonicalContent(rows, ["id"])).toThrow("rows 1 and 3 have the same key");
  });

  it("does not depend on row order or member order", () => {
    const row = fc.record({ id: fc.uuid(), n: fc.integer(), s: fc.string() });
    fc.assert(
      fc.property(fc.uniqueArray(row, { selector: ({ id }) => id, maxLength: 20 }), (rows) => {
        const shuffled = [...rows].reverse().map(({ s, id, n }) => ({ s, n, id }));
        expect(canonicalContent(shuffled, ["id"])).toEqual(canonicalContent(rows, ["id"]));
      }),
    );
  });
});
