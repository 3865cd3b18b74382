import type { Encoding } from "../../core/encoding/encoding.ts";
import type { FileCompression, FileFormat } from "../../core/model/records.ts";
import type { SettingsReader } from "../settings-reader.ts";
import { type PathTemplate, parsePathTemplate } from "./layout.ts";

/** What every file destination is asked for, whatever stores the objects. */
export interface FileSettings {
  readonly encoding: Encoding;
  readonly template: PathTemplate;
}

const formats: readonly FileFormat[] = ["jsonl", "csv", "parquet"];
const compressions: readonly FileCompression[] = ["none", "gzip", "zstd", "snappy"];
const levels: { readonly [compression in FileCompression]?: { readonly maximum: number; readonly byDefault: number } } =
  {
    gzip: { maximum: 9, byDefault: 5 },
    zstd: { maximum: 19, byDefault: 3 },
  };
const defaultRowsPerPart = 1_000_000;

/**
 * `format` and `compression` are required: they are part of what the buyer agreed to. `level` (gzip 1..9, default 5; zstd 1..19,
 * default 3), `rows_per_part` (default 1,000,000) and `path_template` (default none) are not. Undefined when something is wrong;
 * the reader has the problems.
 */
export function readFileSettings(reader: SettingsReader): FileSettings | undefined {
  const format = reader.choice("format", formats);
  const compression = reader.choice("compression", compressions);
  const level = reader.optionalInteger("level", 1, 19);
  const rowsPerPart = reader.optionalInteger("rows_per_part", 1, 1_000_000_000) ?? defaultRowsPerPart;
  const template = readTemplate(reader);

  if (compression === "snappy" && format !== undefined && format !== "parquet") {
    reader.problem(
      "COMPRESSION_NOT_FOR_FORMAT",
      "compression",
      "snappy exists only inside parquet; use none, gzip or zstd",
    );
  }
  const range = compression === undefined ? undefined : levels[compression];
  if (level !== undefined && compression !== undefined && range === undefined) {
    reader.problem("LEVEL_WITHOUT_COMPRESSION", "level", "has no meaning for this compression; leave it out");
  }
  if (level !== undefined && range !== undefined && level > range.maximum) {
    reader.problem("WRONG_SETTING", "level", `must be a whole number from 1 to ${range.maximum}`);
  }
  if (format === undefined || compression === undefined || template === undefined) return undefined;
  const chosen = range === undefined ? {} : { level: level ?? range.byDefault };
  return { encoding: { format, compression, ...chosen, rowsPerPart }, template };
}

function readTemplate(reader: SettingsReader): PathTemplate | undefined {
  const text = reader.optionalText("path_template");
  if (text === undefined) return [];
  const { template, problems } = parsePathTemplate(text);
  for (const problem of problems) reader.problem("PATH_TEMPLATE", "path_template", problem);
  return problems.length === 0 ? template : undefined;
}
