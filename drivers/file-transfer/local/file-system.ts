import * as promises from "node:fs/promises";

/** The calls to the operating system that a local store makes, so that tests can refuse or interrupt each of them. */
export interface LocalFileSystem {
  open(path: string, flags: number, mode?: number): Promise<LocalFile>;
  /** link(2): fails with EEXIST instead of replacing. */
  link(existing: string, path: string): Promise<void>;
  unlink(path: string): Promise<void>;
  mkdir(path: string): Promise<unknown>;
  rmdir(path: string): Promise<void>;
  realpath(path: string): Promise<string>;
  lstat(path: string): Promise<LocalFacts>;
  readdir(path: string, options: { readonly withFileTypes: true }): Promise<readonly LocalEntry[]>;
}

export interface LocalFile {
  write(bytes: Uint8Array, offset: number, length: number): Promise<{ readonly bytesWritten: number }>;
  read(into: Uint8Array, offset: number, length: number, position: null): Promise<{ readonly bytesRead: number }>;
  sync(): Promise<void>;
  stat(): Promise<LocalFacts>;
  close(): Promise<void>;
}

export interface LocalFacts {
  readonly size: number;
  readonly mtimeMs: number;
  isFile(): boolean;
  isDirectory(): boolean;
}

export interface LocalEntry {
  readonly name: string;
  isFile(): boolean;
  isDirectory(): boolean;
}

export const nodeFileSystem: LocalFileSystem = promises;
