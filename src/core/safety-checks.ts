/** Input fields with which the model's provider asks that a person confirm a computer action before Haft runs it. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "./base/json.ts";
import type { ToolResult } from "./result.ts";
import type { Tool } from "./tool.ts";

/** The field of OpenAI's `computer_call`: objects with `id`, `code` and `message`. */
export const PENDING_CHECKS = "pending_safety_checks";
/** The field of Gemini's computer use: an object with `decision` and `explanation`. */
export const SAFETY_DECISION = "safety_decision";
const MAX_LENGTH = 1_000;

/** Decisions that need no confirmation. Anything else does, in whatever form it comes. @see https://ai.google.dev/gemini-api/docs/computer-use */
const APPROVED_DECISIONS: ReadonlySet<string> = new Set(["regular", "allowed"]);

/** Tool types for computer use at OpenAI and Gemini, with or without a version. */
const COMPUTER_TOOL_TYPE = /^computer(?:_|$)/u;
/** The name of an OpenAI computer call if no tool offers it. */
const COMPUTER_CALL_NAME = "computer_call";

/** Whether calls of the tool may have these fields. In the input of any other tool, fields of these names are ordinary parameters. */
export function isComputerTool({ name, providers = {} }: Pick<Tool, "name" | "providers">): boolean {
  return name === COMPUTER_CALL_NAME || Object.values(providers).some(isComputerDeclaration);
}

function isComputerDeclaration({ type, computerUse }: JsonObject): boolean {
  return isJsonObject(computerUse) || (typeof type === "string" && COMPUTER_TOOL_TYPE.test(type));
}

/** Returns the fields of a computer call's input that ask for confirmation; undefined if there are none. */
export function readSafetyChecks(input: unknown): JsonObject | undefined {
  if (!isJsonObject(input)) return undefined;
  const checks = readPendingChecks(input);
  const decision = Object.hasOwn(input, SAFETY_DECISION) ? input[SAFETY_DECISION] : undefined;
  const isAsked = asksConfirmation(decision);
  if (checks.length === 0 && !isAsked) return undefined;
  return { ...(checks.length === 0 ? {} : { [PENDING_CHECKS]: checks }), ...(isAsked ? { [SAFETY_DECISION]: decision } : {}) };
}

function asksConfirmation(decision: JsonValue | undefined): decision is JsonValue {
  if (decision === undefined || decision === null) return false;
  const decisionText = isJsonObject(decision) ? decision["decision"] : undefined;
  return typeof decisionText !== "string" || !APPROVED_DECISIONS.has(decisionText.toLowerCase());
}

/** Returns the input without these fields, as the tool gets it. */
export function withoutSafetyChecks(input: JsonObject, checks: JsonObject | undefined): JsonObject {
  if (checks === undefined) return input;
  return Object.fromEntries(Object.entries(input).filter(([key]) => !Object.hasOwn(checks, key)));
}

/** Returns the checks of an OpenAI call, which have to be acknowledged unchanged. A value that is not an array counts as one check. */
export function readPendingChecks(input: JsonObject): readonly JsonValue[] {
  const { [PENDING_CHECKS]: checks = null } = Object.hasOwn(input, PENDING_CHECKS) ? input : {};
  return (isJsonArray(checks) ? checks : [checks]).filter((check) => check !== null);
}

/** Whether a call with checks was approved: its tool really ran, which happens only after approval. A stand-in answers without a question. */
export function wasConfirmed(result: ToolResult | undefined): boolean {
  return result !== undefined && result.attempts > 0 && result.origin === "live";
}

/** Returns why a call with these fields needs approval, as one line, so that no part of it can look like the input shown below it. */
export function formatSafetyReason(checks: JsonObject): string {
  const decision = checks[SAFETY_DECISION];
  const reasons = [
    ...readPendingChecks(checks).map((check) =>
      isJsonObject(check) ? joinCodeAndMessage(check["code"], check["message"]) : joinCodeAndMessage(undefined, check),
    ),
    joinCodeAndMessage(undefined, isJsonObject(decision) ? decision["explanation"] : decision),
  ].filter((text) => text !== "");
  const texts = reasons.length === 0 ? "it does not say why" : reasons.join("; ").replaceAll(/\s+/gu, " ");
  return `The model's provider asks for a confirmation: ${texts.slice(0, MAX_LENGTH).toWellFormed()}`;
}

function joinCodeAndMessage(code: JsonValue | undefined, message: JsonValue | undefined): string {
  return [code, message].filter((text) => typeof text === "string" && text !== "").join(": ");
}
