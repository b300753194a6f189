/** The official server library, an optional peer that is loaded only when a server is started. */
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
