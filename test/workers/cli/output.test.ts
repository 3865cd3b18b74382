import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { DeliveryError, WaybillError } from "../../../core/errors.ts";
import { failureTable } from "../../../core/failure-table.ts";
import { exitCodeOfFailure } from "../../../workers/cli/exit-code.ts";
import { bytesText, createOutput, pairs, table } from "../../../workers/cli/output.ts";
import { runCommandLine } from "../../../workers/cli/program.ts";
import { reportError } from "../../../workers/cli/report-error.ts";
import type { Terminal } from "../../../workers/cli/terminal.ts";
import { definitionFile, fixture } from "./command-line.ts";

interface Screen extends Terminal {
  readonly out: () => string;
  readonly err: () => string;
}

function screen(options: Partial<Pick<Terminal, "isInteractive" | "signal">> = {}): Screen {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const text = (stream: PassThrough): string => stream.read()?.toString("utf8") ?? "";
  return {
    stdout,
    stderr,
    isInteractive: false,
    workingDirectory: "/nowhere",
    environment: {},
    signal: new AbortController().signal,
    ...options,
    out: () => text(stdout),
    err: () => text(stderr),
  };
}

describe("output", () => {
  it("draws progress over itself for a person and removes it before a sentence", () => {
    const terminal = screen({ isInteractive: true });
    const output = createOutput(terminal, { json: false, quiet: false });
    output.progress({ stage: "reading rows", done: 12_000, total: 24_000, unit: "rows" });
    output.say("Done.");
    expect(terminal.err()).toBe(`\rreading rows ... 12,000 rows (50 %)\r${" ".repeat(35)}\r`);
    expect(terminal.out()).toBe("Done.\n");
  });

  it("prints one plain line per stage elsewhere, and none when quiet", () => {
    const terminal = screen();
    const output = createOutput(terminal, { json: false, quiet: false });
    for (const done of [1, 2, 3]) output.progress({ stage: "reading rows", done, unit: "rows" });
    output.progress({ stage: "sorting rows" });
    expect(terminal.err()).toBe("reading rows ...\nsorting rows ...\n");
    createOutput(terminal, { json: false, quiet: true }).progress({ stage: "reading rows" });
    expect(terminal.err()).toBe("");
  });

  it("keeps stdout for the document in JSON mode, where 64-bit numbers are text", () => {
    const terminal = screen();
    const output = createOutput(terminal, { json: true, quiet: false });
    output.say("for people");
    output.progress({ stage: "working" });
    output.note("a remark");
    output.document({ big: 9007199254740993n });
    expect(terminal.out()).toBe('{\n  "big": "9007199254740993"\n}\n');
    expect(terminal.err()).toBe("working ...\na remark\n");
  });

  it("aligns tables and pairs, and tells sizes as they are sold", () => {
    expect(table(["A", "LONG"], [["wide cell", "x"]])).toEqual(["A          LONG", "wide cell  x"]);
    expect(
      pairs([
        ["a", "1"],
        ["long", "2"],
      ]),
    ).toEqual(["  a     1", "  long  2"]);
    expect([0, 999, 1000, 1_550_000].map(bytesText)).toEqual(["0 B", "999 B", "1.0 kB", "1.6 MB"]);
  });
});

describe("errors of a command", () => {
  const code = (error: unknown): number => reportError(error, createOutput(screen(), { json: false, quiet: true }));

  it("end with 1 for content, 2 for use, 3 for what did not answer, 130 when stopped", () => {
    const kinds = (["content", "usage", "unreachable"] as const).map((kind) => code(new WaybillError(kind, [])));
    expect(kinds).toEqual([1, 2, 3]);
    expect(code(new DOMException("", "AbortError"))).toBe(130);
    expect(code(new DeliveryError("DESTINATION_UNREACHABLE"))).toBe(3);
    expect(code(Object.assign(new Error(), { code: "EACCES", syscall: "open", path: "/x" }))).toBe(2);
    expect(code(Object.assign(new Error(), { code: "ENOSPC", syscall: "write", path: "/x" }))).toBe(3);
    expect(code(new TypeError("bug"))).toBe(1);
  });

  it("every failure code of the table has its exit code, none of them 0", () => {
    for (const failure of Object.keys(failureTable) as (keyof typeof failureTable)[]) {
      expect([1, 2, 3]).toContain(exitCodeOfFailure(failure));
    }
  });

  it("never print a cause, a stack or the text of a foreign error", () => {
    for (const json of [true, false]) {
      const terminal = screen();
      const output = createOutput(terminal, { json, quiet: true });
      const canary = new Error("canary-s3cr3t");
      reportError(new DeliveryError("DESTINATION_FORBIDDEN", { cause: canary }), output);
      reportError(new WaybillError("usage", [{ code: "X", message: "a problem" }], { cause: canary }), output);
      reportError(canary, output);
      expect(terminal.out() + terminal.err()).not.toContain("canary");
    }
  });

  it("are told up to twenty for people and all in JSON", () => {
    const terminal = screen();
    const problems = Array.from({ length: 25 }, (_, index) => ({ code: "X", message: `problem ${index}` }));
    reportError(new WaybillError("content", problems), createOutput(terminal, { json: true, quiet: true }));
    expect(JSON.parse(terminal.out()).error.problems).toHaveLength(25);
    expect(terminal.err()).toContain("and 5 more");
  });
});

describe("the command line", () => {
  it("every command says what it does and shows commands to copy", async () => {
    const terminal = screen();
    expect(await runCommandLine(["--help"], terminal)).toBe(0);
    const help = terminal.out();
    const names = [...help.matchAll(/^ {2}([a-z]+)(?= )/gm)].map((match) => match[1]).filter((name) => name !== "help");
    expect(names).toEqual(
      expect.arrayContaining([
        "demo",
        "define",
        "ship",
        "init",
        "migrate",
        "config",
        "retain",
        "deliver",
        "redrive",
        "ls",
        "explain",
        "verify",
        "receive",
        "sweep",
      ]),
    );
    expect(help).toMatch(/Exit codes:\n {2}0 {2}done/);
    for (const name of names) {
      expect(await runCommandLine([name ?? "", "--help"], terminal)).toBe(0);
      expect(terminal.out()).toContain(`Examples:\n  waybill ${name}`);
    }
  });

  it("prints its version", async () => {
    const terminal = screen();
    expect(await runCommandLine(["--version"], terminal)).toBe(0);
    expect(terminal.out()).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it("ends with 130 when it is stopped, with nothing written", async () => {
    const terminal = screen({ signal: AbortSignal.abort() });
    expect(await runCommandLine(["define", fixture("rows.jsonl"), "--key", "report_date"], terminal)).toBe(130);
    expect(terminal.out()).toBe("");
    expect(terminal.err()).toContain("stopped");
  });

  it("wrong use is a JSON document too when --json is asked for", async () => {
    const terminal = screen();
    expect(await runCommandLine(["ship", "rows", "--definition", definitionFile, "--json"], terminal)).toBe(2);
    expect(JSON.parse(terminal.out())).toMatchObject({ error: { kind: "usage", problems: [{ code: "WRONG_USE" }] } });
    expect(terminal.err()).toContain("--to <folder>");
  });
});
