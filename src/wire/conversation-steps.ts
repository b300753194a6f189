/** A conversation in the steps that every provider wants: what was said, and calls with their results right behind them. */
import { hash } from "node:crypto";
import type { ContentPart } from "../core/content.ts";
import { isJsonArray, isJsonObject } from "../core/base/json.ts";
import type { JsonObject, JsonValue } from "../core/base/json.ts";
import type { CallMessage, ModelMessage, NativeMessage } from "../core/message.ts";
import { partText, resultText } from "../core/result.ts";
import type { OfferedName, ToolResult } from "../core/result.ts";
import { groupRounds } from "../core/rounds.ts";
import { ProviderNames, providerName } from "./provider-name.ts";

export interface SpokenStep {
  readonly kind: "user" | "system" | "document";
  readonly content: string | readonly ContentPart[];
  readonly title: string | undefined;
}

/** One message of the model: what it said, then the calls it made, each with its result. */
export interface AssistantStep {
  readonly kind: "assistant";
  /** Empty text where it only called. */
  readonly content: string | readonly ContentPart[];
  readonly native: NativeMessage | undefined;
  readonly calls: readonly WireCall[];
}

export type ConversationStep = SpokenStep | AssistantStep;

export interface WireCall {
  /** Unique in the conversation, of the characters the provider allows. */
  readonly id: string;
  /** As the model's provider gave it. */
  readonly providerId: string | undefined;
  /** As the provider is given it. */
  readonly name: string;
  /** As the model sent it. */
  readonly input: JsonValue;
  readonly result: ToolResult | undefined;
}

export interface ConversationSteps {
  readonly steps: readonly ConversationStep[];
  /** By the name the provider is given, the tool's own. */
  readonly toolNames: ReadonlyMap<string, string>;
}

/** Which ids a provider takes as they are; others are made fit. */
export interface IdRule {
  readonly allowed: RegExp;
  readonly maxLength: number;
  /** Set where every id has the same length, of letters and digits only. */
  readonly exactLength?: number;
}

/**
 * Calls that stand next to each other and are of one turn are one message with what the assistant said before them, their results
 * wherever those stood. A result without a call is left out, and so is a message without content; a call that is there twice, or has two
 * results, counts the first time.
 */
export function conversationSteps(messages: readonly ModelMessage[], idRule: IdRule): ConversationSteps {
  const results = new Map<string, ToolResult>();
  for (const message of messages)
    if (message.role === "result" && !results.has(message.callId)) results.set(message.callId, message.result);
  const names = new ProviderNames();
  const ids = new WireIds(idRule);
  const steps = groupRounds(messages).map((round): ConversationStep => {
    if (round.by !== "assistant") return { kind: round.by, content: withoutEmpty(round.said.content), title: round.said.title };
    return {
      kind: "assistant",
      content: withoutEmpty(round.said?.content ?? ""),
      native: round.said?.native,
      calls: round.calls.map((message) => wireCall(message, results.get(message.callId), { names, ids })),
    };
  });
  return { steps: steps.filter(saysSomething), toolNames: names.decoded };
}

function withoutEmpty(content: string | readonly ContentPart[]): string | readonly ContentPart[] {
  return typeof content === "string" ? content : content.filter((part) => part.type !== "text" || part.text !== "");
}

/** Providers refuse messages of nothing, or of white space. */
function saysSomething(step: ConversationStep): boolean {
  if (step.kind === "assistant" && (step.calls.length > 0 || step.native !== undefined)) return true;
  return contentParts(step.content).some((part) => part.type !== "text" || part.text.trim() !== "");
}

interface Encoders {
  readonly names: ProviderNames;
  readonly ids: WireIds;
}

function wireCall({ callId, call }: CallMessage, result: ToolResult | undefined, { names, ids }: Encoders): WireCall {
  return {
    id: ids.take(call.id ?? callId, callId),
    providerId: call.id,
    name: names.encode(result?.name ?? call.name),
    input: wellFormed((call.input ?? {}) as JsonValue), // a recorded call is JSON
    result,
  };
}

/**
 * The blocks of a message as this provider made them, without the calls that the conversation no longer has; undefined where the
 * message must be written in our words: another provider made it, or its calls are not those of the conversation.
 *
 * @param callIdOf the id of a block that is a call of ours; undefined for every other block
 */
export function nativeBlocks(
  { native, calls }: AssistantStep,
  format: string,
  callIdOf: (block: JsonValue) => string | undefined,
): readonly JsonValue[] | undefined {
  if (native?.format !== format) return undefined;
  const wanted = new Set(calls.map(({ id, providerId }) => (id === providerId ? id : undefined)));
  const found = new Set<string>();
  const blocks = native.blocks.filter((block) => {
    const id = callIdOf(block);
    if (id === undefined) return true;
    found.add(id);
    return wanted.has(id);
  });
  return calls.every(({ id, providerId }) => id === providerId && found.has(id)) ? blocks : undefined;
}

/** Gives every call an id of its own, its provider's where that will do. */
class WireIds {
  readonly #rule: IdRule;
  readonly #taken = new Set<string>();

  constructor(rule: IdRule) {
    this.#rule = rule;
  }

  /** The same every time for the same calls before it, so that a longer conversation begins like a shorter one. */
  take(preferred: string, callId: string): string {
    const wanted = this.#fit(preferred);
    const id = this.#taken.has(wanted) ? this.#marked(wanted, callId) : wanted;
    this.#taken.add(id);
    return id;
  }

  #fit(id: string): string {
    const { allowed, maxLength } = this.#rule;
    return id.length <= maxLength && allowed.test(id) ? id : this.#marked(id, id);
  }

  #marked(id: string, of: string): string {
    if (this.#rule.exactLength !== undefined) return hash("sha256", JSON.stringify(of)).slice(0, this.#rule.exactLength);
    const base = id.replaceAll(/[^A-Za-z0-9_-]/gu, "_").slice(0, this.#rule.maxLength - 17);
    return `${base}_${hash("sha256", JSON.stringify(of)).slice(0, 16)}`;
  }
}

/** What the model reads of a call's result. @param offeredName how the model was given its tools; by default as providers are given them */
export function answerText(result: ToolResult | undefined, offeredName: OfferedName = providerNameOf): string {
  return (result === undefined ? UNANSWERED : resultText(result, offeredName)).toWellFormed();
}

function providerNameOf(qualifiedName: string): string {
  return providerName(qualifiedName);
}

/** What the model reads of a call's result where a provider refuses an answer of nothing. */
export function shownAnswer(result: ToolResult | undefined): string {
  return orNoOutput(answerText(result));
}

export function orNoOutput(text: string): string {
  return text.trim() === "" ? "(no output)" : text;
}

const UNANSWERED = "Error (outcome_unknown): This call has no result: it still runs, or it was interrupted. What it did is not known.";

/** True for an answer that a provider should mark as an error: there is nothing in it to work with. */
export function isErrorAnswer(result: ToolResult | undefined): boolean {
  return result === undefined || (result.status !== "ok" && result.status !== "partial");
}

export function contentParts(content: string | readonly ContentPart[]): readonly ContentPart[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

/** All of a content as text, for where a provider takes nothing else. */
export function contentText(content: string | readonly ContentPart[]): string {
  return contentParts(content).map(partText).join("\n").toWellFormed();
}

/** A document for providers that have no place for one. */
export function documentHeading(title: string | undefined): string {
  return (title === undefined ? "Document:" : `Document ${JSON.stringify(title)}:`).toWellFormed();
}

/** The input as the object that Anthropic and Gemini ask for; what is none stands under `value`. */
export function inputObject(input: JsonValue): JsonObject {
  return isJsonObject(input) ? input : { value: input };
}

/** Images that all providers take; others are named in words. */
export const IMAGE_TYPES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** JSON without half surrogate pairs, which providers refuse. */
export function wellFormed(value: JsonValue): JsonValue {
  if (typeof value === "string") return value.toWellFormed();
  if (isJsonArray(value)) return value.map(wellFormed);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key.toWellFormed(), wellFormed(item)]));
}
