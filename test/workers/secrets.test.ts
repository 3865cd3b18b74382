import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createSecretResolver } from "../../workers/secrets.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "waybill-secrets-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

async function secretFile(content: string, mode: number): Promise<string> {
  const path = join(directory, "secret");
  await writeFile(path, content);
  await chmod(path, mode);
  return path;
}

describe("secrets", () => {
  it("are read from the environment or from a file, without the file's last line end", async () => {
    const resolve = createSecretResolver({ environment: { TOKEN: "t0ken" } });
    expect(await resolve("env:TOKEN")).toBe("t0ken");
    expect(await resolve(`file:${await secretFile("t0ken\n", 0o600)}`)).toBe("t0ken");
  });

  it("a file that others may write is refused, one that everyone may read is told unless its mount is trusted", async () => {
    const warnings: string[] = [];
    const warn = (message: string): void => {
      warnings.push(message);
    };
    const path = await secretFile("t0ken", 0o644);
    await createSecretResolver({ environment: {}, warn, trustedMounts: [directory] })(`file:${path}`);
    expect(warnings).toEqual([]);
    await createSecretResolver({ environment: {}, warn })(`file:${path}`);
    expect(warnings).toEqual([`file:${path} may be read by everyone on this machine`]);
    for (const mode of [0o620, 0o602]) {
      await chmod(path, mode);
      await expect(createSecretResolver({ environment: {}, warn })(`file:${path}`)).rejects.toMatchObject({
        kind: "usage",
        message: expect.stringContaining("may be written by others"),
      });
    }
  });

  it("an error names the reference and never a value", async () => {
    const resolve = createSecretResolver({ environment: { EMPTY: "" } });
    await expect(resolve("env:NOPE")).rejects.toThrow("env:NOPE is not set");
    await expect(resolve("env:EMPTY")).rejects.toThrow("env:EMPTY is not set");
    await expect(resolve(`file:${directory}/nope`)).rejects.toThrow(`file:${directory}/nope cannot be opened (ENOENT)`);
    const pasted: unknown = await resolve("AKIA-pasted-secret").catch((error: unknown) => error);
    expect(JSON.stringify(pasted) + String(pasted)).not.toContain("AKIA-pasted-secret");
  });
});
