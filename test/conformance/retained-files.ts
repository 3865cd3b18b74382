import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { openEngine } from "../../core/rows/duckdb.ts";
import type { LogicalRow, RowProfile } from "../../core/rows/profile.ts";
import { createTypedTable } from "../../core/rows/typed-table.ts";

/** Parquet files of at most `rowsPerFile` rows, as retention writes them; at least one. */
export async function writeRetainedFiles(
  rows: readonly LogicalRow[],
  profile: RowProfile,
  directory: string,
  rowsPerFile = 7,
): Promise<readonly string[]> {
  const folder = await mkdtemp(join(directory, "retained-"));
  const engine = await openEngine({ directory: folder });
  const paths: string[] = [];
  try {
    for (let at = 0; at === 0 || at < rows.length; at += rowsPerFile) {
      const table = await createTypedTable(engine, `part_${at}`, profile);
      table.append(rows.slice(at, at + rowsPerFile));
      table.finish();
      const name = `rows-${at}.parquet`;
      await engine.run(
        `COPY (SELECT ${table.members} FROM part_${at}) TO ${engine.file(name)} (FORMAT parquet, COMPRESSION zstd)`,
      );
      paths.push(join(folder, name));
    }
  } finally {
    await engine.close();
  }
  return paths;
}
