import { createConnection } from "node:net";
import { freePort, type ServerProcess, startProcess } from "./process.ts";

export interface RedisServer extends ServerProcess {
  readonly url: string;
  readonly port: number;
}

/** A real redis-server on loopback, nothing persisted. `port` re-uses one, for tests that restart it. */
export async function startRedis(
  options: { readonly port?: number; readonly settings?: readonly string[] } = {},
): Promise<RedisServer> {
  const port = options.port ?? (await freePort());
  const settings = options.settings ?? ["--maxmemory-policy", "noeviction"];
  const server = await startProcess(
    "redis-server",
    ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", ...settings],
    {},
    () => ping(port),
  );
  return { ...server, port, url: `redis://127.0.0.1:${port}` };
}

function ping(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ port, host: "127.0.0.1" }, () => socket.write("PING\r\n"));
    socket.once("error", reject);
    socket.once("data", (data) => {
      socket.destroy();
      resolve(data.toString().startsWith("+PONG"));
    });
  });
}
