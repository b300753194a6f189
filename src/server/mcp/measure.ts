/** Reports requests and sessions of clients to the tracing of the runtime. */
import type { Server, ServerContext } from "@modelcontextprotocol/server";
import { isJsonObject } from "../../core/base/json.ts";
import type { ToolError } from "../../core/error.ts";
import type { ServedRequest } from "../../core/tracing.ts";
import { INTERNAL_ERROR } from "../../engine/mcp/rpc-codes.ts";
import { CALL_METHOD, MODERN_VERSION } from "./plain-call.ts";
import type { CallHandlerContext, McpRequest, SharedState } from "./handler-context.ts";
import { VALIDATE_NAME } from "./validate-tool.ts";

/** A request that is being answered. */
export interface Asked {
  readonly method: string;
  readonly request: McpRequest;
  readonly context: ServerContext;
  readonly server: CallHandlerContext["server"];
}

/** Answers a request, and measures it. A request that the client cancels has not failed. */
export async function measured<T>(gateway: SharedState, asked: Asked, answer: () => Promise<T>): Promise<T> {
  const { runtime, settings } = gateway;
  const { context, method, server } = asked;
  const beganAt = settings.clock.now();
  let failure: ServedRequest["failure"];
  try {
    const result = await answer();
    if (isJsonObject(result) && result["isError"] === true) failure = "tool-error";
    return result;
  } catch (error: unknown) {
    failure = error instanceof Error && "code" in error && typeof error.code === "number" ? error.code : INTERNAL_ERROR;
    throw error;
  } finally {
    runtime.tracing?.recordServed?.({
      of: "request",
      method,
      ...subjectOf(gateway, asked, failure),
      durationMs: settings.clock.now() - beganAt,
      protocolVersion: server.getNegotiatedProtocolVersion() ?? MODERN_VERSION, // only requests of that revision come without a negotiation
      transport: context.http === undefined ? "stdio" : "http",
      ...(failure === undefined || context.mcpReq.signal.aborted ? {} : { failure }),
    });
  }
}

/** The tool or prompt that a request names, if it exists: other names are arbitrary text of the client. */
function subjectOf(
  { tools, settings }: SharedState,
  { method, request }: Asked,
  failure: ServedRequest["failure"],
): Pick<ServedRequest, "toolName" | "promptName"> {
  const name = request.params?.["name"];
  if (typeof name !== "string") return {};
  if (method === "prompts/get" && failure === undefined) return { promptName: name };
  const isKnown = method === CALL_METHOD && (tools.find(name) !== undefined || (name === VALIDATE_NAME && settings.validate));
  return isKnown ? { toolName: name } : {};
}

/** Begins to measure a session. Call the returned function once, at its end; the session does not count if its client was never initialized. */
export function beginSession(
  { runtime, settings }: Pick<SharedState, "runtime" | "settings">,
  transport: "stdio" | "http",
): (server: Pick<Server, "getNegotiatedProtocolVersion"> | undefined, error?: ToolError) => void {
  const beganAt = settings.clock.now();
  return (server, error) => {
    const protocolVersion = server?.getNegotiatedProtocolVersion();
    if (protocolVersion === undefined) return;
    runtime.tracing?.recordServed?.({ of: "session", durationMs: settings.clock.now() - beganAt, protocolVersion, transport, error });
  };
}
