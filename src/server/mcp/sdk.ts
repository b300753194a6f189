/** The official server library, an optional peer that is loaded only when a server is started. */
import type { JSONRPCRequest, Result, ServerContext } from "@modelcontextprotocol/server";
import { ToolError } from "../../core/error.ts";

export type ServerModule = typeof import("@modelcontextprotocol/server");
export type StdioModule = typeof import("@modelcontextprotocol/server/stdio");

/** @throws ToolError `unavailable` when it is not installed. By rejecting */
export async function loadServer(): Promise<ServerModule> {
  try {
    return await import("@modelcontextprotocol/server");
  } catch (error: unknown) {
    throw notInstalled(error);
  }
}

/** @throws ToolError `unavailable` when it is not installed. By rejecting */
export async function loadStdio(): Promise<StdioModule> {
  try {
    return await import("@modelcontextprotocol/server/stdio");
  } catch (error: unknown) {
    throw notInstalled(error);
  }
}

function notInstalled(cause: unknown): ToolError {
  return new ToolError("unavailable", "The package @modelcontextprotocol/server is not installed, and tools are served over MCP by it.", {
    operatorHint: "Run npm install @modelcontextprotocol/server.",
    cause,
  });
}

type ServerClass = ServerModule["Server"];

/**
 * The SDK's server without its second look at the answers of `tools/call`: they are made whole here, its schemas know no tasks, and to
 * check an answer costs more than most calls.
 */
export function passingServer({ Server }: ServerModule): ServerClass {
  return class PassingServer extends Server {
    protected override _wrapHandler(...args: Parameters<WrapHandler>): ReturnType<WrapHandler> {
      const [method, handler] = args;
      // oxlint-disable-next-line no-underscore-dangle -- the SDK names its hook so
      return method === "tools/call" ? handler : super._wrapHandler(method, handler);
    }
  };
}

type WrapHandler = (
  method: string,
  handler: (request: JSONRPCRequest, context: ServerContext) => Promise<Result>,
) => (request: JSONRPCRequest, context: ServerContext) => Promise<Result>;
