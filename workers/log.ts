import { pino } from "pino";
import { DeliveryError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";

/** Where workers tell what happened. Ids and codes only: an error's text and cause may hold what a provider echoed. */
export interface WorkerLog {
  info(message: string, fields?: JsonObject): void;
  error(message: string, error: unknown, fields?: JsonObject): void;
}

/** Takes finished lines, each with its line end. */
export interface LogDestination {
  write(line: string): void;
}

/** Structured lines, one JSON object each. `level`: a pino level. Default `warn`. Default destination: stderr. */
export function createLog(
  level = "warn",
  destination: LogDestination = pino.destination({ fd: 2, sync: true }),
): WorkerLog {
  const logger = pino({ level, base: null }, destination);
  return {
    info: (message, fields = {}) => logger.info(fields, message),
    error: (message, error, fields = {}) => logger.error({ ...fields, ...reduceError(error) }, message),
  };
}

/** Says nothing. */
export const silentLog: WorkerLog = { info: () => undefined, error: () => undefined };

/** All that may be told of an error: our code, or the class and system code of a foreign one. */
export function reduceError(error: unknown): JsonObject {
  if (error instanceof DeliveryError) {
    return { code: error.code, ...(error.cause === undefined ? {} : { cause: reduceError(error.cause) }) };
  }
  if (!(error instanceof Error)) return { class: typeof error };
  const code =
    "code" in error && typeof error.code === "string" && /^[A-Z0-9_]{1,40}$/.test(error.code) ? error.code : null;
  return { class: error.constructor.name, ...(code === null ? {} : { system_code: code }) };
}
