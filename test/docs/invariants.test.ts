import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { repositoryRoot } from "../servers/peers.ts";

const text = readFileSync(join(repositoryRoot, "docs", "INVARIANTS.md"), "utf8");
const paragraphs = text.split("\n\n").filter((paragraph) => /^\*\*I\d+\. /.test(paragraph));
const numberOf = (paragraph: string): number => Number(/^\*\*I(\d+)\. /.exec(paragraph)?.[1]);
const numbers = paragraphs.map(numberOf);

describe("docs/INVARIANTS.md", () => {
  it("numbers its sentences from 1 without a gap or a repetition", () => {
    expect(numbers.toSorted((a, b) => a - b)).toEqual(numbers.map((_, index) => index + 1));
  });

  it.each(paragraphs.map((paragraph) => [numberOf(paragraph), paragraph] as const))(
    "names the tests of I%i, which are there",
    (_number, paragraph) => {
      const tests = paragraph.slice(paragraph.indexOf("Tests: ")).match(/`[^`]+`/g) ?? [];
      expect(tests.length).toBeGreaterThan(0);
      const missing = tests.map((path) => path.slice(1, -1)).filter((path) => !existsSync(join(repositoryRoot, path)));
      expect(missing).toEqual([]);
    },
  );

  it("has every number that a test cites", () => {
    const cited = sources(join(repositoryRoot, "test")).flatMap((path) =>
      [...readFileSync(path, "utf8").matchAll(/\[I(\d+)\]/g)].map(([, number]) => ({ path, number: Number(number) })),
    );
    expect(cited.length).toBeGreaterThan(10);
    expect(cited.filter(({ number }) => !numbers.includes(number))).toEqual([]);
  });
});

function sources(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => join(entry.parentPath, entry.name));
}
