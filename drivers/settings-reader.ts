import type { Problem } from "../core/errors.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";

/**
 * Reads a destination's settings and collects everything that is wrong with them. Messages name the field and what is allowed,
 * never the value. A reader method that found a problem returns undefined; values are for use only when `finish` returns none.
 */
export interface SettingsReader {
  text(name: string): string | undefined;
  optionalText(name: string): string | undefined;
  choice<T extends string>(name: string, allowed: readonly T[]): T | undefined;
  optionalChoice<T extends string>(name: string, allowed: readonly T[]): T | undefined;
  optionalBoolean(name: string): boolean | undefined;
  optionalInteger(name: string, minimum: number, maximum: number): number | undefined;
  /** A nested group; its problems carry the outer field as prefix. Undefined when absent. */
  optionalGroup(name: string): SettingsReader | undefined;
  problem(code: string, name: string, message: string): void;
  /** All problems so far, with those of keys that nobody asked for. */
  finish(): readonly Problem[];
}

/** `field` is the path the settings stand under, for messages. Default: `settings`. */
export function readSettings(settings: JsonObject, field = "settings"): SettingsReader {
  const problems: Problem[] = [];
  const groups: SettingsReader[] = [];
  const asked = new Set<string>();
  const pathOf = (name: string): string => `${field}.${name}`;
  const add = (code: string, name: string, message: string): undefined => {
    problems.push({ code, field: pathOf(name), message: `${pathOf(name)}: ${message}` });
    return undefined;
  };
  const take = (name: string): JsonValue | undefined => {
    asked.add(name);
    return Object.hasOwn(settings, name) ? settings[name] : undefined;
  };
  const missing = (name: string): undefined => add("MISSING_SETTING", name, "is required");

  const oneOf = <T extends string>(name: string, value: JsonValue, allowed: readonly T[]): T | undefined =>
    allowed.find((word) => word === value) ?? add("WRONG_SETTING", name, `must be one of ${allowed.join(", ")}`);

  return {
    text(name) {
      const value = take(name);
      if (value === undefined) return missing(name);
      return typeof value === "string" && value !== "" ? value : add("WRONG_SETTING", name, "must be text, not empty");
    },
    optionalText(name) {
      const value = take(name);
      if (value === undefined) return undefined;
      return typeof value === "string" && value !== "" ? value : add("WRONG_SETTING", name, "must be text, not empty");
    },
    choice(name, allowed) {
      const value = take(name);
      return value === undefined ? missing(name) : oneOf(name, value, allowed);
    },
    optionalChoice(name, allowed) {
      const value = take(name);
      return value === undefined ? undefined : oneOf(name, value, allowed);
    },
    optionalBoolean(name) {
      const value = take(name);
      if (value === undefined) return undefined;
      return typeof value === "boolean" ? value : add("WRONG_SETTING", name, "must be true or false");
    },
    optionalInteger(name, minimum, maximum) {
      const value = take(name);
      if (value === undefined) return undefined;
      if (typeof value === "number" && Number.isSafeInteger(value) && value >= minimum && value <= maximum)
        return value;
      return add("WRONG_SETTING", name, `must be a whole number from ${minimum} to ${maximum}`);
    },
    optionalGroup(name) {
      const value = take(name);
      if (value === undefined) return undefined;
      if (!isObject(value)) return add("WRONG_SETTING", name, "must be a group of settings");
      const group = readSettings(value, pathOf(name));
      groups.push(group);
      return group;
    },
    problem: add,
    finish() {
      const unknown = Object.keys(settings)
        .filter((name) => !asked.has(name))
        .map((name) => ({
          code: "UNKNOWN_SETTING",
          field: pathOf(name),
          message: `${pathOf(name)}: is not a setting`,
        }));
      return [...problems, ...groups.flatMap((group) => group.finish()), ...unknown];
    },
  };
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
