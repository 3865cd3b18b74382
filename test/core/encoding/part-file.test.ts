import { appendFile, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { PartFile } from "../../../core/encoding/part-file.ts";

describe("a part while it is made", () => {
  const { signal } = new AbortController();
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "waybill-part-file-"));
  });
  afterEach(() => rm(directory, { recursive: true }));

  async function written(): Promise<PartFile> {
    const file = new PartFile(directory, "part-00000.jsonl");
    async function* chunks(): AsyncIterable<Uint8Array> {
      yield Buffer.from("ab");
      yield Buffer.from("c");
    }
    await file.write(chunks(), signal);
    return file;
  }

  async function bytesOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
    let text = "";
    for await (const chunk of chunks) text += Buffer.from(chunk).toString();
    return text;
  }

  it("has its name only once it is published", async () => {
    const file = await written();
    expect(await readdir(directory)).not.toContain("part-00000.jsonl");
    const part = await file.publish(7);
    expect(await readdir(directory)).toEqual(["part-00000.jsonl"]);
    expect(part).toEqual({
      name: "part-00000.jsonl",
      path: join(directory, "part-00000.jsonl"),
      sizeBytes: 3,
      sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
      rowCount: 7,
    });
    expect(await readFile(part.path, "utf8")).toBe("abc");
  });

  it("is INTERNAL when the disk gives back other bytes than were written", async () => {
    const file = await written();
    expect(await bytesOf(file.read(signal))).toBe("abc");
    await appendFile(file.temporaryPath, "d");
    await expect(bytesOf(file.read(signal))).rejects.toMatchObject({ code: "INTERNAL" });
  });

  it("leaves nothing when it is discarded, written or not", async () => {
    await (await written()).discard();
    await new PartFile(directory, "part-00001.jsonl").discard();
    expect(await readdir(directory)).toEqual([]);
  });
});
