import { dirname, resolve } from "node:path";
import type { DeliveryConfig } from "../../core/config/config.ts";
import { configurationGeneration, destinationGeneration } from "../../core/config/generations.ts";
import { type Problem, WaybillError } from "../../core/errors.ts";
import type { ConfigurationGeneration, DestinationGeneration } from "../../core/ledger/ledger-records.ts";
import type { DefinitionDocuments } from "../../core/rows/retained.ts";
import { checkDestination } from "../../drivers/registry.ts";
import { type ConfigFile, inFile, readDefinitionFile } from "./config-file.ts";

/** A configuration file in which everything fits together, as the generations it stands for. */
export interface CheckedConfig {
  readonly path: string;
  readonly definitions: readonly DefinitionDocuments[];
  readonly feeds: readonly Feed[];
  /** Legal, but worth a second look. */
  readonly warnings: readonly string[];
}

/** One configuration generation and where it delivers to. */
export interface Feed {
  readonly configuration: ConfigurationGeneration;
  readonly destination: DestinationGeneration;
}

/**
 * Checks everything that can be checked without touching a destination: definitions, settings of every transport, references between
 * them. WaybillError `usage` with all problems of all files at once.
 */
export async function checkConfig(file: ConfigFile): Promise<CheckedConfig> {
  const { config, path } = file;
  const problems: Problem[] = [];
  const definitions = await readDefinitions(file, problems);
  for (const [index, destination] of config.destinations.entries()) {
    const at = `destinations[${index}]`;
    for (const problem of await checkDestination(destination)) {
      const field = problem.field === undefined ? at : `${at}.${problem.field}`;
      problems.push(inFile(path, { ...problem, field, message: `${at}.${problem.message}` }));
    }
  }
  const feeds: Feed[] = [];
  for (const [index, entry] of config.configurations.entries()) {
    const documents = definitions.find((definition) => definition.reportDefinitionId === entry.report_definition_id);
    const destination = config.destinations.find((place) => place.destination_id === entry.destination);
    if (documents !== undefined && destination !== undefined) {
      const generation = destinationGeneration(destination);
      feeds.push({
        configuration: configurationGeneration(entry, documents.reportingProfile, generation.destination_ref),
        destination: generation,
      });
    } else if (documents === undefined) problems.push(inFile(path, unknownDefinition(entry, index)));
  }
  if (problems.length > 0) throw new WaybillError("usage", problems);
  return { path, definitions, feeds, warnings: warningsOf(file) };
}

async function readDefinitions(file: ConfigFile, problems: Problem[]): Promise<readonly DefinitionDocuments[]> {
  const definitions: DefinitionDocuments[] = [];
  for (const [index, name] of file.config.definitions.entries()) {
    const field = `definitions[${index}]`;
    try {
      const documents = await readDefinitionFile(resolve(dirname(file.path), name));
      if (definitions.some((other) => other.reportDefinitionId === documents.reportDefinitionId)) {
        const message = `${field}: another definition has the same report_definition_id`;
        problems.push(inFile(file.path, { code: "REPEATED_ID", field, message }));
      }
      definitions.push(documents);
    } catch (error) {
      if (error instanceof WaybillError) problems.push(...error.problems);
      else {
        const code = (error as NodeJS.ErrnoException).code ?? "UNREADABLE";
        problems.push(inFile(file.path, { code, field, message: `${field}: the file cannot be read (${code})` }));
      }
    }
  }
  return definitions;
}

function unknownDefinition(entry: DeliveryConfig, index: number): Problem {
  const field = `configurations[${index}].report_definition_id`;
  const message = `${field}: none of the definitions has the id ${entry.report_definition_id}`;
  return { code: "UNKNOWN_DEFINITION", field, message };
}

function warningsOf({ config }: ConfigFile): readonly string[] {
  return config.destinations
    .filter((destination) => destination.verification_path === "producer")
    .map(
      ({ destination_id }) =>
        `${destination_id} is verified as producer: what the seller can read is checked, not what the buyer's own identity can`,
    );
}
