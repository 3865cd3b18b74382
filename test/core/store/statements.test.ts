import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { repositoryRoot } from "../../servers/peers.ts";

const folders = ["core/store", "core/ledger"];

const sources = folders.flatMap((folder) =>
  readdirSync(join(repositoryRoot, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(ts|sql)$/.test(entry.name))
    .map((entry) => ({ name: entry.name, text: readFileSync(join(entry.parentPath, entry.name), "utf8") })),
);

describe("ledger statements", () => {
  it("finds the sources it judges", () => {
    expect(sources.length).toBeGreaterThan(25);
  });

  it("B42: hold no lock that outlives its transaction", () => {
    const sessionLocks = /pg_(try_)?advisory_(lock|unlock)|\blisten\b|\bprepare transaction\b/i;
    expect(sources.filter(({ text }) => sessionLocks.test(text)).map(({ name }) => name)).toEqual([]);
  });

  it("B45: keep JSON as text, and instants as integers", () => {
    const rewriting = /\bjsonb?\b[\s,]*(not null|null|\)|,)|::jsonb?\b|\btimestamptz?\b|\breal\b|double precision/i;
    expect(sources.filter(({ text }) => rewriting.test(text)).map(({ name }) => name)).toEqual([]);
  });
});
