import { open } from "node:fs/promises";
import { parseSecretReference } from "../core/config/secret-reference.ts";
import { WaybillError } from "../core/errors.ts";

export interface SecretOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Folders whose files may be readable by everyone, such as a mounted secret volume. Default none. */
  readonly trustedMounts?: readonly string[];
  /** Told about a secret file that everyone may read. Names the file, never its content. */
  readonly warn?: (message: string) => void;
}

const maxSecretBytes = 64 * 1024;
const groupOrOtherWrites = 0o022;
const otherReads = 0o004;

/**
 * Resolves `env:NAME` and `file:/path` to the secret itself; one line end at the end of a file is not part of it. WaybillError `usage`
 * that names the reference, never the value. A file that others may write is refused: whoever writes it chooses the credential.
 */
export function createSecretResolver(options: SecretOptions): (reference: string) => Promise<string> {
  return async (reference) => {
    const parsed = parseSecretReference(reference);
    // The text is not repeated: someone may have put the secret itself where its reference belongs.
    if (parsed === undefined) throw problem("a secret must be given as env:NAME or file:/absolute/path");
    if (parsed.kind === "file") return await readSecretFile(parsed.path, options);
    const value = options.environment[parsed.name];
    if (value === undefined || value === "") throw problem(`env:${parsed.name} is not set`, reference);
    return value;
  };
}

async function readSecretFile(path: string, options: SecretOptions): Promise<string> {
  const reference = `file:${path}`;
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    throw problem(`${reference} cannot be opened (${error.code ?? "unknown error"})`, reference);
  });
  try {
    const facts = await file.stat();
    if (!facts.isFile()) throw problem(`${reference} is not a file`, reference);
    if ((facts.mode & groupOrOtherWrites) !== 0) {
      throw problem(`${reference} may be written by others; run chmod go-w on it`, reference);
    }
    if ((facts.mode & otherReads) !== 0 && !isBelow(path, options.trustedMounts ?? [])) {
      options.warn?.(`${reference} may be read by everyone on this machine`);
    }
    if (facts.size > maxSecretBytes) throw problem(`${reference} is larger than ${maxSecretBytes} bytes`, reference);
    const value = (await file.readFile("utf8")).replace(/\r?\n$/, "");
    if (value === "") throw problem(`${reference} is empty`, reference);
    return value;
  } finally {
    await file.close();
  }
}

function isBelow(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => path.startsWith(`${folder.replace(/\/+$/, "")}/`));
}

function problem(message: string, field?: string): WaybillError {
  return new WaybillError("usage", [{ code: "SECRET_UNRESOLVED", message, ...(field === undefined ? {} : { field }) }]);
}
