import { hash } from "node:crypto";
import { canonicalJson } from "../canonical-json.ts";
import { type DecodedRecord, defaultDecodeLimits } from "../encoding/encoding.ts";
import { type Problem, WaybillError } from "../errors.ts";
import { idSet, isId } from "../model/id.ts";
import type { ControlTotal } from "../model/records.ts";
import { createTotals, type Totals } from "../model/totals.ts";
import type { LogicalRow, RowProfile } from "./profile.ts";
import type { MediaBuyTotals } from "./retained.ts";
import type { SortableRow } from "./row-sorter.ts";
import { sortKey } from "./sort-key.ts";
import { createRowValidator } from "./validate-row.ts";

/** Problems that are told in full; the others are counted. */
export const maxProblems = 100;

/** Longest canonical row, so that readers with default limits take it in: escapes and quotes of a format at most double it. */
const maxRowBytes = defaultDecodeLimits.maxRecordBytes / 2;

/** Takes rows from a source: checks every one, sums it up and makes it ready to be sorted. */
export interface RowIntake {
  /** The good rows of a batch. Bad ones are remembered as problems. */
  take(records: readonly DecodedRecord[]): readonly SortableRow[];
  /** Records taken so far, good or bad. */
  readonly rowsAcquired: number;
  /** Totals of the good rows. WaybillError `content` with all problems if there was a bad one. */
  finish(): IntakeResult;
}

export interface IntakeResult {
  readonly mediaBuyIds: readonly string[];
  readonly controlTotals: readonly ControlTotal[];
  /** One entry per buy of `mediaBuyIds`, in that order; empty when the profile names no media buy member. */
  readonly mediaBuyTotals: readonly MediaBuyTotals[];
}

interface BuyTotals {
  rowCount: number;
  readonly totals: Totals;
}

/**
 * `mediaBuyIds` is the sorted denominator; rows of other buys are refused. `from-rows`: whatever buys the rows have.
 */
export function createRowIntake(profile: RowProfile, mediaBuyIds: readonly string[] | "from-rows"): RowIntake {
  const validate = createRowValidator(profile);
  const totals = createTotals(profile.controlTotals);
  const buys = new Map<string, BuyTotals>();
  const newBuy = (): BuyTotals => ({ rowCount: 0, totals: createTotals(profile.controlTotals) });
  if (mediaBuyIds !== "from-rows") for (const id of mediaBuyIds) buys.set(id, newBuy());
  const problems = new ProblemList();
  const { mediaBuyMember, primaryKeys } = profile;
  let rowsAcquired = 0;

  function buyOf(row: LogicalRow, number: number): BuyTotals | Problem | undefined {
    if (mediaBuyMember === undefined) return undefined;
    const id = String(row[mediaBuyMember]);
    const known = buys.get(id);
    if (known !== undefined) return known;
    if (mediaBuyIds !== "from-rows") {
      return buyProblem("FOREIGN_MEDIA_BUY", number, mediaBuyMember, "is a media buy that the revision is not about");
    }
    if (!isId(id)) {
      return buyProblem(
        "INVALID_ID",
        number,
        mediaBuyMember,
        "is not an id of 1 to 255 characters of A-Z a-z 0-9 _ . : -",
      );
    }
    const added = newBuy();
    buys.set(id, added);
    return added;
  }

  function takeRow(row: LogicalRow, number: number): SortableRow | undefined {
    const invalid = validate(row, number);
    if (invalid.length > 0) {
      problems.add(...invalid);
      return undefined;
    }
    const buy = buyOf(row, number);
    if (buy !== undefined && "code" in buy) {
      problems.add(buy);
      return undefined;
    }
    const canonical = canonicalJson(row);
    if (isTooLong(canonical)) {
      const limit = `${maxRowBytes} bytes`;
      problems.add({ code: "RECORD_TOO_LONG", message: `row ${number} is longer than ${limit}`, row: number, limit });
      return undefined;
    }
    totals.add(row);
    buy?.totals.add(row);
    if (buy !== undefined) buy.rowCount++;
    return { row, key: sortKey(row, primaryKeys), number, fingerprint: fingerprintOf(canonical) };
  }

  return {
    get rowsAcquired() {
      return rowsAcquired;
    },
    take(records) {
      rowsAcquired += records.length;
      const rows: SortableRow[] = [];
      for (const record of records) {
        if (record.row === undefined) problems.add(record.problem);
        else {
          const row = takeRow(record.row, record.number);
          if (row !== undefined) rows.push(row);
        }
      }
      return problems.count === 0 ? rows : [];
    },
    finish() {
      problems.throwIfAny();
      const ids = idSet(buys.keys());
      return {
        mediaBuyIds: mediaBuyIds === "from-rows" ? ids : mediaBuyIds,
        controlTotals: totals.result(),
        mediaBuyTotals:
          mediaBuyMember === undefined ? [] : ids.map((id) => mediaBuyTotals(id, buys.get(id) ?? newBuy())),
      };
    },
  };
}

function mediaBuyTotals(id: string, { rowCount, totals }: BuyTotals): MediaBuyTotals {
  return { media_buy_id: id, row_count: rowCount, control_totals: totals.result() };
}

function buyProblem(code: string, row: number, member: string, what: string): Problem {
  return { code, message: `row ${row}: ${member}: ${what}`, row, member };
}

function isTooLong(canonical: string): boolean {
  return canonical.length * 3 > maxRowBytes && Buffer.byteLength(canonical) > maxRowBytes;
}

/** 128 bits of SHA-256 over the canonical row: enough to notice any change that storage could make. */
export function fingerprintOf(canonical: string): Uint8Array {
  return hash("sha256", canonical, "buffer").subarray(0, 16);
}

/** Keeps the first problems and counts all. */
export class ProblemList {
  private readonly kept: Problem[] = [];
  private total = 0;

  get count(): number {
    return this.total;
  }

  add(...problems: readonly Problem[]): void {
    this.total += problems.length;
    for (const problem of problems) if (this.kept.length < maxProblems) this.kept.push(problem);
  }

  /** WaybillError `content` with the problems, and one more that counts those left out. */
  throwIfAny(): void {
    if (this.total === 0) return;
    const more = this.total - this.kept.length;
    const rest: readonly Problem[] =
      more === 0 ? [] : [{ code: "MORE_PROBLEMS", message: `… and ${more} more problems` }];
    throw new WaybillError("content", [...this.kept, ...rest]);
  }
}
