import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { receive } from "../../buyer/receive.ts";
import { verifyLocation } from "../../buyer/verify-location.ts";
import type { WaybillError } from "../../core/errors.ts";
import { type Delivered, deliver, rowsOf, writeFolder } from "../manifests/delivered-folder.ts";

let directory: string;
let delivered: Delivered;
let folder: string;
let out: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "waybill-receive-"));
  delivered = await deliver({ rows: rowsOf(20), encoding: { rowsPerPart: 5 } });
  folder = await writeFolder(delivered.files, directory);
  out = join(directory, "received", "report");
});
afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

async function contents(path: string): Promise<Map<string, Buffer>> {
  const names = await readdir(path);
  return new Map(
    await Promise.all(names.sort().map(async (name) => [name, await readFile(join(path, name))] as const)),
  );
}

const damage = async (name: string): Promise<void> => {
  const path = join(folder, name);
  const bytes = await readFile(path);
  bytes[10] = (bytes[10] ?? 0) ^ 1;
  await writeFile(path, bytes);
};

const stagingFolder = async (): Promise<string> => {
  const [work] = await besides();
  return join(directory, "received", work ?? "", "delivery");
};

const besides = async (): Promise<readonly string[]> => (await readdir(join(directory, "received"))).sort();

describe("receiving", () => {
  it.each([
    ["jsonl", "none"],
    ["csv", "gzip"],
    ["parquet", "zstd"],
  ] as const)("copies a %s/%s delivery byte for byte, and the copy verifies", async (format, compression) => {
    const other = await deliver({ rows: rowsOf(20), encoding: { format, compression, rowsPerPart: 9 } });
    const from = await writeFolder(other.files, directory, "r_2/m_2");
    const received = await receive(join(from, "manifest.json"), out);
    expect(received).toMatchObject({ outcome: "received", directory: out, report: { ok: true, row_count: 20 } });
    expect(await contents(out)).toEqual(await contents(from));
    expect((await verifyLocation(out)).ok).toBe(true);
    expect(await besides()).toEqual(["report"]);
  });

  it("leaves unlisted files behind", async () => {
    await writeFile(join(folder, "part-00099.jsonl"), "stale");
    await receive(folder, out);
    expect(await readdir(out)).not.toContain("part-00099.jsonl");
  });

  it("a second time changes nothing", async () => {
    await receive(folder, out);
    const before = await stat(join(out, "part-00000.jsonl"));
    const inode = (await stat(out)).ino;
    expect(await receive(folder, out)).toMatchObject({ outcome: "unchanged", report: { ok: true } });
    expect((await stat(out)).ino).toBe(inode);
    expect((await stat(join(out, "part-00000.jsonl"))).mtimeMs).toBe(before.mtimeMs);
    expect(await besides()).toEqual(["report"]);
  });

  it("a damaged delivery is refused with all findings and nothing stands at the final name", async () => {
    await damage("part-00001.jsonl");
    await damage("part-00003.jsonl");
    const received = await receive(folder, out);
    expect(received.outcome).toBe("refused");
    expect(received.report.findings.map(({ object_ref }) => object_ref)).toEqual([
      "part-00001.jsonl",
      "part-00003.jsonl",
    ]);
    expect(await besides()).not.toContain("report");
  });

  it("goes on after a refusal once the delivery is repaired, and fetches only what it lacks", async () => {
    await damage("part-00001.jsonl");
    await receive(folder, out);
    const staging = await stagingFolder();
    const kept = join(staging, "part-00000.jsonl");
    const inode = (await stat(kept)).ino;
    await writeFile(join(folder, "part-00001.jsonl"), delivered.files.get("part-00001.jsonl") ?? "");
    expect((await receive(folder, out)).outcome).toBe("received");
    expect((await stat(join(out, "part-00000.jsonl"))).ino).toBe(inode);
    expect(await contents(out)).toEqual(await contents(folder));
  });

  it("an abort in the middle leaves nothing at the final name, and the next run completes", async () => {
    const controller = new AbortController();
    const running = receive(folder, out, {
      signal: controller.signal,
      onProgress: ({ objectsDone }) => {
        if (objectsDone === 2) controller.abort();
      },
    });
    await expect(running).rejects.toMatchObject({ name: "AbortError" });
    expect(await besides()).not.toContain("report");
    expect((await receive(folder, out)).outcome).toBe("received");
    expect(await contents(out)).toEqual(await contents(folder));
    expect(await besides()).toEqual(["report"]);
  });

  it("what an interrupted run stored is not trusted: it is hashed again and fetched again when it differs", async () => {
    await damage("part-00003.jsonl");
    await receive(folder, out);
    const staging = await stagingFolder();
    await writeFile(join(staging, "part-00000.jsonl"), "rotten");
    await writeFile(join(staging, "stranger"), "?");
    await writeFile(join(folder, "part-00003.jsonl"), delivered.files.get("part-00003.jsonl") ?? "");
    expect((await receive(folder, out)).outcome).toBe("received");
    expect(await contents(out)).toEqual(await contents(folder));
  });

  it("an output folder with something else is never touched", async () => {
    await mkdir(out, { recursive: true });
    await writeFile(join(out, "mine.txt"), "mine");
    await expect(receive(folder, out)).rejects.toMatchObject({ kind: "usage", problems: [{ code: "OUT_OCCUPIED" }] });
    expect(await readdir(out)).toEqual(["mine.txt"]);
    const other = await writeFolder((await deliver({ rows: rowsOf(3) })).files, directory, "r_3/m_3");
    const third = join(directory, "third");
    await receive(other, third);
    await expect(receive(folder, third)).rejects.toMatchObject({ problems: [{ code: "OUT_OCCUPIED" }] });
    await expect(receive(folder, join(other, "manifest.json"))).rejects.toMatchObject({
      problems: [{ code: "OUT_OCCUPIED" }],
    });
  });

  it("an empty output folder is filled, a linked one is refused", async () => {
    await mkdir(out, { recursive: true });
    expect((await receive(folder, out)).outcome).toBe("received");
    const link = join(directory, "link");
    await symlink(out, link);
    await expect(receive(folder, link)).rejects.toMatchObject({ problems: [{ code: "OUT_OCCUPIED" }] });
  });

  it("a damaged earlier copy is named and kept", async () => {
    await receive(folder, out);
    await copyFile(join(out, "part-00001.jsonl"), join(out, "part-00000.jsonl"));
    await expect(receive(folder, out)).rejects.toMatchObject({ kind: "content", problems: [{ code: "COPY_DAMAGED" }] });
    expect(await readdir(out)).toContain("part-00000.jsonl");
  });

  it("a copy into the delivery itself, or around it, is wrong use", async () => {
    for (const bad of [folder, join(folder, "copy"), directory]) {
      await expect(receive(folder, bad)).rejects.toMatchObject({ problems: [{ code: "OUT_OVERLAPS" }] });
    }
  });

  it("what does not reach the required level is not taken", async () => {
    const { materialization } = delivered;
    expect((await receive(folder, out, { require: "MATCHES_LEDGER" })).outcome).toBe("refused");
    expect((await receive(folder, out, { require: "MATCHES_LEDGER", expect: { materialization } })).outcome).toBe(
      "received",
    );
  });

  it("nothing to receive yet is a report that may be tried again", async () => {
    await rm(join(folder, "manifest.json"));
    expect(await receive(folder, out)).toMatchObject({ outcome: "refused", report: { retryable: true } });
  });

  it("of two at once one copies, and the other sees its copy or is told who is at work", async () => {
    const both = await Promise.allSettled([receive(folder, out), receive(folder, out)]);
    const endings = both.map((one) =>
      one.status === "fulfilled" ? one.value.outcome : (one.reason as WaybillError).problems[0]?.code,
    );
    expect(endings).toContain("received");
    expect(["unchanged", "FOLDER_IN_USE"]).toContain(endings.find((ending) => ending !== "received"));
    expect(await contents(out)).toEqual(await contents(folder));
    expect(await besides()).toEqual(["report"]);
  });

  it("an output folder that cannot be written is wrong use", async () => {
    await writeFile(join(directory, "file"), "");
    await expect(receive(folder, join(directory, "file", "out"))).rejects.toMatchObject({
      kind: "usage",
      problems: [{ code: "OUT_UNWRITABLE" }],
    });
  });
});
