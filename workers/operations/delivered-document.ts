import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { obligationProjection } from "../../core/ledger/queries.ts";
import type { Manifest, Materialization, Obligation, Revision } from "../../core/model/records.ts";
import type { Sql } from "../../core/store/sql.ts";
import { parseManifest } from "../../manifests/manifest.ts";
import type { Delivered } from "./deliver-revision.ts";

/** What `ship --json` and `deliver --json` print: the wire records of one delivery. */
export interface DeliveredDocument {
  readonly revision: Revision;
  readonly obligation: Obligation;
  readonly materialization: Materialization;
  /** null unless the delivery is ready and is files. */
  readonly manifest: Manifest | null;
  /** Where the buyer finds it; null unless it is ready. */
  readonly location: string | null;
}

/** Gathers the records as they are now. */
export async function deliveredDocument(db: Sql, revision: Revision, delivered: Delivered): Promise<DeliveredDocument> {
  const { materialization } = delivered;
  const { account_id, reporting_obligation_id } = delivered.obligation;
  const obligation = await obligationProjection(db, { accountId: account_id }, reporting_obligation_id);
  if (obligation === undefined) throw new Error("an obligation that was just delivered is gone");
  const location = materialization.resource?.location ?? null;
  return { revision, obligation, materialization, manifest: await readManifest(location), location };
}

async function readManifest(location: string | null): Promise<Manifest | null> {
  if (location === null || !location.startsWith("file:///")) return null;
  return parseManifest(await readFile(fileURLToPath(location)));
}
