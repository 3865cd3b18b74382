import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../core/clock.ts";
import type { DestinationConfig } from "../../core/config/config.ts";
import { DeliveryError, WaybillError } from "../../core/errors.ts";
import type { FailureCode } from "../../core/failure-table.ts";
import type { DestinationCheck } from "../../core/model/destination-proof.ts";
import type { DriverEnvironment } from "../../drivers/destination-binding.ts";
import type { Driver } from "../../drivers/driver.ts";
import { createDriver } from "../../drivers/registry.ts";
import { createSecretResolver } from "../secrets.ts";
import type { Environment } from "./composition.ts";
import type { ConfigFile } from "./config-file.ts";
import type { ProgressListener } from "./progress.ts";

/** What one destination was found to be. */
export interface Diagnosis {
  readonly destination_id: string;
  readonly transport: string;
  /** unreachable: it did not answer, so nothing is known. */
  readonly outcome: "pass" | "fail" | "unreachable";
  readonly failure_code: FailureCode | null;
  readonly checks: readonly DestinationCheck[];
}

/**
 * Puts configured destinations to the test, all or one, with a probe that is removed again. Needs no ledger and records nothing: a
 * delivery proves its destination anew. WaybillError `usage` (UNKNOWN_DESTINATION) when none has the id.
 */
export async function doctor(
  { config, path }: ConfigFile,
  options: {
    readonly destinationId?: string | undefined;
    readonly environment: Environment;
    readonly onProgress?: ProgressListener | undefined;
    readonly signal: AbortSignal;
  },
): Promise<readonly Diagnosis[]> {
  const { destinationId, onProgress } = options;
  const chosen = config.destinations.filter(
    ({ destination_id }) => destinationId === undefined || destination_id === destinationId,
  );
  if (chosen.length === 0) {
    const ids = config.destinations.map(({ destination_id }) => destination_id).join(", ");
    const message =
      destinationId === undefined
        ? `${path} has no destinations`
        : `${path} has no destination ${destinationId}; it has ${ids === "" ? "none" : ids}`;
    throw new WaybillError("usage", [{ code: "UNKNOWN_DESTINATION", field: "destination", message }]);
  }
  const spoolDirectory = await mkdtemp(join(tmpdir(), "waybill-doctor-"));
  try {
    const environment = { spoolDirectory, secret: createSecretResolver({ environment: options.environment }) };
    const diagnoses: Diagnosis[] = [];
    for (const destination of chosen) {
      onProgress?.({ stage: `testing ${destination.destination_id}` });
      diagnoses.push(await diagnose(destination, environment, options.signal));
    }
    return diagnoses;
  } finally {
    await rm(spoolDirectory, { recursive: true, force: true });
  }
}

async function diagnose(
  destination: DestinationConfig,
  environment: DriverEnvironment,
  signal: AbortSignal,
): Promise<Diagnosis> {
  const { destination_id, transport } = destination;
  let driver: Driver | undefined;
  try {
    driver = await createDriver(destination, environment);
    const proof = await driver.prove?.({ key: `doctor.${randomUUID()}`, signal, nowUs: systemClock.nowUs });
    const { outcome, failure_code, checks } = proof ?? { outcome: "pass", failure_code: null, checks: [] };
    return { destination_id, transport, outcome, failure_code, checks: [settingsPass, ...checks] };
  } catch (error) {
    signal.throwIfAborted();
    return { destination_id, transport, ...diagnosisOf(error) };
  } finally {
    await driver?.close();
  }
}

const settingsPass: DestinationCheck = { name: "settings", outcome: "pass", fix: null };

/** Settings that cannot work fail; a destination that does not answer is unreachable; anything else is thrown on. */
function diagnosisOf(error: unknown): Pick<Diagnosis, "outcome" | "failure_code" | "checks"> {
  if (error instanceof WaybillError) {
    const checks = error.problems.map(({ message }) => settingsFail(message));
    return { outcome: "fail", failure_code: "CONFIGURATION_INVALID", checks };
  }
  if (!(error instanceof DeliveryError)) throw error;
  const { code } = error;
  if (code === "CONFIGURATION_INVALID") {
    const checks = [settingsFail("give the reader credentials of an identity other than the one that writes")];
    return { outcome: "fail", failure_code: code, checks };
  }
  if (code !== "DESTINATION_UNREACHABLE" && code !== "DESTINATION_THROTTLED") throw error;
  const fix = "check that the destination runs, and that host, port and network lead to it; then try again";
  const checks = [settingsPass, { name: "reachable", outcome: "unknown" as const, fix }];
  return { outcome: "unreachable", failure_code: code, checks };
}

function settingsFail(fix: string): DestinationCheck {
  return { name: "settings", outcome: "fail", fix };
}
