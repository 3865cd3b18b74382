import { randomBytes } from "node:crypto";
import type { ByteSource } from "../../core/bytes.ts";
import { sha256Hex } from "../../core/digest/node-hasher.ts";
import { DeliveryError } from "../../core/errors.ts";
import { type FailureCode, failureTable } from "../../core/failure-table.ts";
import type { DestinationCheck, DestinationProof } from "../../core/model/destination-proof.ts";
import type { Attempt } from "../driver.ts";
import { objectKey } from "./layout.ts";
import type { ObjectStore, PutOptions } from "./object-store.ts";
import { type CheckName, type FixFor, generalFix } from "./proof-fixes.ts";
import { compareStored } from "./stored-content.ts";

/** The identity that reads as the buyer does. */
export interface ConsumerIdentity {
  /**
   * Whether it is another one than the seller's; undefined when that cannot be told. Absent: the transport reads with the process's own
   * identity over another path, so what it may write says nothing about the buyer.
   */
  differs?(): Promise<boolean | undefined>;
}

export interface DestinationToProve {
  readonly writer: ObjectStore;
  openReader(): ObjectStore;
  /** Present when the read-back claims to be the buyer's. */
  readonly consumer: ConsumerIdentity | undefined;
  readonly fixFor: FixFor;
  readonly attempt: Attempt;
}

/** undefined: passed. unknown: there is no way to tell. Else why it failed. */
type Verdict = undefined | "unknown" | FailureCode;

/** Long enough for a few removals, also when the run itself was cut off. Ms. */
const cleanUpMs = 10_000;
/** How a store may refuse a body whose hash is another one: its own words for it, or our check of the body. */
const refusals: readonly FailureCode[] = ["REVISION_UNREADABLE", "DESTINATION_UNREACHABLE", "CONFIGURATION_INVALID"];
const names = ["created", "damaged", "misdeclared", "written-by-reader"] as const;

/**
 * Tests the promises that delivery depends on, with objects in a folder of its own below `waybill-probe/` that nothing else shares, and
 * removes them in any case; those of a proof that was killed go with the next one of the same attempt, or after an hour. A failed write leaves the rest untested; other failures do not hide each other.
 */
export async function proveDestination(place: DestinationToProve): Promise<DestinationProof> {
  const { attempt, consumer } = place;
  const folder = `${probeFolder}/${ownerOf(attempt)}-${attempt.nowUs() / 1_000_000n}-${randomBytes(8).toString("hex")}`;
  const key = (name: (typeof names)[number]): string => objectKey(folder, name);
  const first = bodyOf(`waybill probe ${folder}\n`);
  const other = bodyOf(`another probe ${folder}\n`);
  const put = (more: Partial<PutOptions> = {}): PutOptions => ({
    contentType: "text/plain; charset=utf-8",
    attemptKey: attempt.key,
    signal: attempt.signal,
    ...more,
  });
  const reader = place.openReader();
  const checks: DestinationCheck[] = [];
  let failureCode: FailureCode | null = null;

  const check = async (name: CheckName, test: () => Promise<Verdict>): Promise<void> => {
    const verdict = await test().catch((error: unknown) => codeOf(error, attempt.signal));
    if (verdict === undefined) checks.push({ name, outcome: "pass", fix: null });
    else if (verdict === "unknown") checks.push({ name, outcome: "unknown", fix: null });
    else {
      failureCode ??= verdict;
      checks.push({ name, outcome: "fail", fix: place.fixFor(name, verdict) ?? generalFix(name, verdict) });
    }
  };

  const write = async (): Promise<Verdict> => {
    const { outcome } = await place.writer.putIfAbsent(key("created"), first, put());
    if (outcome !== "created") return "DESTINATION_UNSAFE";
    return await holds(place.writer, key("created"), first, attempt);
  };
  const createOnly = async (): Promise<Verdict> => {
    const { outcome } = await place.writer.putIfAbsent(key("created"), other, put({ lookFirst: false }));
    if (outcome !== "exists") return "DESTINATION_UNSAFE";
    return await holds(place.writer, key("created"), first, attempt);
  };
  const checksum = async (): Promise<Verdict> => {
    const damaged = { ...other, sha256: first.sha256 };
    if (!(await isRefused(place.writer, key("damaged"), damaged, put()))) return "DESTINATION_UNSAFE";
    if (place.writer.sendsChecksum !== true) return undefined;
    const misdeclared = put({ declaredSha256: first.sha256 });
    return (await isRefused(place.writer, key("misdeclared"), other, misdeclared)) ? undefined : "DESTINATION_UNSAFE";
  };
  const readBack = async (): Promise<Verdict> => {
    try {
      const found = await compareStored(reader, key("created"), first, attempt);
      if (found.state === "absent") return "NOT_YET_VISIBLE";
      return found.state === "equal" ? undefined : "DESTINATION_UNSAFE";
    } catch (error) {
      if (error instanceof DeliveryError && error.code === "DESTINATION_FORBIDDEN") return "READER_FORBIDDEN";
      throw error;
    }
  };
  const identitiesDiffer = async (): Promise<Verdict> => {
    const differs = await consumer?.differs?.();
    if (differs === undefined) return "unknown";
    return differs ? undefined : "CONFIGURATION_INVALID";
  };
  const readerCannotWrite = async (): Promise<Verdict> => {
    try {
      await reader.putIfAbsent(key("written-by-reader"), other, put({ lookFirst: false }));
      return consumer?.differs === undefined ? "unknown" : "DESTINATION_UNSAFE";
    } catch (error) {
      if (error instanceof DeliveryError && error.code === "DESTINATION_FORBIDDEN") return undefined;
      throw error;
    }
  };
  const rest: readonly (readonly [CheckName, () => Promise<Verdict>])[] = [
    // First, while nothing that a lying place could do to the probe was tried.
    ["read_back", readBack],
    ["create_only", createOnly],
    ["checksum", checksum],
    ...(consumer === undefined
      ? []
      : ([
          ["identities_differ", identitiesDiffer],
          ["reader_cannot_write", readerCannotWrite],
        ] as const)),
  ];

  let completed = false;
  try {
    await removeAbandoned(place.writer, attempt);
    await check("write", write);
    const tested = failureCode === null;
    for (const [name, test] of rest) await check(name, tested ? test : async () => "unknown");
    completed = true;
  } finally {
    await reader.close();
    const removed = await removeAll(place.writer, names.map(key));
    // Where nothing could be written, a failed removal says nothing new.
    const written = checks[0]?.outcome === "pass";
    if (completed && written) checks.push(cleanedUp(removed, place.fixFor));
  }
  return { outcome: failureCode === null ? "pass" : "fail", failure_code: failureCode, checks };
}

const probeFolder = "waybill-probe";
const abandonedAfterSeconds = 3600n;

/** Names whose proof a probe is: the attempt's key without its lease generation, which a takeover raises. */
function ownerOf({ key }: Attempt): string {
  return `p${sha256Hex(new TextEncoder().encode(key.replace(/\.\d+$/, ""))).slice(0, 12)}`;
}

/** Removes what killed proofs left. A place that may not be listed keeps it: that is no reason to refuse the place. */
async function removeAbandoned(store: ObjectStore, attempt: Attempt): Promise<void> {
  const { signal } = attempt;
  const nowSeconds = attempt.nowUs() / 1_000_000n;
  const dead: string[] = [];
  try {
    for await (const { key } of store.list(probeFolder, { signal })) {
      const [owner, started] = key.slice(probeFolder.length + 1).split("-");
      const old = /^\d+$/.test(started ?? "") && nowSeconds - BigInt(started ?? "0") > abandonedAfterSeconds;
      if (owner === ownerOf(attempt) || old) dead.push(key);
    }
    for (const key of dead) await store.remove(key, { signal });
    await store.collectLeftovers(probeFolder, {
      signal,
      startedBeforeUs: attempt.nowUs() - abandonedAfterSeconds * 1_000_000n,
    });
  } catch {
    signal.throwIfAborted();
  }
}

/** What stands at the key must be these bytes, all of them read. */
async function holds(store: ObjectStore, key: string, body: ByteSource, { signal }: Attempt): Promise<Verdict> {
  const { state } = await compareStored(store, key, body, { signal });
  return state === "equal" ? undefined : "DESTINATION_UNSAFE";
}

/** Whether a put was refused and left nothing behind. A connection that was cut may be the refusal; a look afterwards tells. */
async function isRefused(store: ObjectStore, key: string, body: ByteSource, put: PutOptions): Promise<boolean> {
  try {
    await store.putIfAbsent(key, body, put);
    return false;
  } catch (error) {
    if (!(error instanceof DeliveryError) || !refusals.includes(error.code)) throw error;
  }
  return (await store.stat(key, { signal: put.signal })) === undefined;
}

/** A failure of the destination as its code. Trouble that may pass, and an abort, say nothing about the destination and are thrown on. */
function codeOf(error: unknown, signal: AbortSignal): FailureCode {
  signal.throwIfAborted();
  if (!(error instanceof DeliveryError) || failureTable[error.code].next === "retry") throw error;
  return error.code;
}

/** Its own signal: the probe must also go when the reason to stop is that ours was aborted. Undefined: all of it is gone. */
async function removeAll(store: ObjectStore, keys: readonly string[]): Promise<FailureCode | undefined> {
  const signal = AbortSignal.timeout(cleanUpMs);
  let failure: FailureCode | undefined;
  for (const key of keys) {
    await store.remove(key, { signal }).catch((error: unknown) => {
      failure ??= error instanceof DeliveryError ? error.code : "INTERNAL";
    });
  }
  return failure;
}

/** Never a reason to refuse: places that keep everything (object lock) are good places. */
function cleanedUp(failure: FailureCode | undefined, fixFor: FixFor): DestinationCheck {
  if (failure === undefined) return { name: "clean_up", outcome: "pass", fix: null };
  return {
    name: "clean_up",
    outcome: "unknown",
    fix: fixFor("clean_up", failure) ?? generalFix("clean_up", failure),
  };
}

function bodyOf(text: string): ByteSource {
  const bytes = new TextEncoder().encode(text);
  return {
    sizeBytes: bytes.length,
    sha256: sha256Hex(bytes),
    async *open() {
      yield bytes;
    },
  };
}
