/** Fields of a call's input by which the model's provider wants a person to confirm an action of a computer before it is run here. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "./base/json.ts";
import type { ToolResult } from "./result.ts";
import type { Tool } from "./tool.ts";

/** Of OpenAI's `computer_call`: objects with `id`, `code` and `message`. */
export const PENDING_CHECKS = "pending_safety_checks";
/** Of Gemini's computer use: an object with `decision` and `explanation`. */
export const SAFETY_DECISION = "safety_decision";
const MAX_LENGTH = 1_000;

/** Decisions by which nothing is asked. A decision of another name is asked about. @see https://ai.google.dev/gemini-api/docs/computer-use */
const REGULAR: ReadonlySet<string> = new Set(["regular", "allowed"]);

/** The type of a computer in the words of OpenAI and of Gemini, with or without a version. */
const COMPUTER = /^computer(?:_|$)/u;
/** The name of a call of OpenAI's computer where no tool offers it. */
const UNNAMED_COMPUTER = "computer_call";

/** Whether calls of the tool may have such fields. Those of any other tool that are named so are parameters of its own. */
export function isComputer({ name, providers = {} }: Pick<Tool, "name" | "providers">): boolean {
  return name === UNNAMED_COMPUTER || Object.values(providers).some(describesComputer);
}

function describesComputer({ type, computerUse }: JsonObject): boolean {
  return isJsonObject(computerUse) || (typeof type === "string" && COMPUTER.test(type));
}

/** The fields of a computer's input that ask for a confirmation; undefined where there are none. */
export function safetyChecks(input: unknown): JsonObject | undefined {
  if (!isJsonObject(input)) return undefined;
  const checks = pendingChecks(input);
  const decision = Object.hasOwn(input, SAFETY_DECISION) ? input[SAFETY_DECISION] : undefined;
  const isAsked = asks(decision);
  if (checks.length === 0 && !isAsked) return undefined;
  return { ...(checks.length === 0 ? {} : { [PENDING_CHECKS]: checks }), ...(isAsked ? { [SAFETY_DECISION]: decision } : {}) };
}

function asks(decision: JsonValue | undefined): decision is JsonObject {
  const said = isJsonObject(decision) ? decision["decision"] : undefined;
  return typeof said === "string" && !REGULAR.has(said.toLowerCase());
}

/** The input without these fields of it, as its tool is given it. */
export function withoutChecks(input: JsonObject, checks: JsonObject | undefined): JsonObject {
  if (checks === undefined) return input;
  return Object.fromEntries(Object.entries(input).filter(([key]) => !Object.hasOwn(checks, key)));
}

/** OpenAI's checks of a call, which are acknowledged as they came. */
export function pendingChecks(input: JsonObject): readonly JsonValue[] {
  const checks = Object.hasOwn(input, PENDING_CHECKS) ? input[PENDING_CHECKS] : undefined;
  return isJsonArray(checks) ? checks.filter((check) => check !== null) : [];
}

/** Whether a call with checks was allowed: its tool was run for real, which does not happen before. A stand-in answers without a question. */
export function wasConfirmed(result: ToolResult | undefined): boolean {
  return result !== undefined && result.attempts > 0 && result.origin === "live";
}

/** Why a call with these fields needs approval: in one line, so that nothing of it passes for the input that is shown below. */
export function safetyReason(checks: JsonObject): string {
  const decision = checks[SAFETY_DECISION];
  const said = [
    ...pendingChecks(checks).map((check) => (isJsonObject(check) ? joined(check["code"], check["message"]) : joined(undefined, check))),
    ...(isJsonObject(decision) ? [joined(undefined, decision["explanation"])] : []),
  ].filter((text) => text !== "");
  const texts = said.length === 0 ? "it does not say why" : said.join("; ").replaceAll(/\s+/gu, " ");
  return `The model's provider asks for a confirmation: ${texts.slice(0, MAX_LENGTH).toWellFormed()}`;
}

function joined(code: JsonValue | undefined, message: JsonValue | undefined): string {
  return [code, message].filter((text) => typeof text === "string" && text !== "").join(": ");
}
