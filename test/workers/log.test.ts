import { describe, expect, it } from "vitest";
import { DeliveryError, WaybillError } from "../../core/errors.ts";
import { createLog, reduceError } from "../../workers/log.ts";

const canary = "canary-secret-AKIA5EXAMPLE";

class ProviderFault extends Error {
  readonly code = "ECONNRESET";
  readonly body = canary;
}

const errors: readonly (readonly [string, unknown, unknown])[] = [
  ["our own code", new DeliveryError("DESTINATION_FULL"), { code: "DESTINATION_FULL" }],
  [
    "our own code with the class and system code of its cause",
    new DeliveryError("DESTINATION_UNREACHABLE", { cause: new ProviderFault(canary) }),
    { code: "DESTINATION_UNREACHABLE", cause: { class: "ProviderFault", system_code: "ECONNRESET" } },
  ],
  ["the class of a foreign error", new TypeError(canary), { class: "TypeError" }],
  [
    "the class of a refusal",
    new WaybillError("usage", [{ code: "X", message: canary, field: canary }]),
    { class: "WaybillError" },
  ],
  ["no code that is not a system's", Object.assign(new Error(canary), { code: canary }), { class: "Error" }],
  ["no code that is no text", Object.assign(new Error("x"), { code: { canary } }), { class: "Error" }],
  ["the type of what is no error", canary, { class: "string" }],
  ["the type of nothing", undefined, { class: "undefined" }],
];

describe("what a log line tells of an error", () => {
  it.each(errors)("%s", (_what, error, expected) => {
    expect(reduceError(error)).toEqual(expected);
  });

  it("[I17] never its text, its cause's text or a body, wherever a provider put a secret", () => {
    const causes = errors.map(([, error]) => new DeliveryError("INTERNAL", { cause: error }));
    expect(JSON.stringify([...errors.map(([, error]) => error), ...causes].map(reduceError))).not.toContain("canary");
  });
});

describe("the structured log", () => {
  it("[I17] writes message, fields, code and class as one line without the secret, the host or the process", () => {
    const lines: string[] = [];
    const log = createLog("warn", { write: (line) => lines.push(line) });
    log.error("run failed", new DeliveryError("INTERNAL", { cause: new ProviderFault(canary) }), { attempt: 2 });
    const [line = ""] = lines;
    expect(lines).toHaveLength(1);
    expect(line).not.toContain("canary");
    expect(Object.keys(JSON.parse(line)).sort()).toEqual(["attempt", "cause", "code", "level", "msg", "time"]);
  });

  it("says nothing below its level", () => {
    const lines: string[] = [];
    createLog("warn", { write: (line) => lines.push(line) }).info("a detail");
    expect(lines).toEqual([]);
  });
});
