/** A hook for the calls of one tool, typed by its schema. */
import { DEFAULT_NAMESPACE, NAMESPACE_SEPARATOR, qualifiedName, type ToolCall } from "../core/call.ts";
import { checkString } from "../core/check-argument.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import { HOOK_FIELDS, type Hook, type HookContext, type HookDecision } from "../core/hook.ts";
import type { ToolResult } from "../core/result.ts";
import { createInputRepair } from "../registry/input-repair.ts";
import type { DefinedTool, SchemaSource } from "../registry/define-tool.ts";
import type { InferSent } from "../schema/infer-schema.ts";
import type { Mutable } from "../core/base/mutable.ts";
import { providerName } from "../wire/provider-name.ts";
import { isOfOverload } from "./call-hook.ts";

/** A call whose input fits the schema of its tool, before any transform. */
export interface TypedCall<Input> extends ToolCall {
  readonly input: Input;
}

/** A hook for the calls of one tool, whose input has the type of its schema. */
export interface ToolHook<Input extends SchemaSource> extends Omit<Hook, "beforeCall" | "afterCall"> {
  /** The tool whose calls the hook sees; calls of other tools skip it. */
  readonly tool: DefinedTool<Input>;
  /** The toolset of the tool. @default "default" */
  readonly toolset?: string;
  /** As in `Hook`. A call whose input does not fit the tool's schema is stopped without calling it. */
  beforeCall?(call: TypedCall<InferSent<Input>>, context: HookContext): HookDecision | Promise<HookDecision>;
  /** As in `Hook`. */
  afterCall?(result: ToolResult, context: HookContext): ReturnType<NonNullable<Hook["afterCall"]>>;
}

const OPTIONS: OptionNames<ToolHook<SchemaSource>> = { ...HOOK_FIELDS, tool: true, toolset: true };

/**
 * Makes a hook for the calls of one tool, under every name by which the tool is found: its qualified and its bare name, its encoded name for
 * providers, and the qualified name with a single colon.
 *
 * @throws ToolError `invalid_argument` for a tool that `defineTool` did not make, and for a hook that does nothing
 */
export function defineHook<Input extends SchemaSource>(options: ToolHook<Input>): Hook {
  checkKnownKeys<Partial<Record<keyof ToolHook<SchemaSource>, unknown>>>(options, OPTIONS, "defineHook()");
  const { tool, toolset = DEFAULT_NAMESPACE } = options;
  if (typeof tool?.inputSchema !== "object" || typeof tool.name !== "string")
    throw new ToolError("invalid_argument", "defineHook() needs the tool that the hook is for: defineHook({ tool, name, beforeCall }).");
  if (options.beforeCall === undefined && options.afterCall === undefined)
    throw new ToolError("invalid_argument", `The hook ${JSON.stringify(options.name)} has neither beforeCall nor afterCall.`);
  checkString(toolset, "defineHook({ toolset })", "the name of a toolset");
  const name = qualifiedName(toolset, tool.name);
  const repair = createInputRepair(tool) as (input: unknown) => InferSent<Input> | undefined; // the schema says so
  const names = namesOf(name, tool.name);
  const hook: Mutable<Hook> = settingsOf(options);
  if (options.beforeCall !== undefined) {
    hook.beforeCall = (call, context) => {
      if (!names.has(call.name) || !isOfOverload(call, context, tool.inputSchema)) return undefined;
      const input = repair(call.input ?? {});
      if (input === undefined) return { veto: `The input of ${name} does not fit its schema.` };
      return options.beforeCall?.({ ...call, input }, context);
    };
  }
  if (options.afterCall !== undefined)
    hook.afterCall = (result, context) =>
      result.name === name && isOfOverload(result, context, tool.inputSchema) ? options.afterCall?.(result, context) : undefined;
  return hook;
}

/** Every name by which `ToolNames` finds the tool: a call by any other name would skip the hook. */
function namesOf(name: string, bareName: string): ReadonlySet<string> {
  const names = new Set([name, bareName, providerName(name)]);
  for (let at = name.indexOf(NAMESPACE_SEPARATOR); at >= 0; at = name.indexOf(NAMESPACE_SEPARATOR, at + 1))
    names.add(`${name.slice(0, at)}:${name.slice(at + NAMESPACE_SEPARATOR.length)}`);
  return names;
}

function settingsOf<Input extends SchemaSource>(options: ToolHook<Input>): Hook {
  const own = new Set(["tool", "toolset", "beforeCall", "afterCall"]);
  return Object.fromEntries(Object.entries(options).filter(([key]) => !own.has(key))) as unknown as Hook; // the remaining options
}
