import { build } from "./build.ts";
import { provision } from "./servers/provision.ts";

/** Before any suite: compile once (process tests and worker threads run compiled code) and install the test peers. */
export async function setup(): Promise<void> {
  await Promise.all([build(), process.env["WAYBILL_NO_PEERS"] === "1" ? undefined : provision()]);
}
