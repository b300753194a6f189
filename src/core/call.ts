/** A request to run a tool, and functions for tool names. */
import { ToolError } from "./error.ts";
import { checkString } from "./check-argument.ts";

/**
 * One request to run a tool, as the model made it.
 *
 * `name` is a qualified name (`namespace::tool`), or a bare one if only one tool has it. `input` is what the model sent: parsed JSON, not yet
 * validated. `id` is the provider's id, returned in the result.
 *
 * Anthropic `tool_use`, OpenAI `tool_calls[]` / `function_call`, Gemini `functionCall`, MCP `tools/call`.
 */
export interface ToolCall {
  readonly id?: string;
  readonly name: string;
  readonly input?: unknown;
  /** The model's reason for the call, as it wrote it; recorded, never interpreted. */
  readonly reasoning?: string;
}

export const NAMESPACE_SEPARATOR = "::";
export const DEFAULT_NAMESPACE = "default";
/** The namespace of the runtime's own tools, such as `read_result`. They work only in a session, and no stand-in answers for them. */
export const OWN_NAMESPACE = "haft";
export const MAX_NAME_LENGTH = 256;

/** `("weather", "get")` → `"weather::get"`. */
export function qualifiedName(namespace: string, name: string): string {
  return `${namespace}${NAMESPACE_SEPARATOR}${name}`;
}

/** The two parts of a qualified name. */
export interface NameParts {
  readonly namespace: string | undefined;
  readonly name: string;
}

/** Splits at the first `::` only, so that the tool `a::b` of namespace `x` is `x::a::b`. */
export function splitName(name: string): NameParts {
  checkString(name, "splitName()", "the name of a tool");
  const at = name.indexOf(NAMESPACE_SEPARATOR);
  if (at < 0) return { namespace: undefined, name };
  return { namespace: name.slice(0, at), name: name.slice(at + NAMESPACE_SEPARATOR.length) };
}

/**
 * Checks a name that a program or a file gives to a tool or toolset.
 *
 * Accepts any text of 1–256 UTF-16 units without control characters or lone surrogates: names are encoded later for providers with stricter rules.
 * The name of a toolset must not contain `::`.
 *
 * @throws ToolError `invalid_argument`
 */
export function checkName(name: unknown, what: "tool" | "toolset"): asserts name is string {
  if (typeof name !== "string" || name === "")
    throw new ToolError("invalid_argument", `A ${what} needs a name: a string that is not empty.`);
  if (name.length > MAX_NAME_LENGTH)
    throw new ToolError("invalid_argument", `The name of a ${what} has ${name.length} characters; ${MAX_NAME_LENGTH} is the limit.`);
  if (/[\u0000-\u001f\u007f]/u.test(name) || !name.isWellFormed()) {
    throw new ToolError("invalid_argument", `The ${what} name ${JSON.stringify(name)} has a control character or half a surrogate pair.`);
  }
  if (what === "toolset" && name.includes(NAMESPACE_SEPARATOR)) {
    throw new ToolError("invalid_argument", `The toolset name ${JSON.stringify(name)} holds "::", which separates toolset and tool.`);
  }
}
