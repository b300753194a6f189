/** One call of an MCP tool over stdio and over HTTP: Haft beside the official client alone, against the same server. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { mcpEngine, type McpOptions } from "../src/engine/mcp.ts";
import { createRuntime } from "../src/index.ts";
import { goal, measure, median, printTable, type Contestant } from "./measure.ts";
import { INPUT } from "./workload.ts";

const MAX_RATIO = 1.2;
const CPU_ROUNDS = 9;
const CPU_CALLS = 500;
const SERVER = fileURLToPath(new URL("mcp-server.ts", import.meta.url));
const BARE = "official client";

type Transport = Parameters<Client["connect"]>[0];

interface Ends {
  readonly contestant: Contestant;
  readonly close: () => Promise<unknown>;
}

export async function printMcp(): Promise<void> {
  const command = { command: process.execPath, args: [SERVER, "stdio"] };
  await compare("One call of an MCP tool over stdio", new StdioClientTransport(inOwnSession(command)), command);
  const child = spawn(process.execPath, [SERVER, "http"], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const port = await new Promise<string>((resolve) => child.stdout.once("data", (text: Buffer) => resolve(text.toString().trim())));
    const url = `http://127.0.0.1:${port}/mcp`;
    await compare("One call of an MCP tool over loopback HTTP", new StreamableHTTPClientTransport(new URL(url)), {
      url,
      transport: "http",
    });
  } finally {
    child.kill();
  }
}

/**
 * Haft starts a server in a session of its own, to end it with all it started. On a busy machine Linux lets sessions wait for each other
 * (sched(7), "The autogroup feature"), so the official client's server gets one, too.
 */
function inOwnSession(command: { readonly command: string; readonly args: readonly string[] }): { command: string; args: string[] } {
  if (process.platform !== "linux") return { command: command.command, args: [...command.args] };
  return { command: "setsid", args: [command.command, ...command.args] };
}

async function compare(title: string, transport: Transport, options: McpOptions): Promise<void> {
  const ends = [await bareClient(transport), await haft(options)];
  try {
    for (const { contestant } of ends) for (let warmUp = 0; warmUp < 200; warmUp++) await contestant.run();
    const timings = await measure(
      ends.map(({ contestant }) => contestant),
      { rounds: 15, roundMs: 300 },
    );
    printTable(title, timings, BARE);
    const ratio = (timings[1]?.medianUs ?? Number.NaN) / (timings[0]?.medianUs ?? Number.NaN);
    console.log(`  ${goal(`≤ ${MAX_RATIO} × the official client`, ratio <= MAX_RATIO)}`);
    await printProcessorTime(ends.map(({ contestant }) => contestant));
  } finally {
    for (const { close } of ends) await close();
  }
}

/** What this process itself spends on a call: unlike the time above, it hardly grows when the machine has other things to do. */
async function printProcessorTime(contestants: readonly Contestant[]): Promise<void> {
  const samples = contestants.map((): number[] => []);
  for (let round = 0; round < CPU_ROUNDS; round++) {
    for (const [index, { run }] of contestants.entries()) {
      const before = process.cpuUsage();
      for (let call = 0; call < CPU_CALLS; call++) await run();
      const { user, system } = process.cpuUsage(before);
      samples[index]?.push((user + system) / CPU_CALLS);
    }
  }
  const [bare = Number.NaN, haft = Number.NaN] = samples.map(median);
  console.log(
    `  Processor time of this process for one call: ${bare.toFixed(0)} µs by the official client, ${haft.toFixed(0)} µs by Haft, ${(haft / bare).toFixed(2)} ×`,
  );
}

async function bareClient(transport: Transport): Promise<Ends> {
  const client = new Client({ name: "bench", version: "0" }, { versionNegotiation: { mode: "auto" } });
  await client.connect(transport);
  await client.listTools();
  const run = async (): Promise<void> => {
    const answer = await client.callTool({ name: "order", arguments: INPUT });
    if (answer.isError === true) throw new Error(JSON.stringify(answer.content));
  };
  return {
    contestant: { name: BARE, note: `callTool, protocol ${client.getNegotiatedProtocolVersion() ?? "unknown"}`, run },
    close: () => client.close(),
  };
}

async function haft(options: McpOptions): Promise<Ends> {
  const runtime = createRuntime({ toolsets: [{ name: "shop", engine: mcpEngine(options) }], strict: true });
  await runtime.open();
  const call = { id: "c", name: "shop::order", input: INPUT };
  const run = async (): Promise<void> => {
    const { status, error } = await runtime.execute(call);
    if (status !== "ok") throw new Error(error?.message);
  };
  return {
    contestant: { name: "Haft", note: "execute: input validated, deadline, lock", run },
    close: () => runtime.close(),
  };
}
