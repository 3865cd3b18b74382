import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WaybillError } from "../../core/errors.ts";
import { findMaterialization, journalOf } from "../../core/ledger/queries.ts";
import { openMaterialization } from "../../core/ledger/transitions.ts";
import { parseDefinition } from "../../core/rows/definition.ts";
import { buildDocuments } from "../../core/rows/documents.ts";
import { silentLog } from "../../workers/log.ts";
import { openWaybill, type Waybill } from "../../workers/open-waybill.ts";
import { type Shipped, ship } from "../../workers/operations/ship.ts";
import { planWith } from "../../workers/plan-with.ts";
import { calm } from "./use-world.ts";

const operator = { operator: true } as const;
const fixture = fileURLToPath(new URL("../../fixtures/daily-ad-delivery", import.meta.url));

describe("an embedded installation", () => {
  let base: string;
  let directory: string;
  let shipped: Shipped;
  const open = (): Promise<Waybill> => openWaybill({ directory, log: silentLog, environment: {} });
  beforeAll(async () => {
    base = await mkdtemp(join(tmpdir(), "waybill-open-"));
    directory = join(base, "home");
    const waybill = await open();
    shipped = await ship(waybill, {
      rows: { path: join(fixture, "rows.jsonl") },
      documents: buildDocuments(parseDefinition(await readFile(join(fixture, "definition.json"), "utf8"), "json")),
      accountId: "acct-1",
      timezone: "UTC",
      finality: "snapshot",
      target: { to: join(base, "out"), directory: base, format: "csv", compression: "gzip", retentionDays: 30 },
      patienceMs: 0,
      signal: calm,
    });
    await waybill.close();
  });
  afterAll(() => rm(base, { recursive: true, force: true }));

  async function openAttempt({ db, drivers }: Waybill): Promise<string> {
    const { obligation, report, feed } = shipped;
    const driver = await drivers.driverOf(feed.destination);
    const opened = await openMaterialization(db, {
      obligationId: obligation.reporting_obligation_id,
      revisionId: report.revision.reporting_revision_id,
      selection: "exact",
      plan: planWith(driver),
    });
    return opened.reporting_materialization_id;
  }

  async function eventsOf({ db }: Waybill, id: string): Promise<readonly string[]> {
    const { items } = await journalOf(db, operator, id, { limit: 100 });
    return items.map(({ event }) => event);
  }

  const statusOf = async ({ db }: Waybill, id: string) => (await findMaterialization(db, operator, id))?.record.status;

  it("delivers what a sweep found due, over its queue, until nothing is left", async () => {
    const waybill = await open();
    const id = await openAttempt(waybill);
    const swept = await waybill.sweep();
    expect(swept).toEqual({ expired: [], withdrawn: [], enqueued: 1 });
    await waybill.idle();
    expect(await statusOf(waybill, id)).toBe("available");
    await waybill.close();
  });

  it("lets a delivery that runs end before it closes, or leaves it so that the next process goes on", async () => {
    const waybill = await open();
    const id = await openAttempt(waybill);
    await waybill.sweep();
    await waybill.close();

    const next = await open();
    const before = await eventsOf(next, id);
    // Never in between: a lease that nobody holds would keep the next worker waiting.
    expect(["opened", "available", "interrupted"]).toContain(before.at(-1));
    await next.sweep();
    await next.idle();
    expect(await statusOf(next, id)).toBe("available");
    const outbox = await next.db.query("select 1 from outbox where cause_id = $1", [id]);
    expect(outbox).toHaveLength(1);
    await next.close();
  });

  it("[I25] is opened by one process at a time, and says who has it", async () => {
    const waybill = await open();
    const refused = await open().catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(WaybillError);
    expect((refused as WaybillError).problems).toMatchObject([
      { code: "FOLDER_IN_USE", message: expect.stringContaining(String(process.pid)) },
    ]);
    await waybill.close();
  });

  it("closes what it had opened when a later part cannot be", async () => {
    const unreachable = openWaybill({
      directory,
      log: silentLog,
      environment: {},
      redis: { url: "redis://127.0.0.1:1" },
    });
    await expect(unreachable).rejects.toMatchObject({ kind: "unreachable" });
    await (await open()).close();
  });

  it("starts with empty work files, whatever a killed process left", async () => {
    const first = await open();
    const { workDirectory } = first;
    await first.close();
    await mkdir(join(workDirectory, "retain-half-done"), { recursive: true });
    await writeFile(join(workDirectory, "retain-half-done", "rows"), "half");
    const second = await open();
    expect(second.workDirectory).toBe(workDirectory);
    await expect(readFile(join(workDirectory, "retain-half-done", "rows"))).rejects.toMatchObject({ code: "ENOENT" });
    await second.close();
  });
});
