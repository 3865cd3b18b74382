import type { Progress, ProgressListener } from "../operations/progress.ts";
import type { Terminal } from "./terminal.ts";

/**
 * Everything a command says. In JSON mode stdout carries the document and nothing else; sentences for people are dropped and progress
 * stays on stderr, as do notes.
 */
export interface Output {
  readonly json: boolean;
  /** A sentence for people on stdout; nothing in JSON mode. */
  say(line?: string): void;
  /** The one document of JSON mode; nothing otherwise. bigint becomes text. */
  document(value: object): void;
  /** A remark on stderr in both modes. */
  note(line: string): void;
  /** Draws progress: over itself for a person, else a line per stage and one every ten seconds within it. */
  readonly progress: ProgressListener;
  /** Removes a half-drawn progress line. */
  settle(): void;
}

const drawEveryMs = 100;
const lineEveryMs = 10_000;

export function createOutput(terminal: Terminal, options: { readonly json: boolean; readonly quiet: boolean }): Output {
  let drawn = 0;
  let stage: string | undefined;
  let lastMs = 0;

  const settle = (): void => {
    if (drawn > 0) terminal.stderr.write(`\r${" ".repeat(drawn)}\r`);
    drawn = 0;
  };
  const draw = (text: string): void => {
    terminal.stderr.write(`\r${text.padEnd(drawn)}`);
    drawn = text.length;
  };

  return {
    json: options.json,
    say(line = "") {
      if (options.json) return;
      settle();
      terminal.stdout.write(`${line}\n`);
    },
    document(value) {
      if (!options.json) return;
      settle();
      terminal.stdout.write(`${JSON.stringify(value, plain, 2)}\n`);
    },
    note(line) {
      settle();
      terminal.stderr.write(`${line}\n`);
    },
    progress(progress) {
      if (options.quiet) return;
      const nowMs = performance.now();
      const isNewStage = progress.stage !== stage;
      const dueMs = lastMs + (terminal.isInteractive ? drawEveryMs : lineEveryMs);
      if (!isNewStage && nowMs < dueMs) return;
      if (isNewStage) settle();
      stage = progress.stage;
      lastMs = nowMs;
      if (terminal.isInteractive) draw(progressText(progress));
      // A stage's first count says nothing; those that follow show that it moves.
      else terminal.stderr.write(`${isNewStage ? `${progress.stage} ...` : progressText(progress)}\n`);
    },
    settle,
  };
}

function plain(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? value.toString() : value;
}

function progressText({ stage, done, total, unit }: Progress): string {
  if (done === undefined || unit === undefined || done === 0) return `${stage} ...`;
  const amount = unit === "bytes" ? bytesText(done) : `${done.toLocaleString("en-US")} ${unit}`;
  const share = total === undefined || total === 0 ? "" : ` (${Math.floor((done / total) * 100)} %)`;
  return `${stage} ... ${amount}${share}`;
}

/** `1.4 MB`; powers of ten, as disks and networks are sold. */
export function bytesText(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = bytes;
  let index = 0;
  while (value >= 1000 && index < units.length - 1) {
    value /= 1000;
    index++;
  }
  return `${index === 0 ? value : value.toFixed(1)} ${units[index]}`;
}

/** Lines with the labels set flush left and the values in one column. */
export function pairs(entries: readonly (readonly [label: string, value: string])[]): readonly string[] {
  const width = Math.max(...entries.map(([label]) => label.length));
  return entries.map(([label, value]) => `  ${label.padEnd(width)}  ${value}`);
}

/** Rows of a table under their headings, columns as wide as their widest cell. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const all = [headings, ...rows];
  const widths = headings.map((_, column) => Math.max(...all.map((row) => (row[column] ?? "").length)));
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}
