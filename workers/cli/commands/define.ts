import { type AddCommand, examples } from "../command.ts";

interface DefineOptions {
  readonly key: string;
  readonly id?: string;
  readonly out?: string;
}

/** `waybill define`: drafts a definition from rows. */
export const addDefineCommand: AddCommand = (program, run) => {
  program
    .command("define")
    .summary("draft a report definition from rows, for a person to finish")
    .description(
      "Reads all rows of a file and drafts the definition file that retain and ship need: members with lossless types, keys and control totals, with a CHECK comment wherever only a person knows better.",
    )
    .argument("<rows>", "a .jsonl, .csv or .parquet file, also with .gz or .zst")
    .requiredOption("--key <names>", "the members that together name a row, separated by commas")
    .option("--id <id>", "report_definition_id (default: from the file's name)")
    .option("--out <file>", "write here instead of stdout; an existing file is not overwritten")
    .addHelpText(
      "after",
      examples(
        "waybill define rows.jsonl --key report_date,media_buy_id > definition.yaml",
        "waybill define rows.csv.gz --key day,buy,creative --id daily-delivery --out definition.yaml",
      ),
    )
    .action((rows: string, options: DefineOptions) =>
      run(async ({ output, places, signal }) => {
        const { define } = await import("../../operations/define.ts");
        const result = await define({
          directory: places.directory,
          rows,
          primaryKeys: options.key.split(",").map((name) => name.trim()),
          definitionId: options.id,
          out: options.out,
          onProgress: output.progress,
          signal,
        });
        output.document({
          text: result.text,
          path: result.path ?? null,
          row_count: result.rowCount,
          notes: result.notes,
        });
        if (result.path === undefined) output.say(result.text.trimEnd());
        else output.say(`Wrote ${result.path} from ${result.rowCount} rows.`);
        for (const { member, note } of result.notes) output.note(`check ${member}: ${note}`);
        return 0;
      }),
    );
};
