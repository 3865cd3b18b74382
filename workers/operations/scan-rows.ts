import type { DecodedRecord } from "../../core/encoding/encoding.ts";
import type { Problem } from "../../core/errors.ts";
import { idSet } from "../../core/model/id.ts";
import { isDate } from "../../core/model/instant.ts";
import type { RowProfile } from "../../core/rows/profile.ts";
import type { ProgressListener } from "./progress.ts";

/** What a first look at rows says about the report they make. Bad rows are passed over: retention judges them. */
export interface RowScan {
  readonly rowCount: number;
  /** Sorted; undefined when the profile names no media buy member. */
  readonly mediaBuyIds: readonly string[] | undefined;
  /** First and last day of the day member; undefined without rows or without such a member. */
  readonly days: readonly [first: string, last: string] | undefined;
  /** Rows that could not even be decoded, the first hundred. */
  readonly problems: readonly Problem[];
}

const maxProblems = 100;

/** The member that says which day a row is about: the first date of the key, else the only date there is. */
export function dayMember(profile: RowProfile): string | undefined {
  const dates = profile.members.filter((member) => member.type.kind === "date").map((member) => member.name);
  return profile.primaryKeys.find((key) => dates.includes(key)) ?? (dates.length === 1 ? dates[0] : undefined);
}

/** Reads all rows once. */
export async function scanRows(
  batches: AsyncIterable<readonly DecodedRecord[]>,
  profile: RowProfile,
  onProgress?: ProgressListener,
): Promise<RowScan> {
  const day = dayMember(profile);
  const { mediaBuyMember } = profile;
  const buys = new Set<string>();
  let first: string | undefined;
  let last: string | undefined;
  let rowCount = 0;
  const problems: Problem[] = [];
  for await (const batch of batches) {
    for (const { row, problem } of batch) {
      if (row === undefined) {
        if (problems.length < maxProblems) problems.push(problem);
        continue;
      }
      const date = day === undefined ? undefined : row[day];
      if (typeof date === "string" && isDate(date)) {
        if (first === undefined || date < first) first = date;
        if (last === undefined || date > last) last = date;
      }
      const buy = mediaBuyMember === undefined ? undefined : row[mediaBuyMember];
      if (typeof buy === "string") buys.add(buy);
    }
    rowCount += batch.length;
    onProgress?.({ stage: "looking for days and media buys", done: rowCount, unit: "rows" });
  }
  return {
    rowCount,
    mediaBuyIds: mediaBuyMember === undefined ? undefined : idSet(buys),
    days: first === undefined || last === undefined ? undefined : [first, last],
    problems,
  };
}
