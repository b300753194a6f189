import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, vi } from "vitest";
import { type ToolResult, resultText } from "../../src/core/result.ts";
import type { Tool } from "../../src/core/tool.ts";
import { mcpEngine } from "../../src/engine/mcp.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { MemoryLog } from "../../src/testing/fake-ports.ts";
import { liveTools } from "../fixtures/live-tools.ts";
import { bundledProgram } from "../bundled-program.ts";
import { inCI } from "../ci.ts";
import { testInCI } from "../test-in-ci.ts";

const HOST = bundledProgram("fixtures/fleet-host");
const SERVER = fileURLToPath(new URL("../fixtures/fleet-server.mjs", import.meta.url));
/** The whole fleet where a machine has nothing else to do. */
const SIZE = inCI ? 70 : 5;
/** One in so many servers ends itself in every third call. */
const CRASHING = 5;
const CALLS = 7;
const KILLS = 2;
const OWN_TOOLS = 1;

interface Server {
  readonly name: string;
  readonly tools: readonly Tool[];
  readonly crashes: boolean;
}

/** What every server has besides: the tools of real ones want inputs. */
const PING: Tool = { name: "ping", description: "Says who is there.", inputSchema: { type: "object" } };

/** Real servers' tools where they are at hand, and made-up ones otherwise. */
function fleet(): readonly Server[] {
  const live = [...liveTools()];
  return Array.from({ length: SIZE }, (_, at) => {
    const [name, tools] = live[at] ?? [`server-${at}`, madeUpTools(at)];
    return { name, tools: [...tools, PING], crashes: at % CRASHING === CRASHING - 1 };
  });
}

function madeUpTools(at: number): readonly Tool[] {
  return ["search", "read", `only-${at}`].map((name) => ({ name, description: `Does ${name}.`, inputSchema: { type: "object" } }));
}

/** The processes that were started with something of this folder, whoever their parent is now. */
function processesOf(folder: string): readonly string[] {
  return readdirSync("/proc").filter((entry) => {
    if (!/^\d+$/u.test(entry)) return false;
    try {
      return readFileSync(`/proc/${entry}/cmdline`, "utf8").includes(folder);
    } catch {
      return false; // it has ended meanwhile
    }
  });
}

function summary(result: ToolResult): string {
  return result.error === undefined ? resultText(result) : result.error.code;
}

/** A folder with a file of tools for each server, removed behind the test. */
function prepareFleet(): Fleet {
  const folder = mkdtempSync(join(tmpdir(), "haft-fleet-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const servers = fleet().map((server, at) => {
    const file = join(folder, `${at}.json`);
    writeFileSync(file, JSON.stringify(server.tools));
    return { ...server, args: [SERVER, file, server.name, ...(server.crashes ? ["3"] : [])] };
  });
  return { folder, servers };
}

interface Fleet {
  readonly folder: string;
  readonly servers: readonly (Server & { readonly args: readonly string[] })[];
}

describe.skipIf(process.platform !== "linux")(`a fleet of ${SIZE} servers (Linux only)`, () => {
  testInCI(
    "L19 D03 D10 runs in one runtime: names stay distinct, a crash affects only its server, and no process is left",
    { timeout: 300_000 },
    async () => {
      const { folder, servers } = prepareFleet();
      const runtime = createRuntime({
        ports: { log: new MemoryLog() },
        circuit: false,
        toolsets: servers.map(({ name, args }) => ({
          name,
          engine: mcpEngine({ command: process.execPath, args }),
          openTimeoutMs: 60_000,
        })),
      });
      onTestFinished(async () => void (await runtime.close()));

      const report = await runtime.open();
      const running = processesOf(folder).length;
      const owners = servers.flatMap(({ name, tools }) =>
        tools.map((tool) => runtime.registry.require(`${name}::${tool.name}`).toolset.name),
      );
      const results = await Promise.all(servers.map((server) => callInTurn(runtime, server)));
      const closing = await runtime.close();

      expect(report).toEqual({ opened: servers.map(({ name }) => name), failed: [] });
      expect(running).toBeGreaterThanOrEqual(SIZE);
      expect(runtime.registry.size).toBe(servers.reduce((sum, { tools }) => sum + tools.length, 0) + OWN_TOOLS);
      expect(owners).toEqual(servers.flatMap(({ name, tools }) => tools.map(() => name)));
      expect(results).toEqual(servers.map(expectedAnswers));
      expect(closing).toEqual([]);
      await vi.waitFor(() => expect(processesOf(folder)).toEqual([]), { timeout: 5_000 });
    },
  );

  testInCI(`L19 D10 leaves no process when its host is killed, ${KILLS} times`, { timeout: 300_000 }, async () => {
    const { folder, servers } = prepareFleet();
    const file = join(folder, "fleet.json");
    writeFileSync(file, JSON.stringify(servers.map(({ name, args }) => ({ name, args }))));
    for (let kill = 0; kill < KILLS; kill++) {
      const host = spawn(process.execPath, [HOST, file], { stdio: ["ignore", "pipe", "inherit"] });
      onTestFinished(() => void host.kill("SIGKILL"));
      const said = await new Promise<string>((resolve) => host.stdout.once("data", (chunk: Buffer) => resolve(chunk.toString())));
      const running = processesOf(folder).length;

      host.kill("SIGKILL");

      expect([said, running > SIZE]).toEqual([JSON.stringify({ opened: SIZE, failed: 0 }), true]);
      await vi.waitFor(() => expect(processesOf(folder)).toEqual([]), { timeout: 5_000 });
    }
  });
});

/** Calls of one server, one after the other. */
async function callInTurn(runtime: ReturnType<typeof createRuntime>, { name }: Server): Promise<readonly string[]> {
  const answers: string[] = [];
  for (let call = 0; call < CALLS; call++) answers.push(summary(await runtime.execute({ name: `${name}::${PING.name}` })));
  return answers;
}

function expectedAnswers({ name, crashes }: Server): readonly string[] {
  return Array.from({ length: CALLS }, (_, at) => (crashes && at % 3 === 2 ? "network_error" : `${name} answers ${PING.name}`));
}
