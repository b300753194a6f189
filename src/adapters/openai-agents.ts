/** Haft's tools for the OpenAI Agents SDK, and the SDK's tools for Haft. */
import { hash } from "node:crypto";
import type { ToolContext } from "../core/context.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import type { JsonSchema, Tool } from "../core/tool.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { fieldsOf, refuseMcpError, withAgentsParts } from "./model-output.ts";
import {
  askApproval,
  bridgedTools,
  checkFunction,
  checkToolArray,
  foreignTool,
  runBeforeHandler,
  toModelText,
  type AdapterOptions,
} from "./bridge.ts";

/** The fields of a tool that the Agents SDK's `tool` gets. */
export interface OpenAiAgentsFields {
  readonly name: string;
  readonly description: string;
  readonly parameters: OpenAiParameters;
  readonly strict: false;
  /** True if the tool's calls need approval and the runtime has no approver: the SDK then interrupts its run for it. */
  readonly needsApproval: boolean;
  readonly execute: (input: unknown, context?: unknown, details?: OpenAiCallDetails) => Promise<string>;
}

interface OpenAiParameters {
  readonly type: "object";
  readonly properties: Readonly<Record<string, never>>;
  // mutable, as the SDK declares it
  readonly required: string[];
  readonly additionalProperties: true;
}

interface OpenAiCallDetails {
  readonly toolCall?: { readonly callId?: string; readonly name?: string; readonly namespace?: unknown };
  readonly signal?: AbortSignal;
}

/**
 * Converts the tools of a runtime to the Agents SDK's. Pass the SDK's own `tool` function. A failure is returned as text, like a result. As the SDK
 * replaces hyphens in names, `get-user` becomes `get_user`; if there is a tool of that name too, a hash is appended.
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
  checkFunction(tool, "toOpenAiAgentsTools(runtime, tool)", "the function tool of @openai/agents");
  const bridged = bridgedTools(runtime, options, "toOpenAiAgentsTools()");
  const names = sdkNames(bridged.map(({ name }) => name));
  const rename = (name: string): string => names.get(name) ?? toSdkName(name);
  return bridged.map(({ name: givenName, description, inputSchema, needsApproval, call }) => {
    const name = rename(givenName);
    return tool({
      name,
      description,
      parameters: toParameters(inputSchema),
      strict: false,
      needsApproval,
      execute: async (input, context, details) => {
        const { callId: id, name: calledAs = name, namespace } = details?.toolCall ?? {}; // the program may have renamed the tool
        const approved =
          needsApproval && id !== undefined && approvalNames(calledAs, namespace).some((toolName) => wasApproved(context, toolName, id));
        return toModelText(await call(input, { id, signal: details?.signal, approved, context: fieldsOf(context)["context"] }), rename);
      },
    });
  });
}

/** The name that the SDK makes of a name: it replaces hyphens. */
function toSdkName(name: string): string {
  return name.replaceAll("-", "_");
}

const MAX_BASE_LENGTH = 64 - "__".length - 16;

/**
 * The names of tools in the SDK. If it would make one name of several, only one of the tools would be offered: then those with hyphens end with `__`
 * and 16 hex digits of a hash of their name.
 */
function sdkNames(names: readonly string[]): ReadonlyMap<string, string> {
  const counts = new Map<string, number>();
  for (const name of names.map(toSdkName)) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map(
    names.map((name) => {
      const made = toSdkName(name);
      if (made === name || counts.get(made) === 1) return [name, made];
      return [name, `${made.slice(0, MAX_BASE_LENGTH)}__${hash("sha256", name).slice(0, 16)}`];
    }),
  );
}

/**
 * The names under which the SDK keeps approvals of a tool, by where the program has put it: at the top level, deferred until it is searched for (then
 * its namespace, if it has one, is its own name), or in a namespace. State of older versions has names without brackets.
 */
function approvalNames(name: string, namespace: unknown): readonly string[] {
  const isNamespaced = typeof namespace === "string" && namespace !== "" && namespace !== name;
  return isNamespaced
    ? [`${namespace}.${name}`, JSON.stringify(["namespaced", namespace, name])]
    : [name, JSON.stringify(["deferred_top_level", name])];
}

/** Whether the run's context contains a person's approval of this call; without one, the runtime refuses the call. */
function wasApproved(context: unknown, toolName: string, callId: string): boolean {
  if (typeof context !== "object" || context === null || !("isToolApproved" in context)) return false;
  return typeof context.isToolApproved === "function" && context.isToolApproved({ toolName, callId }) === true;
}

/** The schema for the SDK's non-strict mode, which accepts any schema; the runtime checks the input. */
function toParameters(schema: JsonSchema): OpenAiParameters {
  const own = typeof schema === "boolean" ? {} : schema;
  return { properties: {}, required: [], ...own, type: "object", additionalProperties: true };
}

/** Passed in place of the agent: a rule that uses it throws, and the tool does not run. */
const NO_AGENT = undefined as never;

/** The fields that are read of a function tool of the Agents SDK. */
export interface OpenAiAgentsToolLike<Context> {
  readonly name: string;
  readonly description: string;
  readonly parameters: unknown;
  needsApproval?(context: Context, input: unknown, callId?: string): Promise<boolean>;
  readonly inputGuardrails?: unknown;
  readonly outputGuardrails?: unknown;
  /** The second argument, the agent, is always undefined. */
  isEnabled?(context: Context, agent: never): Promise<boolean>;
  invoke(context: Context, input: string, details?: OpenAiInvokeDetails): Promise<unknown>;
  /** Set if the tool is an agent as a tool. */
  readonly on?: unknown;
}

interface OpenAiInvokeDetails {
  readonly signal?: AbortSignal;
  readonly toolCall: { readonly type: "function_call"; readonly callId: string; readonly name: string; readonly arguments: string };
}

/**
 * Converts function tools of the Agents SDK to Haft tools. `contextFor` makes the context that the SDK gives its tools: `() => new RunContext()`.
 *
 * A tool that needs approval asks through the runtime's `ask`; one that is disabled for the context ends with `unavailable`. The SDK answers for a
 * tool that threw with an ordinary text, which hides the failure; set `errorFunction: null` on such tools to have failures reported. Content parts in
 * an answer, such as images, stay content parts.
 *
 * A tool with guardrails is refused, as only the SDK's runner executes them. An agent as a tool that gives no answer, for example because one of its
 * own tools waits for approval, is a failure.
 *
 * @throws ToolError `invalid_schema`, `not_executable` naming the tool; `invalid_argument` for a record
 */
export function fromOpenAiAgentsTools<Context>(
  tools: readonly OpenAiAgentsToolLike<Context>[],
  contextFor: (context: ToolContext) => Context,
): readonly Tool[] {
  checkToolArray(tools, "fromOpenAiAgentsTools()");
  checkFunction(contextFor, "fromOpenAiAgentsTools(tools, contextFor)", "a function that makes the context of the Agents SDK");
  return tools.map((tool) => {
    if (hasAny(tool.inputGuardrails) || hasAny(tool.outputGuardrails))
      throw new ToolError("not_executable", `The tool ${JSON.stringify(tool.name)} has guardrails, which only the Agents SDK runs.`, {
        operatorHint: "Use a tool without guardrails, and hooks or approvals of the runtime instead.",
      });
    return foreignTool({
      name: tool.name,
      description: tool.description,
      schema: tool.parameters,
      execute: async (input: unknown, context: ToolContext) => {
        const theirs = await runBeforeHandler(() => contextFor(context));
        // as in the SDK, any value counts, not only true: programs return the match of a pattern, or a number
        if (!(await runBeforeHandler(() => tool.isEnabled?.(theirs, NO_AGENT) ?? tool.isEnabled === undefined)))
          throw new ToolError("unavailable", `${tool.name} is disabled.`, { outcome: "not_started" });
        if (await runBeforeHandler(() => tool.needsApproval?.(theirs, input, context.callId))) await askApproval(context, input);
        const sent = JSON.stringify(input);
        const toolCall = { type: "function_call", callId: context.callId, name: tool.name, arguments: sent } as const;
        let output: unknown;
        try {
          output = await tool.invoke(theirs, sent, { signal: context.signal, toolCall });
        } catch (thrown: unknown) {
          throw new ToolError("execution_failed", describeThrown(thrown), { cause: thrown });
        }
        if (output === "" && tool.on !== undefined) throw noAnswerError(tool.name);
        return withAgentsParts(refuseMcpError(output));
      },
    });
  });
}

/** The error for an agent that answers with an empty text, as it does if one of its tools waits for approval: only the SDK's runner asks for that. */
function noAnswerError(name: string): ToolError {
  return new ToolError("execution_failed", `The agent ${name} gave no answer: it may be waiting for approval of one of its own calls.`, {
    operatorHint:
      "Give the agent tools that need no approval there, such as those of toOpenAiAgentsTools() with an approver of the runtime.",
  });
}

function hasAny(guardrails: unknown): boolean {
  return guardrails !== undefined && !(Array.isArray(guardrails) && guardrails.length === 0);
}
