import { mkdir, mkdtemp, realpath, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DuckDBConnection, type DuckDBDataChunk, DuckDBInstance, type DuckDBType } from "@duckdb/node-api";
import { WaybillError } from "../errors.ts";
import { spoolError, spoolFull } from "./spool-folder.ts";

export interface EngineOptions {
  /** Folder of this engine alone, created if missing: what it writes and spills lies there. The caller removes it. */
  readonly directory: string;
  /** Bound of DuckDB's own buffers, MB; the process takes 100 to 200 MB more. Default 150. */
  readonly memoryLimitMb?: number;
  /** `disk` for tables that may outgrow memory. Default memory. */
  readonly database?: "memory" | "disk";
  /** Files elsewhere that may be read, and nothing else outside the folder. */
  readonly inputs?: readonly string[];
}

/** A locked-down DuckDB: one thread, UTC, no network, no extensions, no file outside its folder and inputs. */
export interface Engine {
  /** For appenders. Statements go through `run` and `stream`, which translate errors. */
  readonly connection: DuckDBConnection;
  /** SQL literal of a file in the engine's folder. `name` is a bare, generated name. */
  file(name: string): string;
  /** SQL of a relation over Parquet files, in the order given, with `file_row_number`. Literals come from `file` and `input`. */
  parquet(literals: readonly string[]): string;
  /** SQL literal of `inputs[index]`. */
  input(index: number): string;
  /** Runs one statement; an aborted signal interrupts it. */
  run(sql: string, signal?: AbortSignal): Promise<void>;
  /** Result of one statement, chunk by chunk; several may be read side by side. Read it to its end or leave it by `break`. */
  stream(sql: string, signal?: AbortSignal): AsyncIterable<DuckDBDataChunk>;
  /** Names and types of a statement's result. */
  columns(sql: string, signal?: AbortSignal): Promise<readonly EngineColumn[]>;
  /** Ends the engine. Idempotent. */
  close(): Promise<void>;
}

export interface EngineColumn {
  readonly name: string;
  readonly type: DuckDBType;
}

/**
 * Opens an engine. WaybillError `usage` when the folder cannot be created or written. Paths of users never become SQL: DuckDB reads
 * `*`, `?` and `[` in them as patterns and `key=value` folders as columns.
 */
export async function openEngine(options: EngineOptions): Promise<Engine> {
  const folder = await openFolder(options.directory);
  try {
    return await open(folder, options);
  } catch (error) {
    await folder.release();
    throw engineError(error);
  }
}

async function open(folder: EngineFolder, options: EngineOptions): Promise<Engine> {
  const { path } = folder;
  if (options.database === "disk" && folder.real.includes("?")) {
    // DuckDB takes what follows for the query of a URL when it names the log beside a database.
    const message = "the spool folder has a ? in its path; choose another one";
    throw new WaybillError("usage", [{ code: "SPOOL_UNUSABLE", message, field: "spool" }]);
  }
  const inputs = await Promise.all((options.inputs ?? []).map((input, index) => linkInput(path, input, index)));
  const instance = await DuckDBInstance.create(options.database === "disk" ? join(path, "tables.duckdb") : ":memory:", {
    threads: "1",
    memory_limit: `${options.memoryLimitMb ?? 150}MB`,
    temp_directory: join(path, "spill"),
    autoinstall_known_extensions: "false",
    autoload_known_extensions: "false",
    allow_community_extensions: "false",
  });
  const connection = await instance.connect();
  const allowed = inputs.map(({ target }) => literal(target)).join(", ");
  for (const statement of [
    "SET GLOBAL timezone = 'UTC'",
    `SET allowed_directories = [${literal(`${path}/`)}]`,
    `SET allowed_paths = [${allowed}]`,
    "SET enable_external_access = false",
    "SET lock_configuration = true",
  ]) {
    await connection.run(statement);
  }
  let open = true;
  return {
    connection,
    file: (name) => literal(join(path, name)),
    parquet: (literals) =>
      `read_parquet([${literals.join(", ")}], file_row_number = true, hive_partitioning = false, union_by_name = false)`,
    input: (index) => literal(inputs[index]?.link ?? ""),
    run: async (sql, signal) => {
      await interruptible(connection, signal, () => connection.run(sql));
    },
    stream: (sql, signal) => streamed(instance, sql, signal),
    columns: async (sql, signal) => {
      const result = await interruptible(connection, signal, () => connection.run(`${sql} LIMIT 0`));
      const names = result.columnNames();
      return result.columnTypes().map((type, index) => ({ name: names[index] ?? "", type }));
    },
    close: async () => {
      if (!open) return;
      open = false;
      connection.closeSync();
      instance.closeSync();
      await folder.release();
    },
  };
}

async function* streamed(
  instance: DuckDBInstance,
  sql: string,
  signal: AbortSignal | undefined,
): AsyncIterable<DuckDBDataChunk> {
  // A connection has one running result; one of its own lets other statements run meanwhile.
  const connection = await instance.connect();
  try {
    const result = await interruptible(connection, signal, () => connection.stream(sql));
    for (;;) {
      const chunk = await interruptible(connection, signal, () => result.fetchChunk());
      if (chunk === null || chunk.rowCount === 0) return;
      yield chunk;
    }
  } finally {
    connection.closeSync();
  }
}

async function interruptible<T>(
  connection: DuckDBConnection,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  let again: NodeJS.Timeout | undefined;
  const interrupt = (): void => {
    connection.interrupt();
    // An interrupt that comes before the statement has really begun is forgotten: it is repeated until the statement ends.
    again = setInterval(() => connection.interrupt(), 20);
  };
  signal?.addEventListener("abort", interrupt, { once: true });
  try {
    return await work();
  } catch (error) {
    signal?.throwIfAborted();
    throw engineError(error);
  } finally {
    signal?.removeEventListener("abort", interrupt);
    clearInterval(again);
  }
}

/** SQL text literal. Only for generated names below the engine's folder and for constants. */
function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

interface EngineFolder {
  readonly real: string;
  /** Path without characters that DuckDB gives a meaning. */
  readonly path: string;
  release(): Promise<void>;
}

/** A folder whose own path would read as a pattern is reached through a link with a plain name. */
async function openFolder(directory: string): Promise<EngineFolder> {
  let real: string;
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    real = await realpath(directory);
  } catch (error) {
    throw spoolError(error);
  }
  if (isPlain(real)) return { real, path: real, release: async () => {} };
  const alias = await mkdtemp(join(await realpath(tmpdir()), "waybill-engine-"));
  const path = join(alias, "work");
  await symlink(real, path);
  return { real, path, release: () => rm(alias, { recursive: true, force: true }) };
}

function isPlain(path: string): boolean {
  return !/[*?[\]{}\\'"\n\r]/.test(path);
}

/** DuckDB resolves links before it compares with `allowed_paths`, so the target is what must be allowed. */
async function linkInput(
  folder: string,
  input: string,
  index: number,
): Promise<{ readonly link: string; readonly target: string }> {
  const target = await realpath(input);
  const link = join(folder, `input-${String(index).padStart(5, "0")}`);
  await rm(link, { force: true });
  await symlink(target, link);
  return { link, target };
}

/** DuckDB's own words stay in the cause: they quote paths and values. */
function engineError(error: unknown): unknown {
  if (error instanceof WaybillError || !(error instanceof Error)) return error;
  if (/No space left|max_temp_directory_size|failed to offload/i.test(error.message)) {
    return spoolFull(error);
  }
  return error;
}
