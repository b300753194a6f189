/** Loads the official server library, an optional peer dependency, when a server is started. */
import type { JSONRPCRequest, Result, ServerContext } from "@modelcontextprotocol/server";
import { describeThrown } from "../../core/error.ts";
import { loadPackage } from "../../core/system/lazy-package.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import { INVALID_PARAMS } from "../../engine/mcp/rpc-codes.ts";

export type ServerModule = typeof import("@modelcontextprotocol/server");
export type StdioModule = typeof import("@modelcontextprotocol/server/stdio");

const SDK = { name: "@modelcontextprotocol/server", need: "tools are served over MCP by it" } as const;

/** @throws ToolError `unavailable` if the library is not installed, as a rejection */
export function loadServerModule(): Promise<ServerModule> {
  return loadPackage(() => import("@modelcontextprotocol/server"), SDK);
}

/** @throws ToolError `unavailable` if the library is not installed, as a rejection */
export function loadStdioModule(): Promise<StdioModule> {
  return loadPackage(() => import("@modelcontextprotocol/server/stdio"), SDK);
}

type ServerClass = ServerModule["Server"];

/**
 * The SDK's server without its validation of `tools/call` results: they are complete already, its schemas do not know tasks, and validating one costs
 * more than most calls. Params that its schemas refuse are answered as invalid params, not as an internal error.
 */
export function createUncheckedServerClass({ Server, ProtocolError }: ServerModule): ServerClass {
  return class PassingServer extends Server {
    protected override _wrapHandler(...args: Parameters<WrapHandler>): ReturnType<WrapHandler> {
      const [method, handler] = args;
      if (method === "tools/call") return handler;
      // oxlint-disable-next-line no-underscore-dangle -- the SDK names its hook so
      return super._wrapHandler(method, async (request, context) => {
        try {
          return await handler(request, context);
        } catch (error: unknown) {
          if (error instanceof ProtocolError) throw error; // handlers of Haft throw only these
          throw new ProtocolError(INVALID_PARAMS, `Invalid params for ${method}: ${formatProblems(describeThrown(error))}.`);
        }
      });
    }
  };
}

/** Formats the problems found by a schema of the SDK, which are JSON text. */
function formatProblems(text: string): string {
  let issues: unknown;
  try {
    issues = parseJson(text);
  } catch {
    return text;
  }
  if (!Array.isArray(issues)) return text;
  return issues.map(({ path, message }: Issue) => [...path.slice(1), message].join(": ")).join("; ");
}

interface Issue {
  /** Begins with `params`. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

type WrapHandler = (
  method: string,
  handler: (request: JSONRPCRequest, context: ServerContext) => Promise<Result>,
) => (request: JSONRPCRequest, context: ServerContext) => Promise<Result>;
