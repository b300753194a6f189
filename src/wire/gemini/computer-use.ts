/** Gemini's computer use: calls of the functions that Gemini defines become calls of the tool that offers them, and some need confirmation. */
import { canonicalJson } from "../../core/base/canonical-json.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { ToolResult } from "../../core/result.ts";
import { readSafetyChecks, wasConfirmed } from "../../core/safety-checks.ts";
import { toInputObject } from "../conversation-steps.ts";
import { declaredNames } from "../native-tools.ts";

/** The key of the offering tool in `toolNames`; the space keeps it distinct from function names. */
const COMPUTER_USE = "computer use";

/** Returns the names in calls of a tool that is declared in Gemini's own format. */
export function nativeToolNames(words: JsonObject): readonly string[] {
  return isJsonObject(words["computerUse"]) || words["type"] === "computer_use" ? [COMPUTER_USE] : declaredNames(words);
}

/** Returns the tool that a function call is for: the function itself, or computer use if it is offered and no such function is. */
export function resolveCalledTool(name: string, toolNames: ReadonlyMap<string, string> | undefined): string {
  return toolNames?.has(COMPUTER_USE) === true && !toolNames.has(name) ? COMPUTER_USE : name;
}

/** Returns the input of the tool; for a computer-use function, the function's name is added as `action`. */
export function toolInput(tool: string, name: string, input: JsonValue): JsonValue {
  return tool === COMPUTER_USE && isJsonObject(input) ? { ...input, action: name } : input;
}

/** Returns the fields of a call that its answer depends on; undefined if that is only its name. */
export function answerFields(name: string, tool: string, input: JsonValue): JsonObject | undefined {
  return tool === name ? undefined : { name, input };
}

/** Whether a call's input is that of the function call, with or without the name as `action`. */
export function isInputOf(input: JsonValue, { name = null, args = {} }: JsonObject): boolean {
  const wanted = canonicalJson(toInputObject(input));
  const sent = toInputObject(args);
  return canonicalJson(sent) === wanted || canonicalJson({ ...sent, action: name }) === wanted;
}

/** Whether the call is of a function that Gemini defines. @param name the name that Gemini called */
export function isComputerCall(name: string, input: JsonValue): boolean {
  return isJsonObject(input) && input["action"] === name;
}

/** Whether a person has approved a call that Gemini wanted confirmed, which its answer must state. @param name the name that Gemini called */
export function isAcknowledged(name: string, input: JsonValue, result: ToolResult | undefined): boolean {
  return isComputerCall(name, input) && readSafetyChecks(input) !== undefined && wasConfirmed(result);
}
