import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../../core/json.ts";
import type { VerificationPath } from "../../../../core/model/records.ts";
import { readLocalConfig } from "../../../../drivers/file-transfer/local/config.ts";

const plain = { location: "file:///srv/reports", format: "jsonl", compression: "gzip" };

function read(settings: JsonObject, verification_path: VerificationPath = "producer") {
  return readLocalConfig({ transport: "local_fs", verification_path, settings });
}
function problemsOf(settings: JsonObject, verification_path?: VerificationPath): string[] {
  return read(settings, verification_path).problems.map((problem) => `${problem.code} ${problem.field}`);
}

describe("local destination settings", () => {
  it("fill in the defaults of what is not written", () => {
    expect(read(plain).config).toEqual({
      root: "/srv/reports",
      readerRoot: "/srv/reports",
      encoding: { format: "jsonl", compression: "gzip", level: 5, rowsPerPart: 1_000_000 },
      template: [],
    });
    expect(read({ ...plain, compression: "none" }).config?.encoding).toEqual({
      format: "jsonl",
      compression: "none",
      rowsPerPart: 1_000_000,
    });
  });

  it("keep what is written", () => {
    const settings = {
      location: "file:///srv/my%20reports/",
      format: "parquet",
      compression: "zstd",
      level: 7,
      rows_per_part: 10,
      path_template: "x/{day}",
      reader: { location: "file:///mnt/buyer" },
    };
    expect(read(settings, "representative_consumer")).toEqual({
      problems: [],
      config: {
        root: "/srv/my reports",
        readerRoot: "/mnt/buyer",
        encoding: { format: "parquet", compression: "zstd", level: 7, rowsPerPart: 10 },
        template: [["x"], [{ token: "day" }]],
      },
    });
  });

  it("are told all that is wrong at once, by field and without a value", () => {
    const canary = "canary-value";
    const { config, problems } = read({
      location: canary,
      format: canary,
      level: 99,
      rows_per_part: 0,
      path_template: `../${canary}`,
      password: canary,
      reader: { location: canary, other: canary },
    });
    expect(config).toBeUndefined();
    expect(problems.map(({ field }) => field).sort()).toEqual([
      "settings.compression",
      "settings.format",
      "settings.level",
      "settings.location",
      "settings.password",
      "settings.path_template",
      "settings.reader.location",
      "settings.reader.other",
      "settings.rows_per_part",
    ]);
    expect(JSON.stringify(problems)).not.toContain(canary);
  });

  for (const location of [
    "/srv/reports",
    "file://host/srv",
    "file:/srv",
    "http://host/srv",
    "s3://bucket",
    "file:///srv?x=1",
    "file:///srv#x",
    "file:///",
    "file:///a/../..",
    "file:///srv%2Freports",
    "file:///srv%00",
  ]) {
    it(`the location ${location} is refused`, () => {
      expect(problemsOf({ ...plain, location })).toEqual(["WRONG_SETTING settings.location"]);
    });
  }

  it("snappy is for parquet only, and a level needs a compression that has levels", () => {
    expect(problemsOf({ ...plain, compression: "snappy" })).toEqual([
      "COMPRESSION_NOT_FOR_FORMAT settings.compression",
    ]);
    expect(problemsOf({ ...plain, format: "parquet", compression: "snappy" })).toEqual([]);
    expect(problemsOf({ ...plain, compression: "none", level: 3 })).toEqual([
      "LEVEL_WITHOUT_COMPRESSION settings.level",
    ]);
    expect(problemsOf({ ...plain, level: 10 })).toEqual(["WRONG_SETTING settings.level"]);
    expect(problemsOf({ ...plain, compression: "zstd", level: 19 })).toEqual([]);
  });

  it("representative_consumer needs the buyer's own mount, which is not the folder written to", () => {
    expect(problemsOf(plain, "representative_consumer")).toEqual(["READER_REQUIRED settings.reader"]);
    for (const location of ["file:///srv/reports", "file:///srv/reports/in", "file:///srv"]) {
      expect(problemsOf({ ...plain, reader: { location } }, "representative_consumer")).toEqual([
        "READER_IS_WRITER settings.reader.location",
      ]);
    }
    expect(problemsOf({ ...plain, reader: { location: "file:///mnt" } }, "representative_consumer")).toEqual([]);
    expect(problemsOf(plain, "destination")).toEqual(["VERIFICATION_PATH settings.location"]);
  });

  it("a member of Object.prototype is not a setting", () => {
    expect(
      problemsOf(JSON.parse(`{"location":"file:///srv","format":"jsonl","compression":"none","__proto__":{}}`)),
    ).toEqual(["UNKNOWN_SETTING settings.__proto__"]);
  });
});
