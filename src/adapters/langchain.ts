/** Haft's tools for LangChain and LangGraph, and their tools for Haft. */
import type { ToolContext } from "../core/context.ts";
import { valueText } from "../core/content.ts";
import { ToolError } from "../core/error.ts";
import type { JsonValue } from "../core/base/json.ts";
import type { JsonSchema, Tool } from "../core/tool.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { bridgedTools, checkFunction, checkToolArray, foreignTool, openSchema, toOutput, type AdapterOptions } from "./bridge.ts";
import { fieldsOf } from "./model-output.ts";

/** The fields that LangChain's `tool` gets, with the schema as JSON Schema. */
export interface LangChainFields {
  readonly name: string;
  readonly description: string;
  readonly schema: Readonly<Record<string, unknown>>;
}

/** The function of a tool, as LangChain's `tool` expects it. */
export type LangChainHandler = (input: unknown, config?: LangChainConfig) => Promise<JsonValue>;

/** The fields that are read of the configuration that LangChain passes to a tool after its input. */
export interface LangChainConfig {
  readonly signal?: AbortSignal;
  readonly toolCall?: { readonly id?: string };
  /** Values that the caller of a run has set. */
  readonly configurable?: Readonly<Record<string, unknown>>;
  /** The context of a run of LangGraph. */
  readonly context?: unknown;
}

/**
 * Converts the tools of a runtime to LangChain's. Pass LangChain's own `tool` function, of the version you use. Images of a result become text.
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
  checkFunction(tool, "toLangChainTools(runtime, tool)", "the function tool of @langchain/core/tools");
  return bridgedTools(runtime, options, "toLangChainTools()").map(({ name, description, inputSchema, call }) =>
    tool(
      async (input, config) =>
        toAnswer(config, toOutput(await call(input, { id: config?.toolCall?.id, signal: config?.signal, context: config }))),
      {
        name,
        description,
        schema: acceptAnySchema(inputSchema),
      },
    ),
  );
}

/**
 * The schema without its JSON Schema keywords, as LangChain's own check would refuse inputs that the runtime repairs. Some of its models, such as
 * Anthropic's and Mistral's, send the schema as it is: its `toJSON` has the keywords.
 */
function acceptAnySchema(inputSchema: JsonSchema): LangChainFields["schema"] {
  const { "~standard": standard, ...keywords } = openSchema(inputSchema);
  return { "~standard": standard, toJSON: () => keywords };
}

/** Returns text if the answer becomes a message: LangChain would take some JSON for content blocks or for a whole message. */
function toAnswer(config: LangChainConfig | undefined, output: JsonValue): JsonValue {
  return config?.toolCall === undefined ? output : valueText(output);
}

/** The fields that are read of a LangChain tool. */
export interface LangChainToolLike {
  readonly name: string;
  readonly description: string;
  readonly schema: unknown;
  invoke(input: never, config?: { readonly signal?: AbortSignal }): unknown;
}

/**
 * Converts LangChain tools to Haft tools. If a tool returns a `ToolMessage`, its content is the output; if its status is `error`, the call fails.
 * Images in the content are JSON for a model. If it returns a `Command`, the call fails, as only a graph of LangGraph can apply it.
 *
 * @throws ToolError `invalid_schema` naming the tool, also for a tool without a schema, which takes a string; `invalid_argument` for a record
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
          return toContent(await tool.invoke(input, { signal }));
        } catch (thrown: unknown) {
          throw toInputError(thrown, input) ?? thrown;
        }
      },
    });
  });
}

/** Whether it is the schema that LangChain makes for a tool without one: a zod 3 object, transformed to its `input`. */
function takesString(schema: unknown): boolean {
  const { typeName, schema: inner } = fieldsOf(fieldsOf(schema)["_def"]);
  if (typeName !== "ZodEffects" || typeof inner !== "object" || inner === null) return false;
  return Object.keys(fieldsOf(Reflect.get(inner, "shape"))).join() === "input";
}

/**
 * LangChain's refusal of an input by a check that JSON Schema cannot express, such as zod's `refine`. Undefined for any other error, such as the
 * refusal of another input by a tool that the handler called: then the call itself has run.
 */
function toInputError(thrown: unknown, input: unknown): ToolError | undefined {
  if (!(thrown instanceof Error) || !("output" in thrown) || !thrown.message.startsWith(REFUSED_INPUT)) return undefined;
  if (thrown.output !== JSON.stringify(input)) return undefined;
  return new ToolError("invalid_input", thrown.message, { outcome: "not_started", cause: thrown });
}

const REFUSED_INPUT = "Received tool input did not match expected schema";

/** @throws ToolError `execution_failed` for a message with the status `error`, and for a command to a graph, whose update would be lost */
function toContent(output: unknown): unknown {
  if ((Array.isArray(output) ? output : [output]).some((each) => fieldsOf(each)["lg_name"] === "Command"))
    throw new ToolError("execution_failed", "The tool answered with a Command, which only a graph of LangGraph can apply.");
  if (typeof output !== "object" || output === null || !("lc_direct_tool_output" in output) || !("content" in output)) return output;
  const { content } = output;
  if (!("status" in output) || output.status !== "error") return content;
  throw new ToolError("execution_failed", typeof content === "string" ? content : JSON.stringify(content));
}
