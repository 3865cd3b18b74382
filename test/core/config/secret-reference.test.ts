import { describe, expect, it } from "vitest";
import { parseSecretReference } from "../../../core/config/secret-reference.ts";

describe("secret references", () => {
  it("name an environment variable or an absolute file", () => {
    expect(parseSecretReference("env:AWS_SECRET")).toEqual({ kind: "env", name: "AWS_SECRET" });
    expect(parseSecretReference("file:/run/secrets/key")).toEqual({ kind: "file", path: "/run/secrets/key" });
  });

  it("are nothing else: no value, no relative path, no location", () => {
    for (const text of [
      "hunter2",
      "env:",
      "env:A B",
      "file:key",
      "file:///srv/reports",
      "file:/a\0b",
      "ENV:A",
      " env:A",
    ]) {
      expect(parseSecretReference(text)).toBeUndefined();
    }
  });
});
