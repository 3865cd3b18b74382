import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Period } from "../../../core/model/records.ts";
import {
  browsableSegment,
  deliveryFolder,
  isSafeKey,
  locationsOverlap,
  objectKey,
  parsePathTemplate,
} from "../../../drivers/file-transfer/layout.ts";

const day: Period = { start: "2026-03-01T00:00:00Z", end: "2026-03-02T00:00:00Z", source_timezone: "UTC" };
const facts = { reportDefinitionId: "daily-ad-delivery", accountId: "acct-1", period: day };
const segment = /^[rm]_[a-z2-7]{26}$/;

describe("folder of a delivery", () => {
  it("is r_… and m_…, made from the ids and never holding them", () => {
    const [revision = "", materialization = ""] = deliveryFolder([], facts, "..", "a:b").split("/");
    expect(revision).toMatch(segment);
    expect(materialization).toMatch(segment);
    expect(revision.slice(0, 2)).toBe("r_");
    expect(materialization.slice(0, 2)).toBe("m_");
  });

  it("differs for every materialization, also when ids differ only in case", () => {
    const folders = ["m-1", "M-1", "m-2"].map((id) => deliveryFolder([], facts, "r-1", id).toLowerCase());
    expect(new Set(folders).size).toBe(3);
  });

  it("stands below the template, whose tokens are sanitized", () => {
    const { template, problems } = parsePathTemplate("reports/{definition}/{account}/day={day}");
    expect(problems).toEqual([]);
    const folder = deliveryFolder(template, { ...facts, accountId: ".." }, "r", "m");
    expect(folder).toMatch(/^reports\/daily-ad-delivery\/_\/day=2026-03-01\/r_[a-z2-7]{26}\/m_[a-z2-7]{26}$/);
  });

  it("names the day on which the period starts in its own zone", () => {
    const { template } = parsePathTemplate("{day}");
    const of = (start: string, source_timezone: string) =>
      deliveryFolder(template, { ...facts, period: { ...day, start, source_timezone } }, "r", "m").slice(0, 10);
    expect(of("2026-03-01T05:00:00Z", "America/New_York")).toBe("2026-03-01");
    expect(of("2026-03-01T04:59:59Z", "America/New_York")).toBe("2026-02-28");
    expect(of("2026-02-28T15:00:00.000Z", "Asia/Tokyo")).toBe("2026-03-01");
  });

  it("is a safe key for any ids and any period", () => {
    const { template } = parsePathTemplate("{account}/{definition}-{day}");
    const id = fc.string({ minLength: 1, maxLength: 255, unit: "binary" });
    fc.assert(
      fc.property(id, id, id, id, (reportDefinitionId, accountId, revision, materialization) => {
        const folder = deliveryFolder(
          template,
          { reportDefinitionId, accountId, period: day },
          revision,
          materialization,
        );
        expect(isSafeKey(folder)).toBe(true);
        expect(folder.split("/")).toHaveLength(4);
      }),
    );
  });
});

describe("path template", () => {
  const bad = [
    "..",
    "../x",
    "/x",
    "x/",
    "x//y",
    "./x",
    ".x",
    "-x",
    "x\\y",
    "x y",
    "Caf\u00e9",
    "{account",
    "account}",
    "{unknown}",
    "{Account}",
    "x/{}",
    "a\0b",
    "1/2/3/4/5/6/7/8/9",
    "a".repeat(201),
  ];
  for (const text of bad) {
    it(`refuses ${JSON.stringify(text).slice(0, 24)} without repeating it`, () => {
      const { problems } = parsePathTemplate(text);
      expect(problems.length).toBeGreaterThan(0);
      if (text.length > 4) expect(problems.join()).not.toContain(text);
    });
  }

  it("B18: composed and decomposed labels become plain ASCII", () => {
    expect(browsableSegment("Caf\u00e9")).toBe("caf-");
    expect(browsableSegment("Cafe\u0301")).toBe("cafe-");
    expect(browsableSegment("..")).toBe("_");
    expect(browsableSegment("-rf")).toBe("_rf");
    expect(browsableSegment("A.B:C/D..")).toBe("a.b-c-d_");
    expect(browsableSegment("x".repeat(255))).toHaveLength(64);
  });
});

describe("object key", () => {
  it("joins a folder and a bare name", () => {
    expect(objectKey("r_a/m_b", "part-00000.jsonl.gz")).toBe("r_a/m_b/part-00000.jsonl.gz");
  });

  for (const [folder, name] of [
    ["r_a/m_b", "../x"],
    ["r_a/m_b", ".x"],
    ["r_a/m_b", "a/b"],
    ["r_a/m_b", ""],
    ["r_a/m_b", "a=b"],
    ["r_a/../..", "x"],
    ["/etc", "passwd"],
    ["", "x"],
    [`${"a".repeat(200)}/`.repeat(6).slice(0, -1), "x"],
  ] as const) {
    it(`refuses ${JSON.stringify(name)} in ${JSON.stringify(folder).slice(0, 20)}`, () => {
      expect(() => objectKey(folder, name)).toThrow("DESTINATION_UNSAFE");
    });
  }
});

describe("two destinations", () => {
  it("overlap when one is, or contains, the other", () => {
    expect(locationsOverlap("s3://bucket/a", "s3://bucket/a/")).toBe(true);
    expect(locationsOverlap("s3://bucket/a", "s3://bucket/a/b")).toBe(true);
    expect(locationsOverlap("s3://bucket", "s3://bucket/a")).toBe(true);
    expect(locationsOverlap("s3://bucket/a", "s3://bucket/ab")).toBe(false);
    expect(locationsOverlap("s3://bucket/a", "s3://other/a")).toBe(false);
  });
});
