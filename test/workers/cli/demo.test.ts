import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CommandLines, openCommandLines } from "./command-line.ts";

let lines: CommandLines;
beforeAll(async () => {
  lines = await openCommandLines();
});
afterAll(() => lines.close());

describe("demo", () => {
  it("proves every step in an empty folder and leaves nothing behind", async () => {
    const line = await lines.open({ ledger: false });
    const ended = await line.run("demo", "--json");
    const { ok, steps, folder } = ended.json<{
      ok: boolean;
      steps: readonly { step: string; ok: boolean }[];
      folder: null;
    }>();
    expect(ended.code).toBe(0);
    expect({ ok, folder }).toEqual({ ok: true, folder: null });
    expect(steps.map(({ step }) => step)).toEqual(["deliver", "verify", "restate", "keep", "replay", "tamper"]);
    expect(steps.every((step) => step.ok)).toBe(true);
    expect(await line.files()).toEqual([]);
  });

  it("tells each step to people, and keeps everything in a folder that is named", async () => {
    const line = await lines.open({ ledger: false });
    const ended = await line.run("demo", "look");
    expect(ended.stdout).toContain("Everything held.");
    expect(ended.stdout).toContain("rows taken from the source: 0");
    expect(ended.stdout).toContain("OBJECT_DIGEST_MISMATCH in part-00000.jsonl.gz");
    expect(await line.files()).toContain("look/tampered-copy/manifest.json");
    expect((await line.run("ls", "materializations", "--ledger", "look/.waybill", "--json")).json()).toMatchObject({
      items: [{ status: "available" }, { status: "available" }, { status: "available" }],
    });
  });
});
