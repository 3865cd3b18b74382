import * as promises from "node:fs/promises";
import type { RetainedStore } from "../../core/rows/retained.ts";
import type { Database } from "../../core/store/sql.ts";
import type { SpoolFileSystem } from "../../workers/spool.ts";
import { type Around, aroundStream } from "./around.ts";

/** Same ledger, each statement and each whole transaction through `around`: after a transaction means committed and unanswered. */
export function aroundDatabase(db: Database, around: Around): Database {
  return {
    query: (text, parameters) => around({ method: "query", target: firstLine(text) }, () => db.query(text, parameters)),
    transaction: (work) => around({ method: "transaction", target: "" }, () => db.transaction(work)),
    script: (text) => db.script(text),
    close: () => db.close(),
  };
}

/** Same store of retained revisions, each call through `around`. */
export function aroundRetainedStore(store: RetainedStore, around: Around): RetainedStore {
  return {
    put: (retained, documents, parts) =>
      around({ method: "put", target: retained.revision.reporting_revision_id }, () =>
        store.put(retained, documents, parts),
      ),
    describe: (revisionId) => around({ method: "describe", target: revisionId }, () => store.describe(revisionId)),
    openPart: (revisionId, part) =>
      aroundStream({ method: "openPart", target: part.name }, store.openPart(revisionId, part), around),
  };
}

/** Each step of the spool on its disk through `around`. */
export function aroundSpoolFiles(around: Around): SpoolFileSystem {
  const wrap =
    <P extends readonly unknown[], R>(method: string, act: (...parameters: P) => Promise<R>) =>
    (...parameters: P): Promise<R> =>
      around({ method, target: String(parameters[0]) }, () => act(...parameters));
  // The overloads of node:fs do not survive wrapping; what is called is the same.
  return {
    lstat: wrap("lstat", promises.lstat) as SpoolFileSystem["lstat"],
    mkdir: wrap("mkdir", promises.mkdir) as SpoolFileSystem["mkdir"],
    readdir: wrap("readdir", promises.readdir) as unknown as SpoolFileSystem["readdir"],
    rename: wrap("rename", promises.rename),
    rm: wrap("rm", promises.rm),
    utimes: wrap("utimes", promises.utimes),
  };
}

function firstLine(text: string): string {
  return text.trimStart().split("\n")[0]?.slice(0, 40) ?? "";
}
