/** Name of the checksum list that `sha256sum -c` reads. */
export const sumsName = "SHA256SUMS";

/** Side files of a delivery: unlisted in the manifest, written before it. Readers of others ignore them. */
export const sideFileNames = [
  "revision.json",
  "definition.json",
  "row-schema.json",
  "canonicalization.json",
  sumsName,
] as const;

export type SideFileName = (typeof sideFileNames)[number];

export interface NamedSum {
  readonly name: string;
  /** Lower-case hex. */
  readonly sha256: string;
}

/** Text of a SHA256SUMS file, sorted by name. */
export function formatSums(sums: readonly NamedSum[]): string {
  const sorted = [...sums].sort((left, right) => (left.name < right.name ? -1 : 1));
  return sorted.map(({ name, sha256 }) => `${sha256}  ${name}\n`).join("");
}

/** Reads exactly what formatSums writes, in any order; undefined for anything else, a name twice included. */
export function parseSums(text: string): ReadonlyMap<string, string> | undefined {
  const sums = new Map<string, string>();
  if (text === "" || !text.endsWith("\n")) return undefined;
  for (const line of text.slice(0, -1).split("\n")) {
    const [, sha256, name] = /^([0-9a-f]{64}) {2}([A-Za-z0-9_][A-Za-z0-9_.-]{0,199})$/.exec(line) ?? [];
    if (sha256 === undefined || name === undefined || sums.has(name)) return undefined;
    sums.set(name, sha256);
  }
  return sums;
}
