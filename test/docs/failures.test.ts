import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { failureDocs } from "../../core/failure-docs.ts";
import { failureTable } from "../../core/failure-table.ts";
import { repositoryRoot } from "../servers/peers.ts";

const path = join(repositoryRoot, "docs", "FAILURES.md");

describe("docs/FAILURES.md", () => {
  it("says what the failure table says (UPDATE_DOCS=1 rewrites it)", () => {
    if (process.env["UPDATE_DOCS"] === "1") writeFileSync(path, failureDocs());
    expect(readFileSync(path, "utf8")).toBe(failureDocs());
  });
});

describe("the failure table", () => {
  it("has codes in the wire's form and one sentence for each", () => {
    for (const [code, { meaning }] of Object.entries(failureTable)) {
      expect(code).toMatch(/^[A-Z][A-Z0-9_]{0,127}$/);
      expect(meaning).toMatch(/^[A-Z].*\.$/);
      expect(meaning).not.toContain("|");
    }
  });
});
