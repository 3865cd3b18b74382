import type { FailureCode } from "../failure-table.ts";
import type { JsonObject } from "../json.ts";

/** One promise of a destination that was put to the test. Contains no secret. */
export interface DestinationCheck extends JsonObject {
  /** Snake case, stable: `create_only`, `read_back`, … */
  readonly name: string;
  /** unknown: this destination or this identity gives no way to tell, or an earlier failure left nothing to test. */
  readonly outcome: "pass" | "fail" | "unknown";
  /** What to do, for a person; null when nothing is to be done. */
  readonly fix: string | null;
}

/** What a destination was shown to keep, and not to keep, before anything is delivered to it. */
export interface DestinationProof extends JsonObject {
  /** fail: nothing may be delivered there. */
  readonly outcome: "pass" | "fail";
  /** Of the first check that failed; null when none did. */
  readonly failure_code: FailureCode | null;
  /** In the order they ran. */
  readonly checks: readonly DestinationCheck[];
}
