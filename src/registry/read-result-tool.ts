/** The tool with which a model reads the rest of a truncated result. */
import { OWN_NAMESPACE } from "../core/call.ts";
import type { ContentPart } from "../core/content.ts";
import type { ToolContext } from "../core/context.ts";
import type { JsonValue } from "../core/base/json.ts";
import type { Tool } from "../core/tool.ts";
import type { Toolset } from "../core/toolset.ts";
import type { LargeResultStore } from "../policy/results/large-result-store.ts";
import { defineTool } from "./define-tool.ts";
import { providerName } from "../wire/provider-name.ts";

/** The qualified name of the tool. */
export const READ_RESULT = "haft::read_result";
/** The encoded name, which is the only one that models, frameworks and MCP clients know. */
export const READ_RESULT_NAME = providerName(READ_RESULT);
/** The advice in the note of a truncated result, for a caller that cannot read the rest. */
export const ASK_FOR_LESS = "ask for less at a time";

/** The advice in the note of a truncated result, for a caller that can read the rest. */
export function formatReadHint(handle: string): string {
  return `Read the rest with ${READ_RESULT_NAME} {"handle": "${handle}"}`;
}

/** Finds the whole output of a call in a store, if it is no longer in memory. */
export type FindOutput = (
  sessionId: string,
  callId: string,
) => Promise<{ readonly output?: JsonValue; readonly content?: readonly ContentPart[] } | undefined>;

export function readResultToolset(store: LargeResultStore, findOutput: FindOutput): Toolset {
  return { name: OWN_NAMESPACE, description: "Tools of the runtime itself.", tools: [readResultTool(store, findOutput)] };
}

function readResultTool(store: LargeResultStore, findOutput: FindOutput): Tool {
  return defineTool({
    name: "read_result",
    description: "Reads more of a tool result that was too large to show. Give its handle; narrow it by a path, a text to find, or lines.",
    inputSchema: {
      type: "object",
      properties: {
        handle: { type: "string", description: "The handle in the cut result." },
        path: { type: "string", description: "Where to look inside a JSON result, such as $.items[3].name." },
        grep: { type: "string", description: "Only lines that hold this text." },
        offset: { type: "integer", minimum: 0, description: "First line to show, counted from 0." },
        limit: { type: "integer", minimum: 1, maximum: 2000, description: "How many lines to show." },
      },
      required: ["handle"],
      additionalProperties: false,
    },
    effects: { reads: [], writes: [], idempotent: true },
    tags: ["haft"],
    maxResultBytes: 0, // its pages are already bounded, and truncating them would only create more handles
    execute: async (
      input: { readonly handle: string; readonly path?: string; readonly grep?: string; readonly offset?: number; readonly limit?: number },
      context: ToolContext,
    ) => {
      if (!store.has(context.sessionId, input.handle)) {
        const found = await findOutput(context.sessionId, input.handle);
        if (found !== undefined) store.store(context.sessionId, input.handle, found.output, found.content);
      }
      return store.read(context.sessionId, input.handle, input);
    },
  });
}
