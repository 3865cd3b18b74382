import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Encoding } from "../../core/encoding/encoding.ts";
import type { Obligation } from "../../core/model/records.ts";
import { parseDefinition } from "../../core/rows/definition.ts";
import { buildDocuments } from "../../core/rows/documents.ts";
import type { LogicalRow } from "../../core/rows/profile.ts";
import type { DefinitionDocuments } from "../../core/rows/retained.ts";
import { parseJson } from "../../core/strict-json.ts";
import { officialSchema } from "../servers/official-schemas.ts";
import { describePeer, repositoryRoot, requireAdcp } from "../servers/peers.ts";
import { type Delivered, deliver, inOrder, verifyFiles, withFiles, writeFolder } from "./delivered-folder.ts";

interface Fixture {
  readonly documents: DefinitionDocuments;
  readonly rows: readonly LogicalRow[];
}

async function fixture(name: string, file: string): Promise<Fixture> {
  const folder = join(repositoryRoot, "fixtures", name);
  const documents = buildDocuments(parseDefinition(await readFile(join(folder, "definition.json"), "utf8"), "json"));
  const lines = await readFile(join(folder, file), "utf8");
  const rows = lines
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => parseJson(line) as LogicalRow);
  return { documents, rows: inOrder(rows, documents) };
}

type Answer = { readonly [name: string]: unknown };

/** Loading the official package takes seconds, so each script answers all jobs at once. */
async function python(script: string, jobs: readonly unknown[]): Promise<readonly Answer[]> {
  const child = spawn(requireAdcp().python, [join(repositoryRoot, "test/servers/interop", script)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  child.stdin.end(JSON.stringify(jobs));
  return JSON.parse(await text(child.stdout));
}

/** The delivery's records as their seller would serve them for a feed without receipts. */
function recordsOf({ materialization, obligation, revision }: Delivered) {
  const served: Obligation = {
    ...obligation,
    feed_purpose: "analytics",
    reconciliation_mode: "delivery_only",
    reconciliation_status: "not_required",
    health: "complete",
    production_status: "published",
    revision_count: 1,
    adjustment_count: 0,
    materialization_count: 1,
    successful_materialization_count: 1,
    issues: [],
    resource_retained_until: "2027-03-09T05:00:00Z",
  };
  const { resource } = materialization;
  const location = "https://reports.seller.example/r_1/m_1/manifest.json";
  return {
    obligation: served,
    revision,
    materialization: { ...materialization, feed_purpose: "analytics", resource: { ...resource, location } },
  };
}

function jobOf(delivered: Delivered, folder: string) {
  const { canonicalization, reportDefinition, rowSchema } = delivered.documents;
  return {
    ...recordsOf(delivered),
    folder,
    documents: {
      [canonicalization.uri]: "canonicalization.json",
      [reportDefinition.uri]: "definition.json",
      [rowSchema.uri]: "row-schema.json",
    },
  };
}

const encodings = (["jsonl", "csv"] as const).flatMap((format) =>
  (["none", "gzip"] as const).map((compression): Encoding => ({ format, compression, rowsPerPart: 20 })),
);

async function soundDeliveries(strings: Fixture, daily: readonly Fixture[]): Promise<readonly Delivered[]> {
  const deliveries: Delivered[] = [];
  for (const encoding of encodings) {
    deliveries.push(await deliver({ ...strings, encoding }));
    // To that client every CSV value is a string.
    if (encoding.format === "csv") continue;
    for (const one of daily) deliveries.push(await deliver({ ...one, encoding }));
  }
  return deliveries;
}

async function damagedDeliveries(strings: Fixture): Promise<readonly Delivered[]> {
  const delivered = await deliver({ ...strings, encoding: { rowsPerPart: 2 } });
  const bytes = Uint8Array.from(delivered.files.get("part-00001.jsonl") ?? []);
  bytes[5] = (bytes[5] ?? 0) ^ 1;
  const manifest = new TextDecoder().decode(delivered.files.get("manifest.json"));
  return [
    { "part-00001.jsonl": bytes },
    { "part-00000.jsonl": undefined },
    { "manifest.json": manifest.replace('"complete":true', '"complete":true,"complete":true') },
  ].map((damage) => ({ ...delivered, files: withFiles(delivered, damage) }));
}

describePeer("adcp", "the official Python inspector", () => {
  let directory: string;
  let sound: readonly Delivered[];
  let damaged: readonly Delivered[];
  let inspected: readonly Answer[];
  let digests: readonly Answer[];
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "waybill-inspector-"));
    const strings = await fixture("all-string", "rows.jsonl");
    const daily = await Promise.all(
      ["rows-hard.jsonl", "rows-zero.jsonl"].map((file) => fixture("daily-ad-delivery", file)),
    );
    sound = await soundDeliveries(strings, daily);
    damaged = await damagedDeliveries(strings);
    const folders = [...sound, ...damaged].map(async (delivered, index) =>
      jobOf(delivered, await writeFolder(delivered.files, directory, `delivery-${index}`)),
    );
    const plain = sound.filter(({ manifest }) => manifest.format === "jsonl" && manifest.compression === "none");
    const digestJobs = plain.map(({ documents, files, manifest, revision }) => ({
      rows: manifest.files.map(({ object_ref }) => new TextDecoder().decode(files.get(object_ref))).join(""),
      contract: JSON.parse(new TextDecoder().decode(documents.canonicalization.bytes)),
      revision,
    }));
    [inspected, digests] = await Promise.all([
      python("inspect_deliveries.py", await Promise.all(folders)),
      python("official_digests.py", digestJobs),
    ]);
  }, 300_000);
  afterAll(async () => {
    await rm(directory, { recursive: true, force: true });
  });

  it("accepts our folders, hard values and zero rows too, and sees the digest that we see", async () => {
    for (const [index, delivered] of sound.entries()) {
      const { canonical_content_digest: digest, control_totals, row_count } = delivered.revision;
      expect(await verifyFiles(delivered.files)).toMatchObject({ ok: true, canonical_digest: digest?.value });
      expect(inspected[index]).toMatchObject({
        receipt: {
          status: "accepted",
          observed_row_count: row_count,
          observed_control_totals: control_totals,
          observed_canonical_content_digest: { value: digest?.value },
        },
      });
    }
  });

  it("refuses what we refuse", async () => {
    for (const { files } of damaged) expect((await verifyFiles(files)).ok).toBe(false);
    for (const answer of inspected.slice(sound.length)) expect(answer).toHaveProperty("refused");
    expect(inspected).toHaveLength(sound.length + damaged.length);
  });

  it("its digest code gives our canonical and binding digests", () => {
    const plain = sound.filter(({ manifest }) => manifest.format === "jsonl" && manifest.compression === "none");
    expect(digests).toEqual(
      plain.map(({ revision }) => ({
        canonical: revision.canonical_content_digest?.value,
        binding: revision.revision_content_sha256,
        row_count: revision.row_count,
      })),
    );
  });

  it("the official schemas accept the records and the manifest of these deliveries", () => {
    const [delivered] = sound;
    if (delivered === undefined) throw new Error("there are deliveries");
    const { materialization, obligation, revision } = recordsOf(delivered);
    expect(officialSchema("core/reporting-file-manifest")(delivered.manifest)).toEqual([]);
    expect(officialSchema("core/reporting-revision")(revision)).toEqual([]);
    expect(officialSchema("core/reporting-materialization")(materialization)).toEqual([]);
    expect(officialSchema("core/reporting-obligation")(obligation)).toEqual([]);
  });
});
