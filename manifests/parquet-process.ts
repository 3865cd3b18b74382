import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, open, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { DecodeMeter } from "../core/encoding/decode-meter.ts";
import type { DecodedRecord, DecodeLimits } from "../core/encoding/encoding.ts";
import { decodeJsonl } from "../core/encoding/jsonl.ts";
import { tooLarge } from "../core/encoding/text-blocks.ts";
import { type Problem, WaybillError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import type { RowProfile } from "../core/rows/profile.ts";
import type { ParquetRequest } from "./parquet-child.ts";

export interface ParquetProcessOptions {
  /** Folder for a temporary folder of this object, removed at its end. */
  readonly spoolDirectory: string;
  /** Longest wait for the next rows before the child is killed. Ms. Default 120,000. */
  readonly maxSilenceMs?: number;
}

type Child = ChildProcessByStdio<Writable, Readable, null>;

/**
 * Rows of one Parquet object that somebody else made, read in a process of its own: what crashes, hangs or eats memory there is killed
 * and ends as a WaybillError `content`: UNREADABLE_PARQUET, RESOURCE_TOO_LARGE, or the problems of its columns.
 */
export async function* readParquetInChild(
  bytes: AsyncIterable<Uint8Array>,
  profile: RowProfile,
  limits: DecodeLimits,
  options: ParquetProcessOptions,
): AsyncIterable<readonly DecodedRecord[]> {
  await mkdir(options.spoolDirectory, { recursive: true });
  const folder = await mkdtemp(join(options.spoolDirectory, "parquet-"));
  let child: Child | undefined;
  try {
    const path = join(folder, "object.parquet");
    const meter = new DecodeMeter(limits);
    meter.storedBytes = await spool(bytes, path);
    child = start();
    const request: ParquetRequest = { path, profile, spoolDirectory: folder };
    child.stdin.on("error", () => {
      // A child that died early does not take its request; its silence on stdout says the rest.
    });
    child.stdin.end(JSON.stringify(request));
    yield* records(child, limits, meter, options.maxSilenceMs ?? 120_000);
  } finally {
    if (child !== undefined) await kill(child);
    await rm(folder, { recursive: true, force: true });
  }
}

async function spool(bytes: AsyncIterable<Uint8Array>, path: string): Promise<number> {
  const file = await open(path, "wx", 0o600);
  let size = 0;
  try {
    for await (const chunk of bytes) {
      await file.appendFile(chunk);
      size += chunk.length;
    }
  } finally {
    await file.close();
  }
  return size;
}

/** Node runs no TypeScript: from sources the compiled child is taken. */
function childPath(): string {
  const here = fileURLToPath(import.meta.url);
  const folder = here.endsWith(".ts") ? join(dirname(here), "..", "dist", "manifests") : dirname(here);
  return join(folder, "parquet-child.js");
}

/** Gets no secrets: only what a process needs to load native code. */
function start(): Child {
  const names = ["PATH", "HOME", "TMPDIR", "TEMP", "SystemRoot", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"];
  const env = Object.fromEntries(
    names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
  return spawn(process.execPath, ["--max-old-space-size=512", childPath()], { stdio: ["pipe", "pipe", "ignore"], env });
}

async function kill(child: Child): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

async function* records(
  child: Child,
  limits: DecodeLimits,
  meter: DecodeMeter,
  maxSilenceMs: number,
): AsyncIterable<readonly DecodedRecord[]> {
  const envelope = {
    ...limits,
    maxDepth: limits.maxDepth + 1,
    maxRecordBytes: limits.maxRecordBytes + 64,
    maxRows: Number.MAX_SAFE_INTEGER,
  };
  let ended = false;
  for await (const lines of decodeJsonl(output(child, meter, maxSilenceMs), envelope)) {
    const batch: DecodedRecord[] = [];
    for (const line of lines) {
      if (line.row === undefined) throw unreadable(line.problem.message);
      const { row, problem, end } = line.row as { readonly [name: string]: JsonObject | undefined };
      const { number } = line;
      if (row !== undefined) batch.push({ number, row });
      else if (problem !== undefined) batch.push({ number, problem: problem as unknown as Problem });
      else if (end !== undefined) {
        ended = true;
        throwEnd(end);
      }
    }
    if ((batch.at(-1)?.number ?? 0) > limits.maxRows) throw tooLarge("rows", `${limits.maxRows} rows`);
    if (batch.length > 0) yield batch;
  }
  if (!ended) throw unreadable("the process that reads it ended too early");
}

function throwEnd(end: JsonObject): void {
  const { kind, problems } = end as unknown as {
    readonly kind: WaybillError["kind"];
    readonly problems: readonly Problem[];
  };
  if (problems.length > 0) throw new WaybillError(kind, problems);
}

async function* output(child: Child, meter: DecodeMeter, maxSilenceMs: number): AsyncIterable<Uint8Array> {
  let failure: Error | undefined;
  child.on("error", (error) => {
    failure = error;
    child.stdout.destroy();
  });
  let timer: NodeJS.Timeout | undefined;
  let isSilent = false;
  // Counts only while rows are waited for: a slow consumer is not the child's fault.
  const watch = (): void => {
    timer = setTimeout(() => {
      isSilent = true;
      child.kill("SIGKILL");
    }, maxSilenceMs);
  };
  try {
    watch();
    for await (const chunk of child.stdout as AsyncIterable<Uint8Array>) {
      clearTimeout(timer);
      meter.addDecoded(chunk.length);
      yield chunk;
      watch();
    }
  } finally {
    clearTimeout(timer);
  }
  if (isSilent) {
    const limit = `${maxSilenceMs} ms`;
    const message = `reading the Parquet object gave no rows for ${limit}`;
    throw new WaybillError("content", [{ code: "RESOURCE_TOO_LARGE", message, limit }]);
  }
  if (failure !== undefined) throw failure;
}

function unreadable(why: string): WaybillError {
  const message = `the Parquet object cannot be read: ${why}`;
  return new WaybillError("content", [{ code: "UNREADABLE_PARQUET", message }]);
}
