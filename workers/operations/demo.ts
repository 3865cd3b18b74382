import { cp, mkdir, mkdtemp, open, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { verifyLocation } from "../../buyer/verify-location.ts";
import { WaybillError } from "../../core/errors.ts";
import { journalOf } from "../../core/ledger/queries.ts";
import { openWaybill, type Waybill } from "../open-waybill.ts";
import { packageFolder } from "../package-folder.ts";
import { readDefinitionFile } from "./config-file.ts";
import { deliver } from "./deliver.ts";
import type { Delivered } from "./deliver-revision.ts";
import type { ProgressListener } from "./progress.ts";
import { type Shipped, ship } from "./ship.ts";

export interface DemoRequest {
  /** Missing or empty; everything stays there. Default: a temporary folder that is removed at the end. */
  readonly folder?: string | undefined;
  /** Told each step as soon as it is proved. */
  readonly onStep?: (step: DemoStep) => void;
  readonly onProgress?: ProgressListener | undefined;
  readonly signal: AbortSignal;
}

/** One thing that was done and what it proved. */
export interface DemoStep {
  readonly step: "deliver" | "verify" | "restate" | "keep" | "replay" | "tamper";
  readonly ok: boolean;
  readonly did: string;
  readonly proved: string;
}

export interface DemoResult {
  readonly ok: boolean;
  readonly steps: readonly DemoStep[];
  /** Where everything is; null when it was removed. */
  readonly folder: string | null;
}

/** The whole main job on made-up rows, each step checked: what it shows is what happened, and `ok` is false if any of it did not hold. */
export async function demo(request: DemoRequest): Promise<DemoResult> {
  const folder = await demoFolder(request.folder);
  const steps: DemoStep[] = [];
  const tell = (step: DemoStep): void => {
    steps.push(step);
    request.onStep?.(step);
  };
  try {
    const waybill = await openWaybill({ directory: join(folder, ".waybill") });
    try {
      await runSteps(waybill, folder, request, tell);
    } finally {
      await waybill.close();
    }
  } finally {
    if (request.folder === undefined) await rm(folder, { recursive: true, force: true });
  }
  return { ok: steps.every((step) => step.ok), steps, folder: request.folder === undefined ? null : folder };
}

async function demoFolder(named: string | undefined): Promise<string> {
  if (named === undefined) return await mkdtemp(join(tmpdir(), "waybill-demo-"));
  const folder = resolve(named);
  await mkdir(folder, { recursive: true });
  if ((await readdir(folder)).length === 0) return folder;
  const message = `${folder} is not empty; name a new folder, or none at all`;
  throw new WaybillError("usage", [{ code: "FOLDER_NOT_EMPTY", field: "folder", message }]);
}

async function runSteps(
  waybill: Waybill,
  folder: string,
  { signal, onProgress }: DemoRequest,
  tell: (step: DemoStep) => void,
): Promise<void> {
  const fixtures = join(packageFolder().path, "fixtures/daily-ad-delivery");
  const documents = await readDefinitionFile(join(fixtures, "definition.json"));
  const options = { patienceMs: 60_000, onProgress, signal };
  const shipRows = (name: string): Promise<Shipped> =>
    ship(waybill, {
      rows: { path: join(fixtures, name) },
      documents,
      accountId: "demo-account",
      timezone: "UTC",
      finality: "snapshot",
      target: { to: "reports", directory: folder, format: "jsonl", compression: "gzip", retentionDays: 90 },
      ...options,
    });

  const a = await shipRows("rows.jsonl");
  const digestA = digestOf(a);
  tell({
    step: "deliver",
    ok: isReady(a),
    did: `retained ${rowsOf(a)} rows as revision A and delivered them: data first, manifest last`,
    proved: `available only after every byte was read back and equalled the revision (digest ${digestA.slice(0, 12)}...)`,
  });

  const asBuyer = await verifyLocation(locationOf(a));
  tell({
    step: "verify",
    ok: asBuyer.satisfied && asBuyer.canonical_digest === digestA,
    did: "verified A as its buyer: the folder alone, no account, no ledger",
    proved: `${asBuyer.row_count} rows, totals and digest recomputed from the files are those of the seller`,
  });

  const b = await shipRows("rows-restated.jsonl");
  const supersedes = b.report.revision.supersedes_reporting_revision_id;
  tell({
    step: "restate",
    ok: isReady(b) && supersedes === a.report.revision.reporting_revision_id && digestOf(b) !== digestA,
    did: "shipped corrected rows of the same day: revision B restates A",
    proved: `B is current, names A as what it supersedes, and lies in a folder of its own (digest ${digestOf(b).slice(0, 12)}...)`,
  });

  const again = await verifyLocation(locationOf(a));
  tell({
    step: "keep",
    ok: again.satisfied && again.manifest_sha256 === asBuyer.manifest_sha256,
    did: "read A once more, after the restatement",
    proved: "A is still there, byte for byte, and still verifies",
  });

  const replay = await deliver(waybill, {
    revisionId: a.report.revision.reporting_revision_id,
    destination: undefined,
    config: undefined,
    ...options,
  });
  const acquired = await rowsAcquired(waybill, replay);
  tell({
    step: "replay",
    ok:
      isReady(replay) &&
      acquired === 0 &&
      replay.materialization.reporting_materialization_id !== a.materialization.reporting_materialization_id &&
      replay.materialization.verification?.canonical_content_digest?.value === digestA,
    did: "delivered A again from what was retained",
    proved: `a new delivery with the same revision and digest; rows taken from the source: ${acquired}`,
  });

  const { copy, object } = await tamperedCopy(a, folder);
  const tampered = await verifyLocation(copy);
  const named = tampered.findings.find((finding) => finding.object_ref === object);
  tell({
    step: "tamper",
    ok: !tampered.satisfied && named !== undefined,
    did: `changed one byte of ${object} in a copy of A`,
    proved: `verification fails and names the object: ${named?.code ?? "nothing found"} in ${named?.object_ref ?? "-"}`,
  });
}

/** A copy of a delivery with one byte of its first object changed. */
async function tamperedCopy(
  shipped: Shipped,
  folder: string,
): Promise<{ readonly copy: string; readonly object: string }> {
  const copy = join(folder, "tampered-copy");
  const source = dirname(fileURLToPath(locationOf(shipped)));
  await cp(source, copy, { recursive: true });
  const object = (await readdir(copy)).find((name) => name.startsWith("part-")) ?? "part-00000.jsonl.gz";
  const file = await open(join(copy, object), "r+");
  try {
    const { size } = await file.stat();
    const middle = Math.floor(size / 2);
    const byte = Buffer.alloc(1);
    await file.read(byte, 0, 1, middle);
    byte.writeUInt8(byte.readUInt8(0) ^ 1);
    await file.write(byte, 0, 1, middle);
  } finally {
    await file.close();
  }
  return { copy, object: basename(object) };
}

/** What the journal says an attempt took from the source. */
async function rowsAcquired({ db }: Waybill, { materialization }: Delivered): Promise<number> {
  const { items } = await journalOf(db, { operator: true }, materialization.reporting_materialization_id);
  const opened = items.find((entry) => entry.event === "opened");
  return Number(opened?.detail["rows_acquired"] ?? Number.NaN);
}

function isReady({ materialization }: Delivered): boolean {
  return materialization.status === "available";
}

function locationOf({ materialization }: Delivered): string {
  const location = materialization.resource?.location;
  if (location === undefined) throw new Error(`the demo's delivery ended as ${materialization.failure_code}`);
  return location;
}

function digestOf({ report }: Shipped): string {
  return report.revision.canonical_content_digest?.value ?? "";
}

function rowsOf({ report }: Shipped): number {
  return report.revision.row_count;
}
