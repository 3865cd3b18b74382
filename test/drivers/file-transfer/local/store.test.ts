import { mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodeFileSystem } from "../../../../drivers/file-transfer/local/file-system.ts";
import { createLocalStore } from "../../../../drivers/file-transfer/local/store.ts";
import { objectStoreConformance } from "../../../conformance/object-store.ts";
import { aroundFileSystem, failWhere, systemError } from "../../../faults/around.ts";

objectStoreConformance("local", async () => {
  const base = await mkdtemp(join(tmpdir(), "waybill-local-"));
  const root = join(base, "root");
  await mkdir(root);
  let unfinished = 0;
  return {
    openStore: () => createLocalStore({ root }),
    replace: (key, bytes) => writeFile(join(root, key), bytes),
    openMissing: () => createLocalStore({ root: join(base, "missing") }),
    openForbidden: () =>
      createLocalStore({
        root,
        // Tests may run as root, to whom the mode of a folder means nothing.
        fileSystem: aroundFileSystem(
          nodeFileSystem,
          failWhere(() => true, { error: () => systemError("EACCES"), times: Number.POSITIVE_INFINITY }),
        ),
      }),
    leaveUnfinished: async (folder, startedUs) => {
      await mkdir(join(root, folder), { recursive: true });
      const path = join(root, folder, `.waybill-dead-${unfinished++}.tmp`);
      await writeFile(path, "half");
      await utimes(path, Number(startedUs) / 1e6, Number(startedUs) / 1e6);
    },
    close: () => rm(base, { recursive: true, force: true }),
  };
});
