/** The toolset `catalog`: a model finds tools by what they do, instead of being shown all of them from the beginning. @packageDocumentation */
import { OWN_NAMESPACE } from "../core/call.ts";
import type { JsonObject } from "../core/base/json.ts";
import { plural, quoteValue, singleLine } from "../core/base/wording.ts";
import { ToolOutput } from "../core/content.ts";
import type { ToolContext } from "../core/context.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import { markOnlyMakesCalls } from "../core/not-started-error.ts";
import type { Tool } from "../core/tool.ts";
import type { Toolset } from "../core/toolset.ts";
import { callerVisibility, registryOf } from "../call/context/tool-context.ts";
import type { Visibility } from "../policy/visibility.ts";
import { defineTool } from "../registry/define-tool.ts";
import { CATALOG_TOOLSET, addFoundTools } from "../registry/found-tools.ts";
import type { RegisteredTool } from "../registry/registered-tool.ts";
import type { Registry } from "../registry/registry.ts";
import { providerName, toQualifiedName } from "../wire/provider-name.ts";
import { forwardCall } from "./forward-call.ts";

/** Options of `findToolsToolset`. */
export interface FindToolsOptions {
  /** Number of tools that a search finds unless the model gives another. Integer, 1 to 20. @default 5 */
  readonly limit?: number;
  /**
   * Adds `call_tool`, which calls a tool by its name: for MCP clients and frameworks whose list of tools is fixed while they run. Found tools are
   * then described with their arguments. @default false
   */
  readonly callTool?: boolean;
}

const DEFAULT_LIMIT = 5;
const MAX_LIMIT = 20;
const MAX_QUERY_CHARS = 1_000;
const MAX_DESCRIPTION_CHARS = 600;
const MAX_SCHEMA_CHARS = 8_192;
/** Maximum number of toolsets that are named if nothing was found. */
const MAX_TOOLSETS = 20;
const NO_NAMES: ReadonlyMap<string, string> = new Map();

/**
 * Returns the toolset `catalog` with the tool `find_tools`, which searches the tools of its runtime. Tools that are denied, hidden from the caller or
 * unusable are never found. Found tools are remembered in the session: a loop with `deferTools` offers them from then on.
 *
 * @throws ToolError `invalid_argument`
 */
export function findToolsToolset(options: FindToolsOptions = {}): Toolset {
  checkKnownKeys(options, { limit: true, callTool: "boolean" }, "findToolsToolset()");
  const { limit = DEFAULT_LIMIT, callTool = false } = options;
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
    throw new ToolError(
      "invalid_argument",
      `limit of findToolsToolset() is ${quoteValue(limit)}; it takes an integer from 1 to ${MAX_LIMIT}.`,
    );
  const tools = [findTool({ limit, callTool }), ...(callTool ? [callToolDefinition()] : [])];
  return { name: CATALOG_TOOLSET, description: "Finds the other tools.", tools };
}

function findTool({ limit: usual, callTool }: Required<FindToolsOptions>): Tool {
  const after = callTool ? "Call what you find with call_tool." : "What you find can be called from then on.";
  return defineTool({
    name: "find_tools",
    description: `Finds tools by what they do. There are more tools than you are shown: look here before you say that something cannot be done. ${after}`,
    inputSchema: {
      type: "object",
      properties: {
        query: { type: "string", minLength: 1, maxLength: MAX_QUERY_CHARS, description: "What the tool is to do, in a few words." },
        limit: { type: "integer", minimum: 1, maximum: MAX_LIMIT, description: `Most tools to find. ${usual} by default.` },
      },
      required: ["query"],
      additionalProperties: false,
    },
    effects: { reads: [], writes: [], idempotent: true },
    tags: ["haft"],
    execute: ({ query, limit = usual }: { readonly query: string; readonly limit?: number }, context: ToolContext) => {
      const registry = registryOf(context);
      const found = searchTools(registry, { query, limit, visibility: callerVisibility(context) });
      const names = found.map(({ qualifiedName }) => qualifiedName);
      addFoundTools(context.state, names);
      const described = found.map(({ qualifiedName, tool }) => ({ name: qualifiedName, description: tool.description }));
      const text = found.length === 0 ? nothingFoundText(query, registry, callerVisibility(context)) : foundText(found, callTool);
      return new ToolOutput({ output: { tools: described }, content: [{ type: "text", text }] });
    },
  });
}

interface Search {
  readonly query: string;
  readonly limit: number;
  readonly visibility: Visibility | undefined;
}

/** Returns the best matches that can be called by name; overloads count as one. */
function searchTools(registry: Registry, { query, limit, visibility }: Search): readonly RegisteredTool[] {
  const found = new Map<string, RegisteredTool>();
  for (const registered of registry.search({ text: query })) {
    if (found.size >= limit) break;
    if (!found.has(registered.qualifiedName) && isOffered(registered, visibility) && registered.quarantine === undefined)
      found.set(registered.qualifiedName, registered);
  }
  return [...found.values()];
}

/** Whether the tool can be called by name, as far as that is known without its schema. */
function isOffered({ qualifiedName, tool, toolset }: RegisteredTool, visibility: Visibility | undefined): boolean {
  if (toolset.name === CATALOG_TOOLSET || toolset.name === OWN_NAMESPACE) return false;
  return tool.providerExecuted !== true && tool.unusable === undefined && visibility?.permits(qualifiedName) !== false;
}

function foundText(found: readonly RegisteredTool[], callTool: boolean): string {
  const heading = callTool ? 'Call these with call_tool, as {"name": …, "input": {…}}:' : "You can call these from now on:";
  return [heading, ...found.map((registered) => toolText(registered, callTool))].join("\n");
}

/** Returns the lines of a tool, with its arguments if its definition is shown nowhere else. */
function toolText({ qualifiedName, tool }: RegisteredTool, withArguments: boolean): string {
  const line = `- ${providerName(qualifiedName)}: ${truncate(singleLine(tool.description), MAX_DESCRIPTION_CHARS)}`;
  return withArguments ? `${line}\n  input: ${truncate(JSON.stringify(tool.inputSchema), MAX_SCHEMA_CHARS)}` : line;
}

function nothingFoundText(query: string, registry: Registry, visibility: Visibility | undefined): string {
  const counts = new Map<string, number>();
  for (const registered of registry.list()) {
    const { name } = registered.toolset;
    if (isOffered(registered, visibility)) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const names = [...counts].slice(0, MAX_TOOLSETS).map(([name, count]) => `${name} (${count})`);
  const more = counts.size > names.length ? ` and ${plural(counts.size - names.length, "other")}` : "";
  const where = names.length === 0 ? "There are no other tools." : `Try other words. There are tools in ${names.join(", ")}${more}.`;
  return `No tool fits ${JSON.stringify(query.slice(0, 200))}. ${where}`;
}

function truncate(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most).toWellFormed()}…`;
}

function callToolDefinition(): Tool {
  return {
    name: "call_tool",
    description: "Calls a tool that find_tools has found.",
    inputSchema: {
      type: "object",
      properties: {
        name: { type: "string", description: "The name of the tool, as find_tools gave it." },
        input: { type: "object", description: "Its arguments, as its schema wants them." },
      },
      required: ["name"],
      additionalProperties: false,
    },
    tags: ["haft"],
    composite: true,
    timeoutMs: 0,
    maxAttempts: 1,
    execute: markOnlyMakesCalls(
      async ({ name, input = {} }: { readonly name: string; readonly input?: JsonObject }, context: ToolContext) => {
        const known = registryOf(context).get(name)?.qualifiedName ?? toQualifiedName(name, NO_NAMES);
        return forwardCall(context, { name: known, input }, "call_tool");
      },
    ),
  };
}
