import { execFile } from "node:child_process";
import { readFile, readlink } from "node:fs/promises";
import { hostname } from "node:os";
import { promisify } from "node:util";

/** One process, told apart from a later one that got the same number. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When it started, in whatever words the system has for it; "" where it has none. */
  readonly startedAt: string;
  /** Where `pid` means something. `boot` and `namespace` are "" where the system has no such thing. */
  readonly host: string;
  readonly boot: string;
  readonly namespace: string;
}

/** This process. */
export async function ownIdentity(): Promise<ProcessIdentity> {
  const [startedAt, boot, namespace] = await Promise.all([
    startOf(process.pid),
    readFile("/proc/sys/kernel/random/boot_id", "latin1").catch(() => ""),
    readlink("/proc/self/ns/pid").catch(() => ""),
  ]);
  return { pid: process.pid, startedAt: startedAt ?? "", host: hostname(), boot: boot.trim(), namespace };
}

/** Whether that process still runs. "elsewhere": its number belongs to another host or container, so nobody here can tell. */
export async function lifeOf(identity: ProcessIdentity): Promise<"alive" | "dead" | "elsewhere"> {
  const own = await ownIdentity();
  const sameBoot = identity.boot === own.boot && identity.namespace === own.namespace;
  // A laptop changes its host name with its network, but not its boot id.
  if (!sameBoot || (own.boot === "" && identity.host !== own.host)) {
    return identity.host === own.host && identity.boot !== own.boot ? "dead" : "elsewhere";
  }
  const startedAt = await startOf(identity.pid);
  return startedAt !== undefined && startedAt === identity.startedAt ? "alive" : "dead";
}

/** Undefined when there is no such process, or only its exit status is left. */
async function startOf(pid: number): Promise<string | undefined> {
  if (process.platform === "linux") return await startFromProc(pid);
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it runs, as another user.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return undefined;
  }
  try {
    return (await promisify(execFile)("ps", ["-o", "lstart=", "-p", String(pid)])).stdout.trim();
  } catch {
    return "";
  }
}

async function startFromProc(pid: number): Promise<string | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "latin1");
    // The command name in parentheses may hold anything, so count fields from its end: state is the first, start time the twentieth.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" || fields[0] === "X" ? undefined : fields[19];
  } catch {
    return undefined;
  }
}
