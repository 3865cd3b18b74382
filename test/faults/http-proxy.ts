import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What happens to one request. `lost` lets the server act and drops the reply; `reset` never reaches the server. */
export type Fault =
  | { readonly kind: "pass" }
  | { readonly kind: "reset" }
  | { readonly kind: "lost" }
  | {
      readonly kind: "status";
      readonly status: number;
      readonly body?: string;
      readonly headers?: { readonly [name: string]: string };
    }
  | { readonly kind: "delay"; readonly milliseconds: number }
  /** Something happens at the server before it hears of this request. */
  | { readonly kind: "after"; readonly act: () => Promise<void> }
  /** The reply breaks off after that many bytes of its body. */
  | { readonly kind: "truncate"; readonly afterBytes: number };

export interface ProxiedRequest {
  /** 0-based, in order of arrival. */
  readonly number: number;
  readonly method: string;
  readonly path: string;
}

export interface HttpProxy {
  readonly url: string;
  /** Everything that arrived, in order. */
  readonly requests: readonly ProxiedRequest[];
  close(): Promise<void>;
}

/**
 * Stands between a genuine SDK and a genuine server on loopback and breaks the wire where `decide` says so. The Host header is kept as
 * the client sent it, so that signatures stay valid.
 */
export async function startHttpProxy(target: string, decide: (request: ProxiedRequest) => Fault): Promise<HttpProxy> {
  const origin = new URL(target);
  const requests: ProxiedRequest[] = [];
  const server = createServer((incoming, reply) => {
    const proxied = { number: requests.length, method: incoming.method ?? "", path: incoming.url ?? "" };
    requests.push(proxied);
    act(decide(proxied), incoming, reply, origin);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, requests, close: () => close(server) };
}

function act(fault: Fault, incoming: IncomingMessage, reply: ServerResponse, origin: URL): void {
  switch (fault.kind) {
    case "reset":
      incoming.socket.destroy();
      return;
    case "status":
      incoming.resume();
      incoming.once("end", () => reply.writeHead(fault.status, fault.headers).end(fault.body ?? ""));
      return;
    case "delay": {
      const timer = setTimeout(() => forward(incoming, reply, origin, fault), fault.milliseconds);
      reply.once("close", () => clearTimeout(timer));
      return;
    }
    case "after":
      fault.act().then(
        () => forward(incoming, reply, origin, fault),
        () => incoming.socket.destroy(),
      );
      return;
    default:
      forward(incoming, reply, origin, fault);
  }
}

function forward(incoming: IncomingMessage, reply: ServerResponse, origin: URL, fault: Fault): void {
  const outgoing = request(
    {
      host: origin.hostname,
      port: origin.port,
      method: incoming.method,
      path: incoming.url,
      headers: incoming.headers,
    },
    (answer) => {
      if (fault.kind === "lost") {
        // The whole answer is awaited first: the server has acted, and only then does the client lose it.
        answer.resume();
        answer.once("end", () => incoming.socket.destroy());
        return;
      }
      reply.writeHead(answer.statusCode ?? 502, answer.headers);
      if (fault.kind === "truncate") return truncate(answer, incoming, reply, fault.afterBytes);
      answer.pipe(reply);
    },
  );
  outgoing.once("error", () => incoming.socket.destroy());
  reply.once("close", () => outgoing.destroy());
  incoming.pipe(outgoing);
}

function truncate(answer: IncomingMessage, incoming: IncomingMessage, reply: ServerResponse, afterBytes: number): void {
  let left = afterBytes;
  answer.on("data", (chunk: Buffer) => {
    if (left <= 0) return;
    reply.write(chunk.subarray(0, left), () => {
      if (left <= 0) incoming.socket.destroy();
    });
    left -= chunk.length;
  });
}

function close(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
