import { DeliveryError, failureOf, isAbort, type Problem, WaybillError } from "../../core/errors.ts";
import { type ExitCode, exitCodeOfFailure, exitCodeOfKind } from "./exit-code.ts";
import type { Output } from "./output.ts";

/** Problems printed for people before the rest is only counted. JSON mode has them all. */
const maxPrinted = 20;

/**
 * Tells why a command ended without doing its work: sentences on stderr, in JSON mode `{error: {kind, problems}}` on stdout as well.
 * Causes and stacks are not printed; they may hold text of providers.
 */
export function reportError(error: unknown, output: Output): ExitCode | 130 {
  if (isAbort(error)) {
    output.note("stopped");
    return 130;
  }
  const { kind, problems, exitCode } = describe(error);
  output.document({ error: { kind, problems } });
  for (const problem of problems.slice(0, maxPrinted)) output.note(`waybill: ${problem.message}`);
  if (problems.length > maxPrinted) output.note(`waybill: and ${problems.length - maxPrinted} more`);
  return exitCode;
}

interface Description {
  readonly kind: string;
  readonly problems: readonly Problem[];
  readonly exitCode: ExitCode;
}

function describe(error: unknown): Description {
  if (error instanceof WaybillError) {
    return { kind: error.kind, problems: error.problems, exitCode: exitCodeOfKind(error.kind) };
  }
  if (error instanceof DeliveryError) {
    const problem = { code: error.code, message: failureOf(error.code).meaning };
    return { kind: "delivery", problems: [problem], exitCode: exitCodeOfFailure(error.code) };
  }
  if (isSystemError(error)) return describeSystemError(error);
  const name = error instanceof Error ? error.name : typeof error;
  const message = `an unexpected ${name}; run again with WAYBILL_DEBUG=1 for its stack, and please report it`;
  return { kind: "internal", problems: [{ code: "INTERNAL", message }], exitCode: 1 };
}

/** What the operating system said about a path that the command line named. */
const systemSentences: { readonly [code: string]: string } = {
  ENOENT: "does not exist",
  EACCES: "may not be opened or written by this user",
  EPERM: "may not be changed by this user",
  EROFS: "is on a read-only file system",
  EEXIST: "is already there and is not overwritten; choose another name or move it away",
  ENOTDIR: "has a file where a folder is needed",
  EISDIR: "is a folder where a file is needed",
  ELOOP: "is a symbolic link that leads nowhere",
  ENAMETOOLONG: "is too long a name for this file system",
  ENOSPC: "is on a disk without room; free some and repeat the command",
  EDQUOT: "is beyond this user's disk quota",
  EIO: "cannot be read from or written to its disk",
};
const passing: readonly string[] = ["ENOSPC", "EDQUOT", "EIO"];

function isSystemError(error: unknown): error is NodeJS.ErrnoException & { readonly code: string } {
  return error instanceof Error && "syscall" in error && "code" in error && String(error.code) in systemSentences;
}

function describeSystemError(error: NodeJS.ErrnoException & { readonly code: string }): Description {
  const message = `${error.path ?? "a file"} ${systemSentences[error.code]}`;
  const kind = passing.includes(error.code) ? "unreachable" : "usage";
  return { kind, problems: [{ code: error.code, message }], exitCode: exitCodeOfKind(kind) };
}
