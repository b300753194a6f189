/** Tools for LangChain and LangGraph, and their tools for us. */
import type { ToolContext } from "../core/context.ts";
import { valueText } from "../core/content.ts";
import { ToolError } from "../core/error.ts";
import type { JsonValue } from "../core/base/json.ts";
import type { JsonSchema, Tool } from "../core/tool.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { bridgedTools, checkMaker, checkToolArray, foreignTool, openSchema, outputOf, type AdapterOptions } from "./bridge.ts";
import { fieldsOf } from "./model-output.ts";

/** The fields that LangChain passes with a tool, its schema as JSON Schema. */
export interface LangChainFields {
  readonly name: string;
  readonly description: string;
  readonly schema: Readonly<Record<string, unknown>>;
}

/** The function of a tool, as it is given to `tool` of LangChain. */
export type LangChainHandler = (input: unknown, config?: LangChainConfig) => Promise<JsonValue>;

/** The fields that we read of the configuration LangChain passes to a tool besides its input. */
export interface LangChainConfig {
  readonly signal?: AbortSignal;
  readonly toolCall?: { readonly id?: string };
  /** The values of a run that its caller has set. */
  readonly configurable?: Readonly<Record<string, unknown>>;
  /** The context of a run of LangGraph. */
  readonly context?: unknown;
}

/**
 * The tools of a runtime as LangChain's. Give it LangChain's own `tool` function, of the version you use. Images of a result are described
 * as text.
 *
 * @example
 * ```ts
 * const [forLangChain] = toLangChainTools(runtime, (handler, fields) => langChainTool(handler, fields), {
 *   session,
 *   only: ["default::weather"],
 * });
 * ```
 * @see https://docs.langchain.com/oss/javascript/langchain/tools
 */
export function toLangChainTools<Made>(
  runtime: Runtime,
  tool: (handler: LangChainHandler, fields: LangChainFields) => Made,
  options: AdapterOptions = {},
): Made[] {
  checkMaker(tool, "toLangChainTools(runtime, tool)", "the function tool of @langchain/core/tools");
  return bridgedTools(runtime, options, "toLangChainTools()").map(({ name, description, inputSchema, call }) =>
    tool(
      async (input, config) =>
        answerFor(config, outputOf(await call(input, { id: config?.toolCall?.id, signal: config?.signal, context: config }))),
      {
        name,
        description,
        schema: unchecked(inputSchema),
      },
    ),
  );
}

/**
 * Without its keywords of JSON Schema, as LangChain's own check would refuse inputs that the runtime repairs. Some of its models, such as
 * Anthropic's and Mistral's, send the schema as it is: written as JSON, it has them.
 */
function unchecked(inputSchema: JsonSchema): LangChainFields["schema"] {
  const { "~standard": standard, ...keywords } = openSchema(inputSchema);
  return { "~standard": standard, toJSON: () => keywords };
}

/** For a message the text: LangChain would take some JSON for blocks of a message, or for a message, and send it on as such. */
function answerFor(config: LangChainConfig | undefined, output: JsonValue): JsonValue {
  return config?.toolCall === undefined ? output : valueText(output);
}

/** The fields that we read of a tool of LangChain. */
export interface LangChainToolLike {
  readonly name: string;
  readonly description: string;
  readonly schema: unknown;
  invoke(input: never, config?: { readonly signal?: AbortSignal }): unknown;
}

/**
 * Tools of LangChain as ours. One that answers with a `ToolMessage` answers with its content, and fails where its status is `error`. Images
 * in the content are JSON for a model.
 *
 * @throws ToolError `invalid_schema` naming the tool, also for one without a schema, which takes a string; `invalid_argument` for a record
 */
export function fromLangChainTools(tools: readonly LangChainToolLike[]): readonly Tool[] {
  checkToolArray(tools, "fromLangChainTools()");
  return tools.map((tool) => {
    if (takesString(tool.schema))
      throw new ToolError("invalid_schema", `The tool ${JSON.stringify(tool.name)} takes a string, not an object.`, {
        hint: "Give it a schema: z.object({ input: z.string() }).",
      });
    return foreignTool({
      name: tool.name,
      description: tool.description,
      schema: tool.schema,
      execute: async (input: never, { signal }: ToolContext) => {
        try {
          return contentOf(await tool.invoke(input, { signal }));
        } catch (thrown: unknown) {
          throw inputRefusal(thrown, input) ?? thrown;
        }
      },
    });
  });
}

/** Whether it is the schema that LangChain makes for a tool that was given none: an object of an older zod, transformed to its `input`. */
function takesString(schema: unknown): boolean {
  const { typeName, schema: inner } = fieldsOf(fieldsOf(schema)["_def"]);
  if (typeName !== "ZodEffects" || typeof inner !== "object" || inner === null) return false;
  return Object.keys(fieldsOf(Reflect.get(inner, "shape"))).join() === "input";
}

/**
 * LangChain's refusal of an input by what no JSON Schema says, such as zod's `refine`; undefined for any other error, such as the refusal
 * of another input by a tool that the handler has called: the call has run then.
 */
function inputRefusal(thrown: unknown, input: unknown): ToolError | undefined {
  if (!(thrown instanceof Error) || !("output" in thrown) || !thrown.message.startsWith(REFUSED_INPUT)) return undefined;
  if (thrown.output !== JSON.stringify(input)) return undefined;
  return new ToolError("invalid_input", thrown.message, { outcome: "not_started", cause: thrown });
}

const REFUSED_INPUT = "Received tool input did not match expected schema";

/** @throws ToolError `execution_failed` for a message that says that the tool failed */
function contentOf(output: unknown): unknown {
  if (typeof output !== "object" || output === null || !("lc_direct_tool_output" in output) || !("content" in output)) return output;
  const { content } = output;
  if (!("status" in output) || output.status !== "error") return content;
  throw new ToolError("execution_failed", typeof content === "string" ? content : JSON.stringify(content));
}
