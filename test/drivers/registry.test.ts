import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { pathToFileURL } from "node:url";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { DestinationBinding, DriverEnvironment } from "../../drivers/destination-binding.ts";
import { checkDestination, createDriver, transportNames } from "../../drivers/registry.ts";

const environment: DriverEnvironment = {
  spoolDirectory: tmpdir(),
  secret: async () => {
    throw new Error("no secret is needed here");
  },
};
const local: DestinationBinding = {
  transport: "local_fs",
  verification_path: "producer",
  settings: { location: "file:///srv/reports", format: "jsonl", compression: "gzip" },
};

describe("driver registry", () => {
  afterEach(() => vi.doUnmock("../../drivers/file-transfer/local/driver.ts"));

  it("knows transports by their wire words", () => {
    expect(transportNames).toContain("local_fs");
  });

  it("makes a driver of its own for each call", async () => {
    const root = await mkdtemp(`${tmpdir()}/waybill-registry-`);
    const binding = { ...local, settings: { ...local.settings, location: pathToFileURL(root).href } };
    const one = await createDriver(binding, environment);
    const two = await createDriver(binding, environment);
    expect(one).not.toBe(two);
    expect(one.traits).toMatchObject({
      transport: "local_fs",
      method: "file_transfer",
      verificationPaths: ["producer"],
    });
    await one.close();
    await two.close();
    await rm(root, { recursive: true });
  });

  it("tells every problem of the settings, and makes no driver with one", async () => {
    const binding = { ...local, settings: { format: "xml", location: 1, other: true } };
    const problems = await checkDestination(binding);
    expect(problems.map(({ field }) => field).sort()).toEqual([
      "settings.compression",
      "settings.format",
      "settings.location",
      "settings.other",
    ]);
    await expect(createDriver(binding, environment)).rejects.toMatchObject({
      name: "WaybillError",
      kind: "usage",
      problems,
    });
  });

  for (const transport of ["ftp", "", "constructor", "__proto__"]) {
    it(`does not know the transport ${JSON.stringify(transport)}`, async () => {
      const problems = await checkDestination({ ...local, transport });
      expect(problems).toMatchObject([{ code: "UNKNOWN_TRANSPORT", field: "transport" }]);
      await expect(createDriver({ ...local, transport }, environment)).rejects.toMatchObject({ kind: "usage" });
    });
  }

  it("loads a transport's folder when it is first used, not before", async () => {
    const load = vi.fn(() => ({
      localTransport: { checkDestination: () => [], createDriver: async () => "a driver" },
    }));
    vi.resetModules();
    vi.doMock("../../drivers/file-transfer/local/driver.ts", load);
    const registry = await import("../../drivers/registry.ts");
    await registry.checkDestination({ ...local, transport: "ftp" });
    expect(load).not.toHaveBeenCalled();
    expect(await registry.createDriver(local, environment)).toBe("a driver");
    expect(load).toHaveBeenCalledTimes(1);
  });
});
