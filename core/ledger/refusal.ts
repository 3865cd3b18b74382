import { type Problem, WaybillError } from "../errors.ts";

/** The ledger's "no": nothing was written. `code` is stable; `field` names the id or member the rule is about. */
export function refusal(code: string, message: string, field?: string): WaybillError {
  return new WaybillError("usage", [field === undefined ? { code, message } : { code, message, field }]);
}

/** Throws all problems at once, or nothing when there are none. */
export function refuseProblems(problems: readonly Problem[]): void {
  if (problems.length > 0) throw new WaybillError("usage", problems);
}
