/**
 * The names of OpenTelemetry's conventions for generative AI that are used here. The conventions are in development and not part of the stable
 * package, so the names are written out.
 *
 * @see https://github.com/open-telemetry/semantic-conventions-genai/tree/main/docs/gen-ai — as of November 2026, with `mcp.md`
 * @see https://www.npmjs.com/package/@opentelemetry/semantic-conventions — 1.45.0 has the same names as `ATTR_GEN_AI_…`
 */
export const ATTRIBUTES = {
  operation: "gen_ai.operation.name",
  provider: "gen_ai.provider.name",
  conversation: "gen_ai.conversation.id",
  agentName: "gen_ai.agent.name",
  agentDescription: "gen_ai.agent.description",
  toolName: "gen_ai.tool.name",
  toolType: "gen_ai.tool.type",
  toolDescription: "gen_ai.tool.description",
  toolCallId: "gen_ai.tool.call.id",
  toolArguments: "gen_ai.tool.call.arguments",
  promptName: "gen_ai.prompt.name",
  toolResult: "gen_ai.tool.call.result",
  requestModel: "gen_ai.request.model",
  requestMaxTokens: "gen_ai.request.max_tokens",
  requestTemperature: "gen_ai.request.temperature",
  requestStream: "gen_ai.request.stream",
  requestChoices: "gen_ai.request.choice.count",
  systemInstructions: "gen_ai.system_instructions",
  inputMessages: "gen_ai.input.messages",
  outputMessages: "gen_ai.output.messages",
  toolDefinitions: "gen_ai.tool.definitions",
  outputType: "gen_ai.output.type",
  responseModel: "gen_ai.response.model",
  responseId: "gen_ai.response.id",
  timeToFirstChunk: "gen_ai.response.time_to_first_chunk",
  finishReasons: "gen_ai.response.finish_reasons",
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  cacheReadTokens: "gen_ai.usage.cache_read.input_tokens",
  cacheWriteTokens: "gen_ai.usage.cache_creation.input_tokens",
  reasoningTokens: "gen_ai.usage.reasoning.output_tokens",
  tokenType: "gen_ai.token.type",
  mcpMethod: "mcp.method.name",
  mcpProtocolVersion: "mcp.protocol.version",
  networkTransport: "network.transport",
  networkProtocol: "network.protocol.name",
  serverAddress: "server.address",
  serverPort: "server.port",
  errorType: "error.type",
  exceptionType: "exception.type",
  exceptionMessage: "exception.message",
  rpcStatus: "rpc.response.status_code",
  httpStatus: "http.response.status_code",
  // Haft's own names, for what the conventions do not cover.
  callId: "haft.call.id",
  turnId: "haft.turn.id",
  callStatus: "haft.call.status",
  callOrigin: "haft.call.origin",
  callAttempts: "haft.call.attempts",
  errorCode: "haft.error.code",
  waitReason: "haft.wait.reason",
  circuitState: "haft.circuit.state",
  stopReason: "haft.stop.reason",
} as const;

/** Values of `gen_ai.operation.name`. */
export const OPERATIONS = { tool: "execute_tool", model: "chat", agent: "invoke_agent" } as const;

/** Names of log records. */
export const EVENTS = { requestException: "gen_ai.client.operation.exception" } as const;

export const METRICS = {
  requestDuration: "gen_ai.client.operation.duration",
  timeToFirstChunk: "gen_ai.client.operation.time_to_first_chunk",
  timePerChunk: "gen_ai.client.operation.time_per_output_chunk",
  tokens: "gen_ai.client.token.usage",
  toolDuration: "gen_ai.execute_tool.duration",
  agentDuration: "gen_ai.invoke_agent.duration",
  mcpDuration: "mcp.client.operation.duration",
  mcpSession: "mcp.client.session.duration",
  servedDuration: "mcp.server.operation.duration",
  servedSession: "mcp.server.session.duration",
  waitDuration: "haft.call.wait.duration",
  retries: "haft.call.retries",
  orphans: "haft.call.orphans",
  circuits: "haft.circuit.changes",
} as const;

/** Bucket boundaries of the histograms, from the conventions. */
export const BOUNDARIES = {
  seconds: [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
  mcpSeconds: [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300],
  agentSeconds: [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6],
  tokens: [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864],
};

/** The conventions' `error.type` of a call over MCP whose tool itself reported a failure. */
export const TOOL_ERROR = "tool_error";

/** How many codes of JSON-RPC errors are recorded; servers may answer any number. */
export const MAX_RPC_CODES = 100;

/** Maximum number of different answering models in metrics; servers may answer with any name. */
export const MAX_RESPONSE_MODELS = 100;

/** Maximum length of the model and the id that a server answers. */
export const MAX_RESPONSE_NAME_CHARS = 256;

/** The conventions' replacement for attribute values of high cardinality. */
export const OTHER = "_OTHER";

/** The conventions' names for providers that Haft names differently, and for wire formats, which prefix the models of `httpModel`. */
const PROVIDERS: ReadonlyMap<string, string> = new Map([
  ["openai-chat", "openai"],
  ["openai-responses", "openai"],
  ["anthropic-messages", "anthropic"],
  ["azure", "azure.ai.openai"],
  ["azure-openai", "azure.ai.openai"],
  ["bedrock", "aws.bedrock"],
  ["bedrock-converse", "aws.bedrock"],
  ["cohere-chat", "cohere"],
  ["gemini", "gcp.gemini"],
  ["gemini-generatecontent", "gcp.gemini"],
  ["gemini-interactions", "gcp.gemini"],
  ["google", "gcp.gemini"],
  ["vertex", "gcp.vertex_ai"],
  ["mistral", "mistral_ai"],
  ["moonshot", "moonshot_ai"],
  ["ollama-chat", "ollama"],
  ["xai", "x_ai"],
]);

/** Splits a name such as `openai/gpt-5` into provider and model. For a variant of a format, `openai-chat:groq/…`, the provider is the variant's. */
export function splitModelName(name: string): { readonly provider: string; readonly model: string } {
  const slash = name.indexOf("/");
  if (slash < 0) return { provider: OTHER, model: name };
  const prefix = name.slice(0, slash).toLowerCase();
  const provider = prefix.slice(prefix.indexOf(":") + 1);
  return { provider: PROVIDERS.get(provider) ?? provider, model: name.slice(slash + 1) };
}
