/** Plays one conversation in a session of its own. */
import { createLoop } from "../../compose/loop.ts";
import type { StopReason } from "../../compose/stop-reason.ts";
import type { JsonValue } from "../../core/base/json.ts";
import type { ToolCall } from "../../core/call.ts";
import { ToolError, type ErrorInfo } from "../../core/error.ts";
import type { ModelTool } from "../../core/model.ts";
import type { ToolResult } from "../../core/result.ts";
import type { Visibility } from "../../policy/visibility.ts";
import type { RuntimeSession } from "../../runtime/runtime-session.ts";
import type { PlayedPlan } from "./conversation-plan.ts";
import type { Random } from "../../core/ports.ts";
import type { Tool } from "../../core/tool.ts";
import { oneCallModel } from "./one-call-model.ts";
import type { AnsweredCall, ConversationWriter } from "./conversation-writer.ts";
import type { ConversationTemplate, TemplateMessage } from "./conversation-template.ts";
import { TemplateReferences, callIds } from "./template-references.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";

/** The session and settings with which a conversation is played. */
export interface ConversationPlace {
  readonly session: RuntimeSession;
  readonly signal: AbortSignal;
  readonly allow: Visibility | undefined;
  /** Seed of this conversation, for engines that generate answers. */
  readonly variation: string;
  /** Whether a message may have several calls. */
  readonly parallelCalls: boolean;
}

/** How a conversation ended. */
export interface ConversationEnd {
  /** Why the model stopped, if a model played it. */
  readonly stop?: StopReason;
  /** The error because of which the rest is missing. */
  readonly error?: ErrorInfo;
}

/** The end of a complete conversation. */
export const WHOLE: ConversationEnd = Object.freeze({});

/** The template and the writer of a scripted conversation. */
export interface ScriptedPart {
  readonly template: ConversationTemplate;
  /** Writes the missing answers of turns; undefined = they stay without. */
  readonly writer: ConversationWriter | undefined;
  readonly random: Random;
  readonly toolNamed: (name: string) => Tool | undefined;
}

/** Plays the messages and calls of the template, resolving references. One without a value ends the conversation before its message. */
export async function playScripted(part: ScriptedPart, place: ConversationPlace): Promise<ConversationEnd> {
  const { messages } = part.template;
  const references = new TemplateReferences(messages);
  const ids = callIds(messages);
  const turn = new OpenTurn(part, place);
  for (const [index, message] of messages.entries()) {
    place.signal.throwIfAborted();
    if (message.role === "user") await turn.answer();
    const content = references.fill(message.content ?? "");
    const calls = message.role === "assistant" ? (message.calls ?? []) : [];
    const resolved = calls.map((call, at): ToolCall => ({ ...call, id: ids[index]?.[at] ?? "", input: references.resolve(call) }));
    if (content !== "") await place.session.addMessage({ role: message.role, content });
    turn.said(message.role, content);
    if (resolved.length === 0) continue;
    const results = await runCalls(resolved, place);
    for (const [at, result] of results.entries()) references.learn(resolved[at]?.id ?? "", result);
    turn.answered(resolved, results);
  }
  await turn.answer();
  return WHOLE;
}

/** The results since the last message of the assistant. */
class OpenTurn {
  readonly #part: ScriptedPart;
  readonly #place: ConversationPlace;
  #index = 0;
  #request = "";
  #calls: AnsweredCall[] = [];

  constructor(part: ScriptedPart, place: ConversationPlace) {
    this.#part = part;
    this.#place = place;
  }

  said(role: TemplateMessage["role"], content: string): void {
    if (role === "user") this.#request = content;
    if (role === "assistant" && content !== "") this.#calls = [];
  }

  answered(calls: readonly ToolCall[], results: readonly ToolResult[]): void {
    const answered = results.map((result, at) => ({
      tool: this.#part.toolNamed(result.name),
      input: (calls[at]?.input ?? {}) as JsonValue,
      result,
    })); // a template is JSON
    this.#calls.push(...answered);
  }

  async answer(): Promise<void> {
    const { writer, random } = this.#part;
    const { session, signal } = this.#place;
    const calls = this.#calls;
    if (writer === undefined || calls.length === 0) return;
    this.#calls = [];
    const turn = { index: this.#index++, request: this.#request, calls, unmade: [] };
    await session.addMessage({ role: "assistant", content: await writer.answer(turn, { random, signal }) });
  }
}

/** Runs the calls of one message, in one message each if a message may not have several. */
export async function runCalls(
  calls: readonly ToolCall[],
  { session, signal, allow, variation, parallelCalls }: ConversationPlace,
): Promise<readonly ToolResult[]> {
  const options = omitUndefined({ signal, allow, variation });
  if (parallelCalls) return await session.execute(calls, options);
  const results: ToolResult[] = [];
  for (const call of calls) results.push(...(await session.execute([call], options)));
  return results;
}

/** The plan, tools and system prompt of a played conversation. */
export interface ModelPart {
  readonly plan: PlayedPlan;
  readonly tools: readonly ModelTool[];
  readonly system: string | undefined;
}

/** Sends the user messages one after the other, each after the model has answered the one before. */
export async function playWithModel(
  messages: readonly TemplateMessage[],
  { session, signal, allow, variation, parallelCalls }: ConversationPlace,
  { plan: { model, loop: options = {} }, tools, system }: ModelPart,
): Promise<ConversationEnd> {
  const loop = createLoop({
    ...options,
    calls: { ...options.calls, variation },
    ...(parallelCalls ? { model } : { model: oneCallModel(model), parallelCalls }),
    session,
    tools: () => tools,
    ...omitUndefined({ system, allow }),
  });
  let stop: StopReason = "answered";
  for (const { role, content = "" } of messages) {
    signal.throwIfAborted();
    if (role === "system") await session.addMessage({ role, content });
    if (role !== "user") continue;
    const result = await loop.run(content, { signal });
    stop = result.reason;
    if (stop === "model-error") return { stop, error: errorOf(result.error, result.detail) };
    if (!GOES_ON.has(stop)) break;
  }
  return { stop };
}

/** Stop reasons after which the user continues; after any other, the conversation ends. */
const GOES_ON: ReadonlySet<StopReason> = new Set<StopReason>(["answered", "tool-ended-turn", "one-action", "stop-condition"]);

function errorOf(error: ToolError | undefined, detail: string | undefined): ErrorInfo {
  return (error ?? new ToolError("model_failed", detail ?? "The model's message was incomplete.")).toJSON();
}
