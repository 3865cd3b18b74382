import type { Scope } from "../ledger-records.ts";

/** The account parameter of a scoped statement. Every one has `($n::text is null or account_id = $n)` in its WHERE; null is the operator. */
export function accountOf(scope: Scope): string | null {
  return "operator" in scope ? null : scope.accountId;
}
