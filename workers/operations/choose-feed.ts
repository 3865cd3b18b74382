import { WaybillError } from "../../core/errors.ts";
import { listConfigurations, listMaterializations } from "../../core/ledger/queries.ts";
import type { Revision } from "../../core/model/records.ts";
import type { Sql } from "../../core/store/sql.ts";
import type { CheckedConfig, Feed } from "./check-config.ts";
import { mismatchOf } from "./obligation-facts.ts";

/**
 * The feed that a revision goes to: one of the configuration file, else one that the ledger already knows. `destination` is a
 * destination_id, a destination_ref or a delivery_config_id; without it, when several feeds want the revision, the one that took it
 * before is meant. WaybillError `usage` lists what there is.
 */
export async function chooseFeed(
  db: Sql,
  revision: Revision,
  config: CheckedConfig | undefined,
  destination: string | undefined,
): Promise<Feed> {
  const known = newestVersions([...(config?.feeds ?? []), ...(await installedFeeds(db, revision.account_id))]);
  const named = destination === undefined ? known : known.filter((feed) => isNamed(feed, destination));
  const wanting = named.filter(({ configuration }) => mismatchOf(configuration, revision) === undefined);
  const [only] = wanting.length > 1 ? await takersOf(db, revision, wanting) : wanting;
  if (only !== undefined) return only;
  throw new WaybillError("usage", [
    { code: "DESTINATION_REQUIRED", field: "--destination", message: question(known, named, wanting, revision) },
  ]);
}

/** The one feed that took this revision before; none when several did, or none. */
async function takersOf(db: Sql, revision: Revision, feeds: readonly Feed[]): Promise<readonly Feed[]> {
  const scope = { accountId: revision.account_id };
  const filter = { revisionId: revision.reporting_revision_id, limit: 1000 };
  const { items } = await listMaterializations(db, scope, filter);
  const takers = feeds.filter(({ configuration }) =>
    items.some((attempt) => attempt.delivery_config_id === configuration.delivery_config_id),
  );
  return takers.length === 1 ? takers : [];
}

/** Active generations of an account. */
async function installedFeeds(db: Sql, accountId: string): Promise<readonly Feed[]> {
  const feeds: Feed[] = [];
  let after: string | undefined;
  do {
    const request = { limit: 1000, ...(after === undefined ? {} : { after }) };
    const page = await listConfigurations(db, { accountId }, request);
    feeds.push(...page.items.filter((entry) => entry.active));
    after = page.after;
  } while (after !== undefined);
  return feeds.map(({ configuration, destination }) => ({ configuration, destination }));
}

/** Of each feed its newest generation; the file's comes first and wins over an equal one of the ledger. */
function newestVersions(feeds: readonly Feed[]): readonly Feed[] {
  const newest = new Map<string, Feed>();
  for (const feed of feeds) {
    const { account_id, delivery_config_id, delivery_config_version } = feed.configuration;
    const key = JSON.stringify([account_id, delivery_config_id]);
    const other = newest.get(key);
    if (other === undefined || other.configuration.delivery_config_version < delivery_config_version)
      newest.set(key, feed);
  }
  return [...newest.values()];
}

function isNamed({ configuration, destination }: Feed, name: string): boolean {
  return [destination.destination_ref, destination.destination_id, configuration.delivery_config_id].includes(name);
}

function question(
  known: readonly Feed[],
  named: readonly Feed[],
  wanting: readonly Feed[],
  revision: Revision,
): string {
  if (wanting.length > 1) {
    const refs = wanting.map(
      (feed) => `${feed.destination.destination_ref} (${feed.configuration.delivery_config_id})`,
    );
    return `--destination is needed: several feeds want this revision: ${refs.join(", ")}`;
  }
  if (known.length === 0) {
    return "no feed is configured: write one into waybill.config.yaml (waybill init), or deliver rows with waybill ship";
  }
  const reasons = (named.length === 0 ? known : named).map(
    ({ configuration, destination }) =>
      `${destination.destination_ref} (${configuration.delivery_config_id}) ${mismatchOf(configuration, revision) ?? "is another one"}`,
  );
  const start = named.length === 0 ? "--destination names none of the feeds" : "no feed wants this revision";
  return `${start}: ${reasons.slice(0, 10).join("; ")}`;
}
