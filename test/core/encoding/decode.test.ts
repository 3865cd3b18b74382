import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeCsv } from "../../../core/encoding/csv.ts";
import { type DecodedRecord, type DecodeLimits, defaultDecodeLimits } from "../../../core/encoding/encoding.ts";
import { decodeJsonl } from "../../../core/encoding/jsonl.ts";
import { WaybillError } from "../../../core/errors.ts";
import type { ProfileMember, RowProfile } from "../../../core/rows/profile.ts";

const utf8 = new TextEncoder();

async function* inChunks(bytes: Uint8Array, size: number): AsyncIterable<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function collect(batches: AsyncIterable<readonly DecodedRecord[]>): Promise<readonly DecodedRecord[]> {
  const all: DecodedRecord[] = [];
  for await (const batch of batches) all.push(...batch);
  return all;
}

function limits(overrides: Partial<DecodeLimits>): DecodeLimits {
  return { ...defaultDecodeLimits, ...overrides };
}

function jsonl(input: string | Uint8Array, overrides: Partial<DecodeLimits> = {}, chunk = 7) {
  const bytes = typeof input === "string" ? utf8.encode(input) : input;
  return collect(decodeJsonl(inChunks(bytes, chunk), limits(overrides)));
}

function csv(
  input: string | Uint8Array,
  members: readonly ProfileMember[],
  overrides: Partial<DecodeLimits> = {},
  chunk = 7,
) {
  const bytes = typeof input === "string" ? utf8.encode(input) : input;
  const profile: RowProfile = { members, primaryKeys: ["id"], controlTotals: [] };
  return collect(decodeCsv(inChunks(bytes, chunk), profile, limits(overrides)));
}

function text(name: string, missing: ProfileMember["missing"] = "null"): ProfileMember {
  return { name, type: { kind: "string" }, missing };
}

function codes(records: readonly DecodedRecord[]): readonly string[] {
  return records.map((record) => `${record.number}:${record.problem?.code ?? "ok"}`);
}

async function thrownCodes(work: Promise<unknown>): Promise<readonly string[]> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof WaybillError)) throw new Error(`expected a WaybillError, got ${String(error)}`);
  return error.problems.map((problem) => problem.code);
}

describe("decodeJsonl", () => {
  it("B33 frames on byte 0x0A only, so U+2028 and U+2029 stay inside their record", async () => {
    const bytes = utf8.encode('{"text":"a\u2028b\u2029c"}\n{"text":"d"}\n');
    expect(bytes.length).toBe(34);
    expect(createHash("sha256").update(bytes).digest("hex")).toBe(
      "4a8b220f7809645d73baf9feba6125b03a9ab2ac07cf3383f1ab370d4f71aa20",
    );
    expect(await jsonl(bytes, {}, 1)).toEqual([
      { number: 1, row: { text: "a\u2028b\u2029c" } },
      { number: 2, row: { text: "d" } },
    ]);
  });

  it("takes CRLF, a last line without line feed and blank lines, and numbers rows by line", async () => {
    expect(await jsonl('{"a":1}\r\n\n \t\n{"a":2}')).toEqual([
      { number: 1, row: { a: 1 } },
      { number: 4, row: { a: 2 } },
    ]);
  });

  it("goes on after every kind of bad record and names its row", async () => {
    const bytes = Buffer.concat([
      utf8.encode('{"a":1}\n{"a":1,"a":2}\n[1]\n{"a":9007199254740993}\n{"a":"\\ud800"}\n{"a":"'),
      Uint8Array.from([0xff, 0xc0]),
      utf8.encode('"}\n{"a":\n{"a":2}\n'),
    ]);
    const records = await jsonl(bytes);
    expect(records.map((record) => record.number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(records.map((record) => record.problem === undefined)).toEqual([
      true,
      false,
      false,
      false,
      false,
      false,
      false,
      true,
    ]);
    expect(records[2]?.problem).toMatchObject({ code: "NOT_AN_OBJECT", row: 3 });
    expect(records[5]?.problem).toMatchObject({ code: "INVALID_UTF8", row: 6 });
  });

  it("refuses a byte order mark as such", async () => {
    expect(codes(await jsonl('\uFEFF{"a":1}\n{"a":2}\n'))).toEqual(["1:BYTE_ORDER_MARK", "2:ok"]);
  });

  it("reports a record longer than the limit once and goes on behind it", async () => {
    const long = `{"a":"${"x".repeat(200_000)}"}`;
    for (const chunk of [1_000, 64 * 1024, 1_000_000]) {
      const records = await jsonl(`{"a":1}\n${long}\n{"a":2}\n`, { maxRecordBytes: 100 }, chunk);
      expect(codes(records)).toEqual(["1:ok", "2:RECORD_TOO_LONG", "3:ok"]);
    }
    expect(codes(await jsonl(`{"a":"${"é".repeat(40)}"}\n`, { maxRecordBytes: 60 }))).toEqual(["1:RECORD_TOO_LONG"]);
  });

  it("holds no more of a record without an end than its limit", async () => {
    let givenBytes = 0;
    async function* endless(): AsyncIterable<Uint8Array> {
      for (; givenBytes < 10_000_000; givenBytes += 50_000) yield new Uint8Array(50_000).fill(0x20);
    }
    for await (const batch of decodeJsonl(endless(), limits({ maxRecordBytes: 100_000 }))) {
      expect(codes(batch)).toEqual(["1:RECORD_TOO_LONG"]);
      break;
    }
    expect(givenBytes).toBeLessThan(300_000);
  });

  it("ends with RESOURCE_TOO_LARGE past its row and byte bounds", async () => {
    expect(await thrownCodes(jsonl('{"a":1}\n{"a":2}\n{"a":3}\n', { maxRows: 2 }))).toEqual(["RESOURCE_TOO_LARGE"]);
    expect(await thrownCodes(jsonl('{"a":1}\n{"a":2}\n', { maxDecodedBytes: 15 }))).toEqual(["RESOURCE_TOO_LARGE"]);
    expect(await jsonl('{"a":1}\n{"a":2}\n', { maxRows: 2, maxDecodedBytes: 16 })).toHaveLength(2);
  });

  it("gives the same records however the bytes are cut", async () => {
    const line = fc.oneof(
      fc.constant("x"),
      fc.string({ unit: "binary" }).map((value) => JSON.stringify({ value })),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 30 }), fc.integer({ min: 1, max: 40 }), async (lines, chunk) => {
        const input = lines.map((value) => `${value}\n`).join("");
        expect(await jsonl(input, {}, chunk)).toEqual(await jsonl(input, {}, 1 << 20));
      }),
      { numRuns: 100 },
    );
  });
});

describe("decodeCsv", () => {
  const nullable = [text("id", "forbidden"), text("name"), text("note")];

  it("B29 tells an empty cell from a quoted empty one, over line breaks and doubled quotes", async () => {
    const input = 'id,name,note\r\n1,"Acme, ""North""\nUnit",=1+1\r\n2,,""\r\n';
    expect(await csv(input, nullable, {}, 1)).toEqual([
      { number: 1, row: { id: "1", name: 'Acme, "North"\nUnit', note: "=1+1" } },
      { number: 2, row: { id: "2", name: null, note: "" } },
    ]);
  });

  it("B30 takes a byte order mark off the first column name and counts records, not line feeds", async () => {
    const input = '\uFEFFid,name,note\r\n1,"a\n\nb",x\r\n2,"c\r\nd",y\r\n';
    expect((await csv(input, nullable)).map((record) => record.row?.["name"])).toEqual(["a\n\nb", "c\r\nd"]);
  });

  it("restores every type by the profile, with columns in any order", async () => {
    const members: readonly ProfileMember[] = [
      text("id", "forbidden"),
      { name: "count", type: { kind: "integer" }, missing: "null" },
      { name: "rate", type: { kind: "number" }, missing: "absent" },
      { name: "big", type: { kind: "integer-string", column: "int64" }, missing: "null" },
      { name: "on", type: { kind: "boolean" }, missing: "null" },
      { name: "tags", type: { kind: "json" }, missing: "absent" },
    ];
    const input = 'tags,on,big,rate,count,id\n"{""a"":[1,null]}",true,9007199254740993,0.0000001,-3,r1\n,false,,,,r2\n';
    expect(await csv(input, members)).toEqual([
      {
        number: 1,
        row: { id: "r1", count: -3, rate: 1e-7, big: "9007199254740993", on: true, tags: { a: [1, null] } },
      },
      { number: 2, row: { id: "r2", count: null, big: null, on: false } },
    ]);
  });

  it("names row and member of a cell that is not of its type", async () => {
    const members: readonly ProfileMember[] = [
      text("id", "forbidden"),
      { name: "count", type: { kind: "integer" }, missing: "null" },
      { name: "rate", type: { kind: "number" }, missing: "null" },
      { name: "on", type: { kind: "boolean" }, missing: "null" },
    ];
    const rows = [
      "a,1.0,,",
      "b,9007199254740992,,",
      "c,-0,,",
      "d,, 1,",
      "e,,NaN,",
      "f,,,TRUE",
      ",,,",
      'g,"",,',
      "h,007,,",
    ];
    const records = await csv(`id,count,rate,on\n${rows.join("\n")}\n`, members);
    expect(records.map(({ problem }) => `${problem?.row}:${problem?.member}:${problem?.code}`)).toEqual([
      "1:count:WRONG_TYPE",
      "2:count:OUT_OF_RANGE",
      "3:count:WRONG_TYPE",
      "4:rate:WRONG_TYPE",
      "5:rate:WRONG_TYPE",
      "6:on:WRONG_TYPE",
      "7:id:MISSING_MEMBER",
      "8:count:WRONG_TYPE",
      "9:count:WRONG_TYPE",
    ]);
  });

  it("goes on at the next line after a record that is not RFC 4180", async () => {
    const bytes = Buffer.concat([
      utf8.encode('id,name,note\r\n1,a"b,c\r\n2,x,y\r\n3,"a"b,c\r\n4,x\r\n5,a\rb,c\r\n6,'),
      Uint8Array.from([0xff]),
      utf8.encode(',z\r\n7,"x\n'),
      Uint8Array.from([0xff]),
      utf8.encode('",z\r\n\r\n8,ok,ok\r\n9,"never closed\r\n10,a,b\r\n'),
    ]);
    for (const chunk of [1, 9, 1_000]) {
      expect(codes(await csv(bytes, nullable, {}, chunk))).toEqual([
        "1:BAD_QUOTE",
        "2:ok",
        "3:BAD_QUOTE",
        "4:FIELD_COUNT",
        "5:BARE_CARRIAGE_RETURN",
        "6:INVALID_UTF8",
        "7:INVALID_UTF8",
        "8:ok",
        "9:UNTERMINATED_QUOTE",
      ]);
    }
  });

  it("reports all problems of a header at once", async () => {
    expect(await thrownCodes(csv("id,nmae,id\r\n", nullable))).toEqual([
      "UNKNOWN_MEMBER",
      "DUPLICATE_MEMBER",
      "MISSING_MEMBER",
      "MISSING_MEMBER",
    ]);
    expect(await thrownCodes(csv("", nullable))).toEqual(["MISSING_HEADER"]);
    expect(await csv("id,name,note\r\n", nullable)).toEqual([]);
  });

  it("bounds a record that does not end, and reports one that is merely too long", async () => {
    const open = `id,name,note\n1,"${"x\n".repeat(100_000)}`;
    expect(await thrownCodes(csv(open, nullable, { maxRecordBytes: 5_000 }, 1_000))).toEqual(["RECORD_TOO_LONG"]);
    const records = await csv(`id,name,note\n1,${"x".repeat(90)},y\n2,x,y\n`, nullable, { maxRecordBytes: 80 });
    expect(codes(records)).toEqual(["1:RECORD_TOO_LONG", "2:ok"]);
    expect(await thrownCodes(csv("id,name,note\n1,,\n2,,\n", nullable, { maxRows: 1 }))).toEqual([
      "RESOURCE_TOO_LARGE",
    ]);
  });

  it("reads a record of many blocks in linear time and whole", async () => {
    const value = 'a""b\n'.repeat(200_000);
    const records = await csv(`id,name,note\n1,"${value}",z\n2,x,y\n`, nullable, {}, 4_096);
    expect(records).toHaveLength(2);
    expect(records[0]?.row?.["name"]).toBe('a"b\n'.repeat(200_000));
  });

  it("keeps a member named __proto__ as a member", async () => {
    const [record] = await csv("id,__proto__\n1,x\n", [text("id", "forbidden"), text("__proto__")]);
    expect(Object.entries(record?.row ?? {})).toEqual([
      ["id", "1"],
      ["__proto__", "x"],
    ]);
  });
});
