import { canonicalJson } from "../../canonical-json.ts";
import { refusal } from "../refusal.ts";

/** One page of a list, in the order in which the records were committed per account. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Pass it as `after` for the next page; undefined at the end. Opaque, and good only for the same list, filter and order. */
  readonly after: string | undefined;
}

export interface PageRequest {
  readonly after?: string;
  /** 1 to 1000. Default 100. */
  readonly limit?: number;
  /** Default oldest first. */
  readonly order?: "oldest" | "newest";
}

/** A place in a list: account and account sequence. Never a time, which several records may share. */
export interface Position {
  readonly accountId: string;
  readonly seq: bigint;
}

/** What a list statement needs of a request. */
export interface Window {
  readonly limit: number;
  readonly ascending: boolean;
  readonly from: Position | undefined;
}

/** Reads a request. `list` names the list and its filter; a cursor of another one is refused (INVALID_CURSOR). */
export function windowOf(list: readonly unknown[], request: PageRequest): Window {
  const limit = request.limit ?? 100;
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000) {
    throw refusal("INVALID_LIMIT", "limit must be a whole number from 1 to 1000", "limit");
  }
  const order = request.order ?? "oldest";
  const from = request.after === undefined ? undefined : readCursor(request.after, canonicalJson([...list, order]));
  return { limit, ascending: order === "oldest", from };
}

/** Turns `limit + 1` fetched rows into a page. */
export function pageOf<R, T>(
  list: readonly unknown[],
  window: Window,
  rows: readonly R[],
  position: (row: R) => Position,
  item: (row: R) => T,
): Page<T> {
  const shown = rows.slice(0, window.limit);
  const last = shown.at(-1);
  const more = rows.length > window.limit && last !== undefined;
  const order = window.ascending ? "oldest" : "newest";
  return {
    items: shown.map(item),
    after: more ? writeCursor(position(last), canonicalJson([...list, order])) : undefined,
  };
}

/**
 * The WHERE and ORDER BY of a page over columns `<alias>.account_id, <alias>.seq`, as parameters `first` (account), `first + 1`
 * (seq) and `first + 2` (limit). Its values: windowValues.
 */
export function windowSql(alias: string, window: Window, first: number): string {
  const direction = window.ascending ? "asc" : "desc";
  return `and ($${first}::text is null
      or (${alias}.account_id, ${alias}.seq) ${window.ascending ? ">" : "<"} ($${first}::text, $${first + 1}::bigint))
    order by ${alias}.account_id ${direction}, ${alias}.seq ${direction} limit $${first + 2}::bigint`;
}

/** See windowSql. One row more than the page shows whether there is a next one. */
export function windowValues({ from, limit }: Window): readonly [string | null, bigint | null, bigint] {
  return [from?.accountId ?? null, from?.seq ?? null, BigInt(limit + 1)];
}

function writeCursor({ accountId, seq }: Position, list: string): string {
  return Buffer.from(canonicalJson([list, accountId, String(seq)]), "utf8").toString("base64url");
}

function readCursor(text: string, list: string): Position {
  try {
    const parts: unknown = JSON.parse(Buffer.from(text, "base64url").toString("utf8"));
    if (Array.isArray(parts) && parts[0] === list && typeof parts[1] === "string" && /^\d{1,19}$/.test(parts[2])) {
      return { accountId: parts[1], seq: BigInt(parts[2]) };
    }
  } catch {
    // Anything unreadable is refused below like a cursor of another list.
  }
  throw refusal(
    "INVALID_CURSOR",
    "this cursor does not belong to this list, filter and order; start again without it",
    "after",
  );
}
