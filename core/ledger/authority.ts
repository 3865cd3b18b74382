import { DeliveryError } from "../errors.ts";
import type { Sql } from "../store/sql.ts";

/**
 * Throws DeliveryError WITHDRAWN or UNAUTHORIZED when a worker may no longer act for this materialization: a tombstone stands,
 * or its configuration or destination was deactivated. Ask before write, commit, grant and each probe, also on resume.
 */
export async function checkAuthority(db: Sql, materializationId: string): Promise<void> {
  const [row] = await db.query<{ withdrawn: boolean; active: boolean }>(
    `select c.deactivated_at is null and d.deactivated_at is null as active,
       exists (select 1 from tombstone t where t.reporting_materialization_id = m.reporting_materialization_id) as withdrawn
     from materialization m
     join obligation o using (reporting_obligation_id)
     join configuration c on c.account_id = o.account_id
       and c.delivery_config_id = o.delivery_config_id and c.delivery_config_version = o.delivery_config_version
     join destination d on d.destination_ref = c.destination_ref
     where m.reporting_materialization_id = $1`,
    [materializationId],
  );
  if (row?.withdrawn === true) throw new DeliveryError("WITHDRAWN");
  if (row?.active !== true) throw new DeliveryError("UNAUTHORIZED");
}
