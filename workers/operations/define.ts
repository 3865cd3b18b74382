import { writeFile } from "node:fs/promises";
import { basename, resolve } from "node:path";
import type { DecodedRecord } from "../../core/encoding/encoding.ts";
import { type Problem, WaybillError } from "../../core/errors.ts";
import type { ColumnType } from "../../core/rows/profile.ts";
import { draftDefinition } from "./draft-definition.ts";
import {
  createInference,
  createKeyCheck,
  floatNote,
  type Inference,
  type InferredMember,
  type KeyCheck,
} from "./infer-members.ts";
import type { ProgressListener } from "./progress.ts";
import { rawRows } from "./raw-rows.ts";

export interface DefineRequest {
  /** What relative paths are relative to. */
  readonly directory: string;
  readonly rows: string;
  readonly primaryKeys: readonly string[];
  /** Default: the file's name without its endings. */
  readonly definitionId?: string | undefined;
  /** Created, never overwritten. Default: nothing is written. */
  readonly out?: string | undefined;
  readonly onProgress?: ProgressListener | undefined;
  readonly signal: AbortSignal;
}

export interface DefineResult {
  /** The definition file's text, YAML with comments. */
  readonly text: string;
  /** Absolute path of the file written, if any. */
  readonly path: string | undefined;
  readonly rowCount: number;
  /** What a person should look at, by member. */
  readonly notes: readonly { readonly member: string; readonly note: string }[];
}

/**
 * Drafts a definition from rows. WaybillError `content` when rows cannot be read, `usage` when the keys do not name rows: all problems
 * found are reported together.
 */
export async function define(request: DefineRequest): Promise<DefineResult> {
  const name = basename(request.rows);
  const { untyped, fixed, batches } = await rawRows(resolve(request.directory, request.rows), request.signal);
  const inference = createInference({ untyped });
  const keyCheck = createKeyCheck(request.primaryKeys);
  await readAll(batches, inference, keyCheck, request.onProgress);

  const members = inference.members().map((member) => withFixedType(member, fixed.get(member.name)));
  const unnamable = members.flatMap(nameProblem);
  if (unnamable.length > 0) throw new WaybillError("content", unnamable);
  const problems = keyProblems(request.primaryKeys, members, keyCheck, inference.rowCount);
  if (problems.length > 0) throw new WaybillError("usage", problems);
  const text = draftDefinition({
    definitionId: request.definitionId ?? definitionIdOf(name),
    primaryKeys: request.primaryKeys,
    members,
    origin: `Drafted from ${name} (${inference.rowCount} rows).`,
  });
  const path = request.out === undefined ? undefined : resolve(request.directory, request.out);
  if (path !== undefined) await writeFile(path, text, { flag: "wx" });
  const notes = members.flatMap((member) => member.notes.map((note) => ({ member: member.name, note })));
  return { text, path, rowCount: inference.rowCount, notes };
}

/** What the file itself says about a column outranks what its values look like. */
function withFixedType(member: InferredMember, type: ColumnType | undefined): InferredMember {
  if (type === undefined) return member;
  return { ...member, type, notes: type.kind === "number" ? [floatNote] : [] };
}

/** Every table and header must be able to carry a member's name as it stands. */
function nameProblem({ name }: InferredMember): readonly Problem[] {
  if (/^(?!__proto__$)[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(name)) return [];
  const message = `the member ${JSON.stringify(name)} cannot be delivered under its name; rename it at the source (letters, digits and _, at most 128)`;
  return [{ code: "MEMBER_NAME", message, member: name }];
}

const maxRowProblems = 100;

async function readAll(
  batches: AsyncIterable<readonly DecodedRecord[]>,
  inference: Inference,
  keyCheck: KeyCheck,
  onProgress: ProgressListener | undefined,
): Promise<void> {
  const problems: Problem[] = [];
  for await (const batch of batches) {
    for (const record of batch) {
      if (record.problem !== undefined) {
        if (problems.length < maxRowProblems) problems.push(record.problem);
        continue;
      }
      inference.add(record.row);
      keyCheck.add(record.row, record.number);
    }
    onProgress?.({ stage: "reading rows", done: inference.rowCount, unit: "rows" });
  }
  if (problems.length > 0) throw new WaybillError("content", problems);
}

function keyProblems(
  keys: readonly string[],
  members: readonly InferredMember[],
  keyCheck: KeyCheck,
  rowCount: number,
): readonly Problem[] {
  const field = "--key";
  if (rowCount === 0) {
    const message = "the file has no rows to draft from; take one of a day with rows";
    return [{ code: "NO_ROWS", field: "rows", message }];
  }
  const known = members.map((member) => member.name).join(", ");
  const problems = keys.flatMap((key): readonly Problem[] => {
    const member = members.find(({ name }) => name === key);
    if (member === undefined) {
      return [{ code: "UNKNOWN_KEY", field, message: `--key: no row has a member "${key}"; there are ${known}` }];
    }
    if (member.missing !== "forbidden") {
      return [{ code: "KEY_MISSING", field, message: `--key: "${key}" is missing or null in some rows` }];
    }
    if (member.type.kind !== "json") return [];
    return [{ code: "KEY_NOT_SCALAR", field, message: `--key: "${key}" is not one plain kind of value` }];
  });
  if (new Set(keys).size < keys.length) {
    problems.push({ code: "KEY_REPEATED", field, message: "--key: names a member twice" });
  }
  if (problems.length === 0 && keyCheck.duplicate !== undefined) {
    const [first, second] = keyCheck.duplicate;
    const message = `--key: rows ${first} and ${second} have the same ${keys.join(", ")}; name more members`;
    problems.push({ code: "KEY_NOT_UNIQUE", field, row: second, message });
  }
  return problems;
}

/** `Daily report.jsonl.gz` -> `daily-report`. */
function definitionIdOf(name: string): string {
  const stem = name.replace(/(?:\.[A-Za-z0-9]{1,7}){1,2}$/, "").toLowerCase();
  return (
    stem
      .replace(/[^a-z0-9_.:-]+/g, "-")
      .replace(/^-+|-+$/g, "")
      .slice(0, 100) || "report"
  );
}
