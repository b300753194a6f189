/** Tools for the OpenAI Agents SDK, and its tools for us. */
import type { ToolContext } from "../core/context.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import type { JsonSchema, Tool } from "../core/tool.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { fieldsOf, withAgentsParts } from "./model-output.ts";
import { askApproval, bridgedTools, checkMaker, checkToolArray, foreignTool, offeredText, type AdapterOptions } from "./bridge.ts";

/** The fields of a tool that the Agents SDK's `tool` is given. */
export interface OpenAiAgentsFields {
  readonly name: string;
  readonly description: string;
  readonly parameters: OpenAiParameters;
  readonly strict: false;
  /** True where a person has to allow the tool's calls and the runtime has no approver: the SDK interrupts its run for it. */
  readonly needsApproval: boolean;
  readonly execute: (input: unknown, context?: unknown, details?: OpenAiCallDetails) => Promise<string>;
}

interface OpenAiParameters {
  readonly type: "object";
  readonly properties: Readonly<Record<string, never>>;
  // mutable, as that SDK declares it
  readonly required: string[];
  readonly additionalProperties: true;
}

interface OpenAiCallDetails {
  readonly toolCall?: { readonly callId?: string; readonly name?: string };
  readonly signal?: AbortSignal;
}

/**
 * The tools of a runtime as the Agents SDK's. Give it that SDK's own `tool` function. Failures are answered as text, as a result.
 *
 * @example
 * ```ts
 * const [forAgents] = toOpenAiAgentsTools(runtime, (fields) => openAiTool(fields), { session, only: ["default::weather"] });
 * ```
 * @see https://openai.github.io/openai-agents-js/guides/tools/
 */
export function toOpenAiAgentsTools<Made>(
  runtime: Runtime,
  tool: (fields: OpenAiAgentsFields) => Made,
  options: AdapterOptions = {},
): Made[] {
  checkMaker(tool, "toOpenAiAgentsTools(runtime, tool)", "the function tool of @openai/agents");
  return bridgedTools(runtime, options, "toOpenAiAgentsTools()").map(({ name, description, inputSchema, needsApproval, call }) =>
    tool({
      name,
      description,
      parameters: parametersOf(inputSchema),
      strict: false,
      needsApproval,
      execute: async (input, context, details) => {
        const { callId: id, name: calledAs = name } = details?.toolCall ?? {}; // the program may have given it another name
        const approved = needsApproval && id !== undefined && wasApproved(context, calledAs, id);
        return offeredText(await call(input, { id, signal: details?.signal, approved, context: fieldsOf(context)["context"] }));
      },
    }),
  );
}

/** Whether the run's context holds a person's yes to this call; without it the runtime refuses. */
function wasApproved(context: unknown, toolName: string, callId: string): boolean {
  if (typeof context !== "object" || context === null || !("isToolApproved" in context)) return false;
  return typeof context.isToolApproved === "function" && context.isToolApproved({ toolName, callId }) === true;
}

/** In the loose mode, which takes any schema; the runtime checks. */
function parametersOf(schema: JsonSchema): OpenAiParameters {
  const own = typeof schema === "boolean" ? {} : schema;
  return { properties: {}, required: [], ...own, type: "object", additionalProperties: true };
}

/** A rule that asks for the agent throws, and the tool does not run. */
const NO_AGENT = undefined as never;

/** The fields that we read of a function tool of the Agents SDK. */
export interface OpenAiAgentsToolLike<Context> {
  readonly name: string;
  readonly description: string;
  readonly parameters: unknown;
  needsApproval?(context: Context, input: unknown, callId?: string): Promise<boolean>;
  readonly inputGuardrails?: unknown;
  readonly outputGuardrails?: unknown;
  /** Its second argument, the agent, is not there. */
  isEnabled?(context: Context, agent: never): Promise<boolean>;
  invoke(context: Context, input: string, details?: OpenAiInvokeDetails): Promise<unknown>;
  /** An agent as a tool has it. */
  readonly on?: unknown;
}

interface OpenAiInvokeDetails {
  readonly signal?: AbortSignal;
  readonly toolCall: { readonly type: "function_call"; readonly callId: string; readonly name: string; readonly arguments: string };
}

/**
 * Function tools of the Agents SDK as ours; `contextFor` makes what that SDK gives its tools: `() => new RunContext()`.
 *
 * A tool that needs approval asks by the runtime's `ask`; one that is switched off for the context ends with `unavailable`. The SDK's answer for a tool that threw is a text like any other, and hides why it threw; give such tools `errorFunction: null` to have failures reported as such.
 * Parts that a tool answers with, such as images, are parts of the content here.
 *
 * One with guardrails is refused: the SDK's runner runs those, and nothing else does. An agent as a tool that gives no answer, as where a
 * tool of its own waits for approval, is a failure.
 *
 * @throws ToolError `invalid_schema`, `not_executable` naming the tool; `invalid_argument` for a record
 */
export function fromOpenAiAgentsTools<Context>(
  tools: readonly OpenAiAgentsToolLike<Context>[],
  contextFor: (context: ToolContext) => Context,
): readonly Tool[] {
  checkToolArray(tools, "fromOpenAiAgentsTools()");
  checkMaker(contextFor, "fromOpenAiAgentsTools(tools, contextFor)", "a function that makes the context of the Agents SDK");
  return tools.map((tool) => {
    if (hasAny(tool.inputGuardrails) || hasAny(tool.outputGuardrails))
      throw new ToolError("not_executable", `The tool ${JSON.stringify(tool.name)} has guardrails, which only the Agents SDK runs.`, {
        operatorHint: "Use a tool without them, with hooks or approval of the runtime in their place.",
      });
    return foreignTool({
      name: tool.name,
      description: tool.description,
      schema: tool.parameters,
      execute: async (input: unknown, context: ToolContext) => {
        const theirs = contextFor(context);
        if ((await tool.isEnabled?.(theirs, NO_AGENT)) === false)
          throw new ToolError("unavailable", `${tool.name} is switched off.`, { outcome: "not_started" });
        if ((await tool.needsApproval?.(theirs, input, context.callId)) === true) await askApproval(context, input);
        const sent = JSON.stringify(input);
        const toolCall = { type: "function_call", callId: context.callId, name: tool.name, arguments: sent } as const;
        let output: unknown;
        try {
          output = await tool.invoke(theirs, sent, { signal: context.signal, toolCall });
        } catch (thrown: unknown) {
          throw new ToolError("execution_failed", describeThrown(thrown), { cause: thrown });
        }
        if (output === "" && tool.on !== undefined) throw unanswered(tool.name);
        return withAgentsParts(output);
      },
    });
  });
}

/** An agent answers with an empty text where a tool of its own waits for approval, which the SDK's runner alone asks for. */
function unanswered(name: string): ToolError {
  return new ToolError("execution_failed", `The agent ${name} gave no answer: it may wait for the approval of a call of its own.`, {
    operatorHint:
      "Give the agent tools that need no approval there, such as those of toOpenAiAgentsTools() with an approver of the runtime.",
  });
}

function hasAny(guardrails: unknown): boolean {
  return guardrails !== undefined && !(Array.isArray(guardrails) && guardrails.length === 0);
}
