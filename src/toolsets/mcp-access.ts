/** The toolset `mcp`: a model reaches MCP servers by a few tools, instead of having all of their tools listed. @packageDocumentation */
import type { ToolContext } from "../core/context.ts";
import { ToolOutput, type ContentPart } from "../core/content.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../core/base/json.ts";
import { plural } from "../core/base/wording.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import { markNoCircuit } from "../core/answers/no-circuit.ts";
import { markOnlyMakesCalls } from "../core/not-started-error.ts";
import type { Tool } from "../core/tool.ts";
import type { Toolset } from "../core/toolset.ts";
import { qualifiedName } from "../core/call.ts";
import { firstChars } from "../core/base/truncate-text.ts";
import { defineTool } from "../registry/define-tool.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { listEntries, peerOptions, getServer, visibleServers, type VisibleServer } from "./mcp-access/mcp-servers.ts";
import { isValidImage } from "../core/formats/image-type.ts";
import { isValidPdf } from "../policy/results/extract-data-urls.ts";
import { forwardCall } from "./forward-call.ts";
import { MAX_MEDIA_BYTES } from "../policy/results/media-limits.ts";

/** Options of `mcpAccessToolset`. */
export interface McpAccessOptions {
  /**
   * Adds `mcp_connect` and `mcp_disconnect`, which open and close the toolsets of this runtime that are MCP servers. A model can only connect to
   * configured servers, and gives neither a command nor an address. @default neither tool
   */
  readonly runtime?: () => Pick<Runtime, "openToolset" | "closeToolset">;
}

const SERVER = { type: "string", description: "The server, as mcp_list names it." } as const;
const READS = { reads: [], writes: [], idempotent: true } as const;
const MAX_DESCRIPTION_CHARS = 300;
const MAX_BASE64 = { image: (MAX_MEDIA_BYTES.image * 4) / 3, pdf: (MAX_MEDIA_BYTES.pdf * 4) / 3 };

/**
 * Returns the toolset `mcp` with `mcp_list`, `mcp_call`, `mcp_read_resource` and `mcp_get_prompt`. A call through `mcp_call` is a call of the tool
 * itself: its rules, approvals, effects and locks apply, and an answer that the server marks as an error is an error. Servers and tools that are
 * denied or hidden from the caller are not listed. To keep the servers' own tools out of a model's list, defer or hide them.
 *
 * @throws ToolError `invalid_argument`
 */
export function mcpAccessToolset(options: McpAccessOptions = {}): Toolset {
  checkKnownKeys(options, { runtime: true }, "mcpAccessToolset()");
  const { runtime } = options;
  const connecting = runtime === undefined ? [] : [connectTool(runtime), disconnectTool(runtime)];
  return {
    name: "mcp",
    description: "MCP servers: their tools, resources and prompts.",
    tools: [listTool(), callTool(), readTool(), promptTool(), ...connecting],
  };
}

function listTool(): Tool {
  return defineTool({
    name: "mcp_list",
    description: "Lists the MCP servers, or with a server its tools with their arguments, its resources and its prompts.",
    inputSchema: { type: "object", properties: { server: SERVER }, additionalProperties: false },
    effects: READS,
    execute: markNoCircuit(async ({ server }: { readonly server?: string }, context: ToolContext) =>
      server === undefined ? visibleServers(context).map(serverSummary) : await listContents(getServer(context, server), context),
    ),
  });
}

function serverSummary({ name, peer, tools }: VisibleServer): JsonObject {
  const state = peer.identity === undefined ? "not connected" : "connected";
  return { server: name, state, tools: plural(tools.length, "tool") };
}

/** Without it, empty lists would say that the server has nothing. */
function describeNotConnected({ tools }: VisibleServer): string {
  return `It is not connected: its ${tools.length === 0 ? "tools, " : ""}resources and prompts are not known.`;
}

/** Lists a server's tools, resources and prompts. Many servers announce resources or prompts and then fail to list them, so that is only noted. */
async function listContents(server: VisibleServer, context: ToolContext): Promise<JsonObject> {
  const options = peerOptions(context);
  const problems: string[] = server.peer.identity === undefined ? [describeNotConnected(server)] : [];
  const listed = async (what: "resources" | "prompts"): Promise<readonly JsonObject[]> => {
    try {
      return await listEntries(server, what, options);
    } catch (error: unknown) {
      options.signal.throwIfAborted();
      problems.push(`Its ${what} could not be listed: ${describeThrown(error)}`);
      return [];
    }
  };
  const [resources, prompts] = await Promise.all([listed("resources"), listed("prompts")]);
  const tools = server.tools.map(({ tool }): JsonObject => {
    const inputSchema: JsonValue = typeof tool.inputSchema === "object" ? (tool.inputSchema as JsonObject) : {}; // the registry has checked it
    return { name: tool.name, description: firstChars(tool.description, MAX_DESCRIPTION_CHARS), inputSchema };
  });
  return { server: server.name, tools, resources, prompts, ...(problems.length === 0 ? {} : { problems }) };
}

function callTool(): Tool {
  return {
    name: "mcp_call",
    description: "Calls a tool of an MCP server.",
    inputSchema: {
      type: "object",
      properties: {
        server: SERVER,
        tool: { type: "string", description: "The tool, as mcp_list names it." },
        input: { type: "object", description: "Its arguments, as its schema wants them." },
      },
      required: ["server", "tool"],
      additionalProperties: false,
    },
    composite: true,
    timeoutMs: 0,
    maxAttempts: 1,
    execute: markOnlyMakesCalls(async ({ server, tool, input = {} }: McpCall, context: ToolContext) => {
      const { name } = getServer(context, server);
      const call = { name: qualifiedName(name, tool), input };
      return forwardCall(context, call, "mcp_call");
    }),
  };
}

interface McpCall {
  readonly server: string;
  readonly tool: string;
  readonly input?: JsonObject;
}

function readTool(): Tool {
  return defineTool({
    name: "mcp_read_resource",
    description: "Reads a resource of an MCP server.",
    inputSchema: {
      type: "object",
      properties: { server: SERVER, uri: { type: "string", description: "The address of the resource, as mcp_list names it." } },
      required: ["server", "uri"],
      additionalProperties: false,
    },
    effects: { ...READS, external: true },
    execute: markNoCircuit(async ({ server, uri }: { readonly server: string; readonly uri: string }, context: ToolContext) => {
      const { contents } = await getServer(context, server).peer.readResource({ uri }, peerOptions(context));
      return new ToolOutput({ content: isJsonArray(contents) ? contents.map(toPart) : [] });
    }),
  });
}

function toPart(item: JsonValue): ContentPart {
  const { uri, mimeType, text, blob } = isJsonObject(item) ? item : ({} as JsonObject); // not an object, so there is nothing to read
  const mediaType = typeof mimeType === "string" ? mimeType : "application/octet-stream";
  if (typeof text === "string") return { type: "text", text };
  if (typeof blob !== "string") throw new ToolError("invalid_output", "The server answered with something that is not a resource.");
  if (isValidImage(mediaType, blob) && blob.length <= MAX_BASE64.image) return { type: "image", mediaType, data: blob };
  if (mediaType.startsWith("audio/")) return { type: "audio", mediaType, data: blob };
  // The model only sees the name of other files. A damaged or too large PDF would make providers refuse every later request.
  const isSent = mediaType !== "application/pdf" || (isValidPdf(mediaType, blob) && blob.length <= MAX_BASE64.pdf);
  const fileType = isSent ? mediaType : "application/octet-stream";
  return { type: "file", uri: `data:${fileType};base64,${blob}`, mediaType: fileType, ...(typeof uri === "string" ? { name: uri } : {}) };
}

function promptTool(): Tool {
  return defineTool({
    name: "mcp_get_prompt",
    description: "Gets a prompt of an MCP server: messages that it has written for a purpose.",
    inputSchema: {
      type: "object",
      properties: {
        server: SERVER,
        prompt: { type: "string", description: "The prompt, as mcp_list names it." },
        arguments: { type: "object", additionalProperties: { type: "string" }, description: "Its arguments." },
      },
      required: ["server", "prompt"],
      additionalProperties: false,
    },
    effects: { ...READS, external: true },
    execute: markNoCircuit(
      async ({ server, prompt, arguments: args = {} }: McpPrompt, context: ToolContext) =>
        await getServer(context, server).peer.getPrompt({ name: prompt, arguments: args }, peerOptions(context)),
    ),
  });
}

interface McpPrompt {
  readonly server: string;
  readonly prompt: string;
  readonly arguments?: JsonObject;
}

const ONE_SERVER = { type: "object", properties: { server: SERVER }, required: ["server"], additionalProperties: false } as const;

function connectTool(runtime: NonNullable<McpAccessOptions["runtime"]>): Tool {
  return defineTool({
    name: "mcp_connect",
    description: "Connects to a configured MCP server that is not connected.",
    inputSchema: ONE_SERVER,
    effects: { writes: ["mcp:connections"], idempotent: true },
    execute: markNoCircuit(async ({ server }: { readonly server: string }, context: ToolContext) => {
      const known = getServer(context, server);
      if (known.peer.identity === undefined) await runtime().openToolset(known.name);
      return serverSummary(getServer(context, server));
    }),
  });
}

function disconnectTool(runtime: NonNullable<McpAccessOptions["runtime"]>): Tool {
  return defineTool({
    name: "mcp_disconnect",
    description: "Ends the connection to an MCP server. Its tools are gone until it is connected again.",
    inputSchema: ONE_SERVER,
    effects: { writes: ["mcp:connections"], idempotent: true },
    execute: markNoCircuit(async ({ server }: { readonly server: string }, context: ToolContext) => {
      const known = getServer(context, server);
      if (known.peer.identity !== undefined) await runtime().closeToolset(known.name);
      return { server: known.name, state: "not connected" };
    }),
  });
}
