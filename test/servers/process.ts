import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { createServer } from "node:net";

/** A free loopback port. Another process may take it before it is used; starters retry. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() =>
        address !== null && typeof address === "object" ? resolve(address.port) : reject(new Error("no port")),
      );
    });
  });
}

export interface ServerProcess {
  readonly child: ChildProcess;
  /** Ends the process and waits for it. SIGKILL is for tests of crashes. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** Starts a server and waits until `ready` resolves true; its output is kept for the error when it does not. */
export async function startProcess(
  command: string,
  parameters: readonly string[],
  options: SpawnOptions,
  ready: () => Promise<boolean>,
): Promise<ServerProcess> {
  const child = spawn(command, parameters, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  child.stdout?.on("data", (data) => (output += data));
  child.stderr?.on("data", (data) => (output += data));
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const onParentExit = (): void => void child.kill("SIGKILL");
  process.once("exit", onParentExit);
  const deadline = Date.now() + 30_000;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode}:\n${output.slice(-2000)}`);
    if (await ready().catch(() => false)) break;
    if (Date.now() > deadline) {
      child.kill("SIGKILL");
      throw new Error(`${command} was not ready in 30 s:\n${output.slice(-2000)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return {
    child,
    async stop(signal = "SIGTERM") {
      process.removeListener("exit", onParentExit);
      child.kill(signal);
      await exited;
    },
  };
}
