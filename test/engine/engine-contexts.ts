/** What a runtime hands to an engine, as small as it can be. */
import type { ToolContext } from "../../src/core/context.ts";
import type { EngineContext, EngineRequest } from "../../src/core/engine.ts";
import type { JsonObject } from "../../src/core/base/json.ts";
import type { Tool } from "../../src/core/tool.ts";
import { systemPorts } from "../../src/core/system/system-ports.ts";
import { MemoryLog } from "../../src/testing/fake-ports.ts";

export function engineContext(options: Partial<EngineContext> = {}): EngineContext {
  return {
    toolset: options.toolset ?? "strange",
    signal: options.signal ?? new AbortController().signal,
    log: options.log ?? new MemoryLog(),
    clock: systemPorts.clock,
    changed: () => undefined,
    ...options,
  };
}

export function toolContext(options: Partial<ToolContext> = {}): ToolContext {
  return {
    callId: "call_1",
    toolName: "strange::tool",
    tool: { name: "tool", description: "", inputSchema: true },
    agentName: undefined,
    workingFolder: "/",
    resolvePath: (path) => path,
    environment: {},
    sessionId: "session_1",
    turnId: "turn_1",
    attempt: 1,
    idempotencyKey: "haft_test",
    simulated: false,
    history: [],
    isShown: () => true,
    execute: () => {
      throw new Error("No runtime runs this call.");
    },
    output: () => undefined,
    partial: () => undefined,
    signal: new AbortController().signal,
    deadline: Infinity,
    state: { get: () => undefined, update: () => undefined },
    toolState: { get: () => undefined, update: () => undefined },
    data: {},
    ask: () => Promise.resolve({ action: "cancel" }),
    progress: () => undefined,
    log: () => undefined,
    ...options,
  };
}

export function request(name: string, input: JsonObject = {}): EngineRequest {
  return requestOf({ name, description: "", inputSchema: true }, input);
}

export function requestOf(tool: Tool, input: JsonObject = {}): EngineRequest {
  return { tool, input, parsed: input };
}
