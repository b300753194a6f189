/** Official clients of both eras for a server of ours, over streams in this process or over HTTP; all closed when the test is over. */
import { PassThrough } from "node:stream";
import { createInterface } from "node:readline";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { ClientOptions, JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { onTestFinished } from "vitest";
import { type Runtime, createRuntime, type RuntimeOptions } from "../../src/runtime/runtime.ts";
import { listenMcp, serveMcpStdio } from "../../src/server/mcp.ts";
import type { McpListenOptions, McpListener, McpStdioOptions, McpStdioServer } from "../../src/server/mcp.ts";
import { MemoryLog } from "../../src/testing/fake-ports.ts";

export const ERAS = ["legacy", "modern"] as const;
export type Era = (typeof ERAS)[number];

/** Everything a client may be asked for. */
const ABLE: NonNullable<ClientOptions["capabilities"]> = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

export interface OpenRuntime {
  readonly runtime: Runtime;
  readonly log: MemoryLog;
}

export async function openRuntime(options: RuntimeOptions): Promise<OpenRuntime> {
  const log = new MemoryLog();
  const runtime = createRuntime({ ...options, ports: { log, ...options.ports } });
  onTestFinished(async () => void (await runtime.close()));
  await runtime.open();
  return { runtime, log };
}

function clientOf(era: Era, capabilities: ClientOptions["capabilities"] = ABLE): Client {
  const mode = era === "legacy" ? "legacy" : { pin: "2026-07-28" };
  return new Client({ name: "test", version: "1.0.0" }, { capabilities, versionNegotiation: { mode } });
}

export interface StdioPair {
  readonly client: Client;
  readonly server: McpStdioServer;
  /** Everything the server wrote. */
  readonly lines: readonly JSONRPCMessage[];
  /** Ends the server's input, as a client does that goes away. */
  hangUp(): void;
}

/** A client that is connected to a server of its own. */
export async function overStdio(
  runtime: Runtime,
  { era, capabilities, ...options }: McpStdioOptions & { readonly era: Era; readonly capabilities?: ClientOptions["capabilities"] },
): Promise<StdioPair> {
  const input = new PassThrough();
  const output = new PassThrough();
  const server = await serveMcpStdio(runtime, { graceMs: 0, ports: { log: new MemoryLog() }, ...options, input, output });
  onTestFinished(() => server.close());
  const client = clientOf(era, capabilities);
  const transport = new StreamTransport(output, input);
  await client.connect(transport);
  onTestFinished(() => client.close());
  return { client, server, lines: transport.lines, hangUp: () => void input.end() };
}

export async function listening(runtime: Runtime, options: Partial<McpListenOptions> = {}): Promise<McpListener> {
  const listener = await listenMcp(runtime, { port: 0, graceMs: 0, ports: { log: new MemoryLog() }, ...options });
  onTestFinished(() => listener.close());
  return listener;
}

export interface HttpClientOptions {
  readonly era: Era;
  readonly capabilities?: ClientOptions["capabilities"];
  readonly headers?: Readonly<Record<string, string>>;
}

export async function overHttp(url: string, { era, capabilities, headers = {} }: HttpClientOptions): Promise<Client> {
  const client = clientOf(era, capabilities);
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  onTestFinished(() => client.close());
  return client;
}

/** One message a line, over streams of this process. */
class StreamTransport implements Transport {
  onclose?: () => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly lines: JSONRPCMessage[] = [];
  readonly #from: PassThrough;
  readonly #to: PassThrough;

  constructor(from: PassThrough, to: PassThrough) {
    this.#from = from;
    this.#to = to;
  }

  async start(): Promise<void> {
    createInterface({ input: this.#from }).on("line", (line) => {
      const message: JSONRPCMessage = JSON.parse(line);
      this.lines.push(message);
      this.onmessage?.(message);
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.#to.write(`${JSON.stringify(message)}\n`);
  }

  async close(): Promise<void> {
    this.#to.end();
    this.onclose?.();
  }
}
