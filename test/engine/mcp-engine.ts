/** Opens engines on real and strange servers for one test, and closes them behind it. */
import { fileURLToPath } from "node:url";
import { onTestFinished, vi } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import type { Engine } from "../../src/core/engine.ts";
import type { Tool } from "../../src/core/tool.ts";
import { mcpEngine, type McpCommandOptions } from "../../src/engine/mcp.ts";
import { MemoryLog } from "../../src/testing/fake-ports.ts";
import { engineContext } from "./engine-contexts.ts";

export interface OpenEngine {
  readonly engine: Engine;
  readonly tools: readonly Tool[];
  readonly log: MemoryLog;
}

const STRANGE = fileURLToPath(new URL("../fixtures/strange-server.mjs", import.meta.url));

/** Not opened yet. @param behaviour how the server of `fixtures/strange-server.mjs` behaves, and the arguments of that */
export function strangeServerEngine(behaviour: string, options: Partial<McpCommandOptions> = {}): Engine {
  const engine = mcpEngine({ command: process.execPath, args: [STRANGE, ...behaviour.split(" ")], ...options });
  onTestFinished(() => engine.close?.());
  return engine;
}

export async function openStrange(behaviour = "good", options: Partial<McpCommandOptions> = {}): Promise<OpenEngine> {
  return await opened(strangeServerEngine(behaviour, options), "strange");
}

/** A reference server, as the registry publishes it. */
export async function openReference(
  server: "everything" | "filesystem" | "memory",
  options: Partial<McpCommandOptions> = {},
): Promise<OpenEngine> {
  const script = fileURLToPath(new URL(`../../node_modules/@modelcontextprotocol/server-${server}/dist/index.js`, import.meta.url));
  const engine = mcpEngine({ command: process.execPath, ...options, args: [script, ...(options.args ?? [])] });
  onTestFinished(() => engine.close?.());
  return await opened(engine, server);
}

async function opened(engine: Engine, toolset: string): Promise<OpenEngine> {
  const log = new MemoryLog();
  const tools = (await engine.open?.(engineContext({ toolset, log }))) ?? [];
  return { engine, tools, log };
}

/** The ToolError a promise rejects with, as data. */
export async function rejection(promise: unknown): Promise<unknown> {
  try {
    await promise;
  } catch (error: unknown) {
    return error instanceof ToolError ? error.toJSON() : error;
  }
  return "it did not reject";
}

/** Waits until a process is gone; a zombie that nobody has reaped counts as gone. */
export async function gone(pid: number): Promise<void> {
  const { readFileSync } = await import("node:fs");
  await vi.waitFor(
    () => {
      try {
        process.kill(pid, 0);
      } catch {
        return;
      }
      if (/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"))) return;
      throw new Error(`process ${pid} still runs`);
    },
    { timeout: 5_000, interval: 20 },
  );
}
