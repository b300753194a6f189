/** Gemini's computer use: the functions that it defines are calls of the one tool that offers it, and some want to be confirmed. */
import { canonicalJson } from "../../core/base/canonical-json.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { ToolResult } from "../../core/result.ts";
import { safetyChecks, wasConfirmed } from "../../core/safety-checks.ts";
import { inputObject } from "../conversation-steps.ts";
import { namedWords } from "../own-tools.ts";

/** By this name the tool is found that offers it; no function has it. */
const COMPUTER_USE = "computer use";

/** The names that calls of a tool in Gemini's own words have. */
export function ownNames(words: JsonObject): readonly string[] {
  return isJsonObject(words["computerUse"]) || words["type"] === "computer_use" ? [COMPUTER_USE] : namedWords(words);
}

/** The tool that a function is called of: itself, or the computer where the function is not of those offered. */
export function calledTool(name: string, toolNames: ReadonlyMap<string, string> | undefined): string {
  return toolNames?.has(COMPUTER_USE) === true && !toolNames.has(name) ? COMPUTER_USE : name;
}

/** The input of the tool: for a function of the computer, with its name as `action`. */
export function toolInput(tool: string, name: string, input: JsonValue): JsonValue {
  return tool === COMPUTER_USE && isJsonObject(input) ? { ...input, action: name } : input;
}

/** The parts of a call on which its answer depends; undefined where that is its name alone. */
export function answeredCall(name: string, tool: string, input: JsonValue): JsonObject | undefined {
  return tool === name ? undefined : { name, input };
}

/** Whether the input of a call is that of this function, also where its name is the `action` of the computer. */
export function isInputOf(input: JsonValue, { name = null, args = {} }: JsonObject): boolean {
  const wanted = canonicalJson(inputObject(input));
  const sent = inputObject(args);
  return canonicalJson(sent) === wanted || canonicalJson({ ...sent, action: name }) === wanted;
}

/** Whether the call is one of a function that Gemini defines. @param name as Gemini called it */
export function isOfComputer(name: string, input: JsonValue): boolean {
  return isJsonObject(input) && input["action"] === name;
}

/** Whether the answer says that a person has allowed the call, because it could not run before. @param name as Gemini called it */
export function isAcknowledged(name: string, input: JsonValue, result: ToolResult | undefined): boolean {
  return isOfComputer(name, input) && safetyChecks(input) !== undefined && wasConfirmed(result);
}
