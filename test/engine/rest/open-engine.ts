/** A REST engine over a document made for one test, opened as a runtime opens it. */
import { onTestFinished } from "vitest";
import type { Engine, EngineContext } from "../../../src/core/engine.ts";
import { ToolError } from "../../../src/core/error.ts";
import { ToolOutput } from "../../../src/core/content.ts";
import type { ToolContext } from "../../../src/core/context.ts";
import type { JsonObject } from "../../../src/core/base/json.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { restEngine, type RestOptions } from "../../../src/engine/rest.ts";
import { engineContext, requestOf, toolContext } from "../engine-contexts.ts";

export interface OpenEngine {
  readonly engine: Engine;
  readonly tools: readonly Tool[];
  /** Answers as the engine does; an error is given back as data, so that a test can compare it. */
  call(name: string, input?: JsonObject, context?: Partial<ToolContext>): Promise<unknown>;
}

/** @param paths as in a document; operations without responses promise JSON */
export function apiDocument(paths: JsonObject, rest: JsonObject = {}): JsonObject {
  return { openapi: "3.1.0", info: { title: "Test", version: "1" }, paths, ...rest };
}

/** `getItem` at `/item`, and whatever else is given. */
export const ONE_GET: JsonObject = apiDocument({
  "/item": { get: { operationId: "getItem", responses: { 200: { description: "ok", content: { "application/json": {} } } } } },
});

export async function openEngine(options: RestOptions, context: Partial<EngineContext> = {}): Promise<OpenEngine> {
  const engine = restEngine(options);
  onTestFinished(async () => engine.close?.());
  const tools = (await engine.open?.(engineContext(context))) ?? [];
  return {
    engine,
    tools,
    call: async (name, input = {}, calling = {}) => {
      const tool = tools.find((each) => each.name === name);
      if (tool === undefined) throw new Error(`No tool ${name}; there are ${tools.map((each) => each.name).join(", ")}`);
      return outcomeOf(() => engine.call(requestOf(tool, input), toolContext(calling)));
    },
  };
}

/** What became of it, as plain data. */
export async function outcomeOf(act: () => unknown): Promise<unknown> {
  try {
    const answer = await act();
    if (!(answer instanceof ToolOutput)) return answer;
    const { output, content, metadata } = answer;
    return { ...(output === undefined ? {} : { output }), ...(content === undefined ? {} : { content }), metadata };
  } catch (error: unknown) {
    return ToolError.fromUnknown(error).toJSON();
  }
}
