/** Haft's tools for Mastra (1), and Mastra's tools for Haft. */
import type { ToolContext } from "../core/context.ts";
import { ToolError } from "../core/error.ts";
import type { JsonValue } from "../core/base/json.ts";
import type { Tool } from "../core/tool.ts";
import type { Runtime } from "../runtime/runtime.ts";
import {
  askApproval,
  bridgedTools,
  checkFunction,
  checkToolArray,
  foreignTool,
  openSchema,
  runBeforeHandler,
  toOutput,
  type AdapterOptions,
} from "./bridge.ts";
import { fieldsOf, refuseMcpError, withModelOutput } from "./model-output.ts";

/** The fields of a tool that Mastra's `createTool` gets. */
export interface MastraFields {
  readonly id: string;
  readonly description: string;
  readonly inputSchema: ReturnType<typeof openSchema>;
  readonly execute: (input: unknown, context?: MastraContext) => Promise<JsonValue>;
}

/** The fields that are read of the context that Mastra passes to a tool; `agent` is set if an agent calls it. */
interface MastraContext {
  readonly abortSignal?: AbortSignal | undefined;
  readonly agent?: { readonly toolCallId?: string } | undefined;
  readonly requestContext?: unknown;
}

/**
 * Converts the tools of a runtime to Mastra's, by their ids. Pass Mastra's own `createTool`.
 *
 * @see https://mastra.ai/docs/agents/using-tools
 */
export function toMastraTools<Made>(
  runtime: Runtime,
  createTool: (fields: MastraFields) => Made,
  options: AdapterOptions = {},
): Readonly<Record<string, Made>> {
  checkFunction(createTool, "toMastraTools(runtime, createTool)", "the function createTool of @mastra/core/tools");
  return Object.fromEntries(
    bridgedTools(runtime, options, "toMastraTools()").map(({ name, description, inputSchema, call }) => [
      name,
      createTool({
        id: name,
        description,
        inputSchema: openSchema(inputSchema),
        execute: async (input, context) => {
          refuseOldMastra(input);
          const { agent, abortSignal, requestContext } = context ?? {};
          return toOutput(await call(input, { id: agent?.toolCallId, signal: abortSignal, context: requestContext }));
        },
      }),
    ]),
  );
}

/** Refuses a call of Mastra 0, which passes a context with the input in it. Its `runtimeContext` has functions, which no model can send. */
function refuseOldMastra(input: unknown): void {
  const { runtimeContext } = fieldsOf(input);
  if (
    typeof runtimeContext !== "object" ||
    runtimeContext === null ||
    !("get" in runtimeContext) ||
    typeof runtimeContext.get !== "function"
  )
    return;
  throw new ToolError("not_executable", "toMastraTools() needs Mastra 1: this version passes its context in place of the input.");
}

/** The fields that are read of a Mastra tool. */
export interface MastraToolLike {
  readonly id: string;
  readonly description: string;
  readonly inputSchema?: unknown;
  readonly execute?: unknown;
  readonly requireApproval?: unknown;
  /** Overrides `requireApproval`, as in tools of Mastra's MCP client and of its workspaces. */
  readonly needsApprovalFn?: unknown;
  readonly toModelOutput?: unknown;
}

/**
 * Converts Mastra tools to Haft tools. Validation errors, which Mastra returns, become errors. A tool that requires approval asks through the
 * runtime's `ask`. The model is shown the content of `toModelOutput`. Suspending a tool is not supported.
 *
 * @throws ToolError `invalid_schema`, `not_executable` naming the tool; `invalid_argument` for a record
 */
export function fromMastraTools(tools: readonly MastraToolLike[]): readonly Tool[] {
  checkToolArray(tools, "fromMastraTools()");
  return tools.map((tool) => {
    const { id, description, inputSchema = { type: "object" }, execute, requireApproval, needsApprovalFn, toModelOutput } = tool;
    const approval = typeof needsApprovalFn === "function" ? needsApprovalFn : requireApproval;
    if (typeof execute !== "function") throw new ToolError("not_executable", `The Mastra tool ${JSON.stringify(id)} has no execute.`);
    return foreignTool({
      name: id,
      description,
      schema: inputSchema,
      execute: async (input: unknown, context: ToolContext) => {
        const decide = (): unknown => (typeof approval === "function" ? approval.call(tool, input, {}) : approval);
        if (await runBeforeHandler(decide)) await askApproval(context, input);
        const answer: unknown = await execute.call(tool, input, { abortSignal: context.signal, observe: NO_OBSERVE });
        const output = refuseMcpError(throwOnError(id, answer));
        return typeof toModelOutput === "function" ? withModelOutput(output, await toModelOutput.call(tool, output)) : output;
      },
    });
  });
}

/** Passed to tools as `observe`, which they use without checking it: runs the work of a span, and records nothing. */
const NO_OBSERVE = {
  async span(_name: string, work: () => unknown): Promise<unknown> {
    return await work();
  },
  log(): void {},
};

function throwOnError(id: string, output: unknown): unknown {
  if (typeof output !== "object" || output === null || !("error" in output) || output.error !== true || !("validationErrors" in output))
    return output;
  const message = "message" in output && typeof output.message === "string" ? output.message : "its validation failed";
  const text = `${id}: ${message}`;
  if (message.startsWith("Tool output validation failed")) throw new ToolError("invalid_output", text, { outcome: "unknown" });
  if (message.startsWith("Request context validation failed"))
    throw new ToolError("not_executable", `${id} needs a request context, which calls of Haft do not have: ${message}`, {
      outcome: "not_started",
    });
  // only an input error proves that the tool did not run
  const outcome = message.startsWith("Tool input validation failed") ? "not_started" : "unknown";
  throw new ToolError("invalid_input", text, { outcome });
}
