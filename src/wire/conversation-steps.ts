/** Converts a conversation to the steps that all providers need: spoken messages, and calls directly followed by their results. */
import { hash } from "node:crypto";
import type { ContentPart } from "../core/content.ts";
import { isDeepFrozen } from "../core/base/frozen.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../core/base/json.ts";
import type { CallMessage, ModelMessage, NativeMessage } from "../core/message.ts";
import { isImageType } from "../core/formats/image-type.ts";
import { formatJobText } from "../core/jobs/job-message.ts";
import { partText, resultText, type OfferedName, type ToolResult } from "../core/result.ts";
import { RoundGrouper, type ConversationRound } from "../core/rounds.ts";
import { ProviderNames, providerName } from "./provider-name.ts";
import { readWireJson } from "./framing/wire-json.ts";
import { markStable } from "./step-cache.ts";
import { resultWithValidImages, withValidImages } from "./valid-images.ts";
import { getOrAdd } from "../core/base/get-or-add.ts";

export interface PromptStep {
  readonly kind: "user" | "system" | "document";
  readonly content: string | readonly ContentPart[];
  readonly title: string | undefined;
}

/** One message of the model: its content, then its calls, each with its result. */
export interface AssistantStep {
  readonly kind: "assistant";
  /** Empty text if the message only has calls. */
  readonly content: string | readonly ContentPart[];
  readonly native: NativeMessage | undefined;
  readonly calls: readonly WireCall[];
}

export type ConversationStep = PromptStep | AssistantStep;

export interface WireCall {
  /** Unique in the conversation, made only of characters that the provider allows. */
  readonly id: string;
  /** The id that the provider gave the call. */
  readonly providerId: string | undefined;
  /** The name that is sent to the provider. */
  readonly name: string;
  /** As in `CallMessage`. */
  readonly overload?: string;
  /** The input as the model sent it. */
  readonly input: JsonValue;
  readonly result: ToolResult | undefined;
}

export interface ConversationSteps {
  readonly steps: readonly ConversationStep[];
  /** The tool's own name by the name that is sent to the provider. */
  readonly toolNames: ReadonlyMap<string, string>;
}

/** The ids that a provider accepts unchanged; others are rewritten. */
export interface IdRule {
  readonly allowed: RegExp;
  readonly maxLength: number;
  /** Set if every id must have exactly this length, of letters and digits only. */
  readonly exactLength?: number;
}

/**
 * Converts messages to steps.
 *
 * Consecutive calls of one turn are one message with the assistant's text before them, and with their results, wherever those were. A result without
 * a call is left out, and so is a message without content; of a repeated call, or of two results of one call, the first counts.
 *
 * For a conversation that extends the last one with the same first message, the same step objects are returned, and only the new messages are
 * processed: see `IncrementalSteps`.
 */
export function conversationSteps(messages: readonly ModelMessage[], idRule: IdRule): ConversationSteps {
  const [first] = messages;
  const cache = getOrAdd(CACHED_STEPS, idRule, () => new WeakMap());
  const known = first === undefined ? undefined : cache.get(first);
  if (first !== undefined) cache.delete(first);
  const growing = known?.isPrefixOf(messages) === true ? known : new IncrementalSteps(idRule);
  growing.extend(messages);
  if (first !== undefined && growing.isStable) cache.set(first, growing);
  return { steps: growing.steps.filter(hasStepContent), toolNames: growing.toolNames };
}

/** The steps of a conversation by its first message, with which they are garbage-collected. */
const CACHED_STEPS = new WeakMap<IdRule, WeakMap<ModelMessage, IncrementalSteps>>();

/** The steps of one conversation, to which later messages are added. */
class IncrementalSteps {
  /** One step for each round. */
  readonly steps: ConversationStep[] = [];
  /** Whether later messages can only add calls to the last step: all messages are frozen, and every call has its result. */
  isStable = true;
  #messages: readonly ModelMessage[] = [];
  readonly #groups = new RoundGrouper();
  readonly #results = new Map<string, ToolResult>();
  readonly #names = new ProviderNames();
  readonly #ids: WireIds;

  constructor(idRule: IdRule) {
    this.#ids = new WireIds(idRule);
  }

  get toolNames(): ReadonlyMap<string, string> {
    return new Map(this.#names.decoded);
  }

  isPrefixOf(messages: readonly ModelMessage[]): boolean {
    if (this.#messages.length > messages.length) return false;
    for (let index = 0; index < this.#messages.length; index++) if (this.#messages[index] !== messages[index]) return false;
    return true;
  }

  extend(messages: readonly ModelMessage[]): void {
    for (let index = this.#messages.length; index < messages.length; index++) {
      const message = messages[index];
      if (message === undefined) continue;
      if (message.role === "result" && !this.#results.has(message.callId)) this.#results.set(message.callId, message.result);
      this.#groups.add(message);
      this.isStable &&= isDeepFrozen(message);
    }
    this.#messages = [...messages];
    const { rounds } = this.#groups;
    const first = Math.max(0, this.steps.length - 1);
    for (let index = first; index < rounds.length; index++) {
      const round = rounds[index];
      if (round !== undefined) this.steps[index] = this.#toStep(round, this.steps[index]);
    }
    if (this.isStable) this.steps.slice(first).forEach(markStable);
  }

  /** @param known the round's step so far, if it had one; returned unchanged unless calls were added to the round */
  #toStep(round: ConversationRound, known: ConversationStep | undefined): ConversationStep {
    if (round.by === "job") return known ?? { kind: "user", content: formatJobText(round.message, providerNameOf), title: undefined };
    if (round.by !== "assistant")
      return known ?? { kind: round.by, content: sendableContent(round.message.content), title: round.message.title };
    const calls = known?.kind === "assistant" ? known.calls : [];
    if (known !== undefined && calls.length === round.calls.length) return known;
    return {
      kind: "assistant",
      content: sendableContent(round.message?.content ?? ""),
      native: round.message?.native,
      calls: [...calls, ...round.calls.slice(calls.length).map((message) => this.#toWireCall(message))],
    };
  }

  #toWireCall({ callId, call, overload }: CallMessage): WireCall {
    const result = this.#results.get(callId);
    if (result === undefined) this.isStable = false;
    return {
      id: this.#ids.assign(call.id ?? callId, callId),
      providerId: call.id,
      name: this.#names.encode(result?.name ?? call.name, overload),
      ...(overload === undefined ? {} : { overload }),
      input: toWellFormedJson((call.input ?? {}) as JsonValue), // a recorded call is JSON
      result: resultWithValidImages(result),
    };
  }
}

function sendableContent(content: string | readonly ContentPart[]): string | readonly ContentPart[] {
  return typeof content === "string" ? content : withValidImages(content.filter((part) => part.type !== "text" || part.text !== ""));
}

/** Whether a step has content: providers refuse messages that are empty or only white space. */
function hasStepContent(step: ConversationStep): boolean {
  if (step.kind === "assistant") return step.native !== undefined || !isEmptyStep(step);
  return hasContent(step.content);
}

/** Whether a message has nothing to send to another provider: it has only reasoning. */
export function isEmptyStep({ content, calls }: AssistantStep): boolean {
  return calls.length === 0 && !hasContent(content);
}

function hasContent(content: string | readonly ContentPart[]): boolean {
  return contentParts(content).some((part) => part.type !== "text" || part.text.trim() !== "");
}

/** How a provider's own blocks hold the ids of calls to Haft's tools. */
export interface BlockIds {
  /** Returns the id of a block that is a call to one of Haft's tools; undefined for every other block. */
  readonly idOf: (block: JsonValue) => string | undefined;
  /** Returns the block of a call with another id. Left out: a message whose ids were rewritten is written from Haft's own fields. */
  readonly withId?: (block: JsonValue, id: string) => JsonValue;
}

/**
 * Returns the blocks of a message as this provider made them, without the calls that the conversation no longer has, and with the ids that their
 * results refer to; undefined if the message must be written from Haft's own fields, because another provider made it or its calls are not those of
 * the conversation.
 */
export function nativeBlocks(
  { native, calls }: AssistantStep,
  format: string,
  { idOf, withId }: BlockIds,
): readonly JsonValue[] | undefined {
  if (native?.format !== format) return undefined;
  const wanted = new Map(calls.map((call) => [call.providerId, call]));
  const isRewritten = calls.some(({ id, providerId }) => id !== providerId);
  if (wanted.size !== calls.length || wanted.has(undefined) || (isRewritten && withId === undefined)) return undefined;
  const found = new Set<string>();
  const blocks = native.blocks.flatMap((block) => {
    const id = idOf(block);
    if (id === undefined) return [block];
    const call = wanted.get(id);
    if (call === undefined || found.has(id)) return [];
    found.add(id);
    return [call.id === id || withId === undefined ? block : withId(block, call.id)];
  });
  return found.size === calls.length ? blocks : undefined;
}

/** Names that every provider accepts. */
const VALID_NAME = /^[A-Za-z0-9_-]{1,64}$/u;

/**
 * Replaces the name in a call's block by Haft's name if the model called a tool by an invalid name, or by none: providers would refuse it, and with it
 * every later request of the conversation.
 *
 * @param call the call of the block; undefined if the block is no call, or a call of a kind that has no name
 */
export function withValidName(named: JsonObject, call: Pick<WireCall, "name"> | undefined): JsonObject {
  const { name } = named;
  return call === undefined || (typeof name === "string" && VALID_NAME.test(name)) ? named : { ...named, name: call.name };
}

/**
 * Replaces the text in a call's `arguments` by Haft's input if the model wrote text that is not JSON: many servers parse it, and would refuse every
 * later request of the conversation.
 */
export function withValidArguments(made: JsonObject, call: Pick<WireCall, "input"> | undefined): JsonObject {
  const { arguments: text } = made;
  return call === undefined || typeof text !== "string" || isJsonText(text) ? made : { ...made, arguments: JSON.stringify(call.input) };
}

function isJsonText(text: string): boolean {
  try {
    return readWireJson(text) !== undefined;
  } catch {
    return false; // nested deeper than `readWireJson` reads
  }
}

/** Gives every call a unique id, the provider's own if it is acceptable. */
class WireIds {
  readonly #rule: IdRule;
  readonly #taken = new Set<string>();

  constructor(rule: IdRule) {
    this.#rule = rule;
  }

  /** Deterministic for the same preceding calls, so that a longer conversation has the same prefix as a shorter one. */
  assign(preferred: string, callId: string): string {
    const wanted = this.#toAllowedId(preferred);
    const id = this.#taken.has(wanted) ? this.#withHash(wanted, callId) : wanted;
    this.#taken.add(id);
    return id;
  }

  #toAllowedId(id: string): string {
    const { allowed, maxLength } = this.#rule;
    return id.length <= maxLength && allowed.test(id) ? id : this.#withHash(id, id);
  }

  #withHash(id: string, of: string): string {
    if (this.#rule.exactLength !== undefined) return hash("sha256", JSON.stringify(of)).slice(0, this.#rule.exactLength);
    const base = id.replaceAll(/[^A-Za-z0-9_-]/gu, "_").slice(0, this.#rule.maxLength - 17);
    return `${base}_${hash("sha256", JSON.stringify(of)).slice(0, 16)}`;
  }
}

/** Returns the text of a call's result for the model. @param offeredName returns a tool's name as the model knows it; by default the provider name */
export function answerText(result: ToolResult | undefined, offeredName: OfferedName = providerNameOf): string {
  return (result === undefined ? UNANSWERED : resultText(result, offeredName)).toWellFormed();
}

function providerNameOf(qualifiedName: string): string {
  return providerName(qualifiedName);
}

/** Returns the text of a call's result for the model, never empty, for providers that refuse an empty answer. */
export function nonEmptyAnswerText(result: ToolResult | undefined): string {
  return textOrPlaceholder(answerText(result));
}

export function textOrPlaceholder(text: string): string {
  return text.trim() === "" ? "(no output)" : text;
}

const UNANSWERED = "Error (outcome_unknown): This call has no result: it still runs, or it was interrupted. Its effect is not known.";

/** Whether a provider should mark the answer as an error: there is no result, or its status is neither ok, partial nor pending. */
export function isErrorAnswer(result: ToolResult | undefined): boolean {
  return result === undefined || !(result.status === "ok" || result.status === "partial" || result.status === "pending");
}

export function contentParts(content: string | readonly ContentPart[]): readonly ContentPart[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

/** Returns the whole content as text, for providers that take nothing else. */
export function contentText(content: string | readonly ContentPart[]): string {
  return contentParts(content).map(partText).join("\n").toWellFormed();
}

/** Returns the heading of a document, for providers without document blocks. */
export function documentHeading(title: string | undefined): string {
  return (title === undefined ? "Document:" : `Document ${JSON.stringify(title)}:`).toWellFormed();
}

/** Returns the input as the object that Anthropic and Gemini require; another value is wrapped as `value`. */
export function toInputObject(input: JsonValue): JsonObject {
  return isJsonObject(input) ? input : { value: input };
}

/** Whether a part is an image that all providers take; other images are described as text. */
export function isSupportedImage(part: ContentPart): part is Extract<ContentPart, { type: "image" }> {
  return part.type === "image" && isImageType(part.mediaType);
}

/** Returns JSON without lone surrogates, which providers refuse. */
export function toWellFormedJson(value: JsonObject): JsonObject;
export function toWellFormedJson(value: JsonValue): JsonValue;
export function toWellFormedJson(value: JsonValue): JsonValue {
  if (typeof value === "string") return value.toWellFormed();
  if (isJsonArray(value)) return value.map((item) => toWellFormedJson(item));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key.toWellFormed(), toWellFormedJson(item)]));
}
