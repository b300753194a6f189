/** Plays one conversation in a session of its own. */
import { pushAll } from "../../core/collections/push-all.ts";
import { createLoop } from "../../compose/loop.ts";
import type { StopReason } from "../../compose/stop-reason.ts";
import type { JsonValue } from "../../core/base/json.ts";
import type { ToolCall } from "../../core/call.ts";
import { ToolError, type ErrorInfo } from "../../core/error.ts";
import type { ModelTool } from "../../core/model.ts";
import type { ToolResult } from "../../core/result.ts";
import type { Visibility } from "../../policy/visibility.ts";
import type { Runtime } from "../../runtime/runtime.ts";
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
export interface PlayContext {
  readonly session: RuntimeSession;
  /** The jobs of the session's runtime. */
  readonly jobs: Runtime["jobs"];
  readonly signal: AbortSignal;
  readonly allow: Visibility | undefined;
  /** Seed of this conversation, for engines that generate answers. */
  readonly variation: string;
  /** Whether a message may have several calls. */
  readonly parallelCalls: boolean;
}

/** How a conversation ended. */
export interface PlayEnd {
  /** Why the model stopped, if a model played it. */
  readonly stop?: StopReason;
  /** The error because of which the rest is missing. */
  readonly error?: ErrorInfo;
}

/** The end of a complete conversation. */
export const COMPLETE: PlayEnd = Object.freeze({});

/** The template and the writer of a scripted conversation. */
export interface ScriptedPlay {
  readonly template: ConversationTemplate;
  /** Writes the missing answers of turns; undefined = they stay without. */
  readonly writer: ConversationWriter | undefined;
  readonly random: Random;
  readonly findTool: (name: string) => Tool | undefined;
}

/** Plays the messages and calls of the template, resolving references. One without a value ends the conversation before its message. */
export async function playScripted(play: ScriptedPlay, context: PlayContext): Promise<PlayEnd> {
  const { messages } = play.template;
  const references = new TemplateReferences(messages);
  const ids = callIds(messages);
  const turn = new UnansweredTurn(play, context);
  for (const [index, message] of messages.entries()) {
    context.signal.throwIfAborted();
    if (message.role === "user") await turn.writeAnswer();
    const content = references.fillText(message.content ?? "");
    const calls = message.role === "assistant" ? (message.calls ?? []) : [];
    const resolved = calls.map((call, at): ToolCall => ({ ...call, id: ids[index]?.[at] ?? "", input: references.resolveInput(call) }));
    if (content !== "") await context.session.addMessage({ role: message.role, content });
    turn.addMessage(message.role, content);
    if (resolved.length === 0) continue;
    const results = await runCalls(resolved, context);
    for (const [at, result] of results.entries()) references.addResult(resolved[at]?.id ?? "", result);
    turn.addResults(resolved, results);
  }
  await turn.writeAnswer();
  return COMPLETE;
}

/** The results since the last message of the assistant. */
class UnansweredTurn {
  readonly #play: ScriptedPlay;
  readonly #context: PlayContext;
  #index = 0;
  #request = "";
  #calls: AnsweredCall[] = [];

  constructor(play: ScriptedPlay, context: PlayContext) {
    this.#play = play;
    this.#context = context;
  }

  addMessage(role: TemplateMessage["role"], content: string): void {
    if (role === "user") this.#request = content;
    if (role === "assistant" && content !== "") this.#calls = [];
  }

  addResults(calls: readonly ToolCall[], results: readonly ToolResult[]): void {
    const added = results.map((result, at) => ({
      tool: this.#play.findTool(result.name),
      input: (calls[at]?.input ?? {}) as JsonValue,
      result,
    })); // a template is JSON
    pushAll(this.#calls, added);
  }

  async writeAnswer(): Promise<void> {
    const { writer, random } = this.#play;
    const { session, signal } = this.#context;
    const calls = this.#calls;
    if (writer === undefined || calls.length === 0) return;
    this.#calls = [];
    const turn = { index: this.#index++, request: this.#request, calls, unmade: [] };
    await session.addMessage({ role: "assistant", content: await writer.answer(turn, { random, signal }) });
  }
}

/**
 * Runs the calls of one message, in one message each if a message may not have several. Background calls are waited for, so that their results are
 * at the same place each time; returns the results of their jobs.
 */
export async function runCalls(calls: readonly ToolCall[], context: PlayContext): Promise<readonly ToolResult[]> {
  const { session, signal, allow, variation, parallelCalls } = context;
  const options = omitUndefined({ signal, allow, variation });
  const results: ToolResult[] = [];
  for (const message of parallelCalls ? [calls] : calls.map((call) => [call]))
    for (const result of await session.execute(message, options)) results.push(await waitForJob(result, context));
  return results;
}

/** A job has no time limit of its own: one that never ends must not keep the whole run from ending. */
const MAX_JOB_MS = 60_000;

/**
 * Resolves to the result of the job that a call continues as; to `pending` itself if the job asks something, has not ended after `MAX_JOB_MS`, or if no
 * message has its result. The result is taken from the messages, because the runtime keeps only the latest jobs that have ended.
 */
async function waitForJob(result: ToolResult, { session, jobs, signal }: PlayContext): Promise<ToolResult> {
  const { callId, status } = result;
  if (status !== "pending" || !jobs.runHere) return result;
  if (jobs.get(callId) !== undefined) await jobs.wait(callId, { signal, untilAsked: true, timeoutMs: MAX_JOB_MS });
  const ended = session
    .messages()
    .flatMap((message) => (message.role === "job" && message.callId === callId ? (message.result ?? []) : []));
  return ended[0] ?? result;
}

/** The plan, tools and system prompt of a played conversation. */
export interface ModelPlay {
  readonly plan: PlayedPlan;
  readonly tools: readonly ModelTool[];
  readonly system: string | undefined;
}

/** Sends the user messages one after the other, each after the model has answered the one before. */
export async function playWithModel(
  messages: readonly TemplateMessage[],
  { session, signal, allow, variation, parallelCalls }: PlayContext,
  { plan: { model, loop: options = {} }, tools, system }: ModelPlay,
): Promise<PlayEnd> {
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
    if (stop === "model-error") return { stop, error: toErrorInfo(result.error, result.detail) };
    if (!CONTINUING_STOP_REASONS.has(stop)) break;
  }
  return { stop };
}

/** Stop reasons after which the user continues; after any other, the conversation ends. */
const CONTINUING_STOP_REASONS: ReadonlySet<StopReason> = new Set<StopReason>([
  "answered",
  "tool-ended-turn",
  "one-action",
  "stop-condition",
]);

function toErrorInfo(error: ToolError | undefined, detail: string | undefined): ErrorInfo {
  return (error ?? new ToolError("model_failed", detail ?? "The model's message was incomplete.")).toJSON();
}
