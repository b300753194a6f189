/** Plays one conversation in a session of its own. */
import { createLoop } from "../../compose/loop.ts";
import type { StopReason } from "../../compose/stop-reason.ts";
import type { ToolCall } from "../../core/call.ts";
import { ToolError, type ErrorInfo } from "../../core/error.ts";
import type { ModelTool } from "../../core/model.ts";
import type { ToolResult } from "../../core/result.ts";
import type { Visibility } from "../../policy/visibility.ts";
import type { ExecuteOptions } from "../../call/execute-options.ts";
import type { RuntimeSession } from "../../runtime/runtime-session.ts";
import type { PlayedPlan } from "./conversation-plan.ts";
import type { ConversationTemplate, TemplateMessage } from "./conversation-template.ts";
import type { KnownIds } from "./known-ids.ts";
import type { SampledCall } from "./sampled-calls.ts";
import { TemplateReferences, callIds } from "./template-references.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";

/** Where a conversation is played. */
export interface ConversationPlace {
  readonly session: RuntimeSession;
  readonly signal: AbortSignal;
  readonly allow: Visibility | undefined;
}

/** How a conversation ended. */
export interface ConversationEnd {
  /** Why the model said no more, where one played it. */
  readonly stop?: StopReason;
  /** Why the rest of it is missing. */
  readonly error?: ErrorInfo;
}

const WHOLE: ConversationEnd = Object.freeze({});

/** What is wanted is said before each call; the ids of its answer are there for the next. */
export async function playSampled(calls: Iterable<SampledCall>, known: KnownIds, place: ConversationPlace): Promise<ConversationEnd> {
  for (const { request, call } of calls) {
    place.signal.throwIfAborted();
    await place.session.addMessage({ role: "user", content: request });
    for (const result of await runCalls([call], place)) known.learn(result);
  }
  return WHOLE;
}

/** Says and calls what stands in the template, with the values that it refers to. */
export async function playScripted({ messages }: ConversationTemplate, place: ConversationPlace): Promise<ConversationEnd> {
  const references = new TemplateReferences(messages);
  const ids = callIds(messages);
  for (const [index, message] of messages.entries()) {
    place.signal.throwIfAborted();
    if (message.content !== undefined && message.content !== "")
      await place.session.addMessage({ role: message.role, content: references.fill(message.content) });
    const calls = message.role === "assistant" ? (message.calls ?? []) : [];
    if (calls.length > 0) await runReferring(calls, { references, ids: ids[index] ?? [], place });
  }
  return WHOLE;
}

interface Referring {
  readonly references: TemplateReferences;
  readonly ids: readonly string[];
  readonly place: ConversationPlace;
}

/** A call whose reference has no value is not run, and ends with that as its error. */
async function runReferring(calls: readonly ToolCall[], { references, ids, place }: Referring): Promise<void> {
  const failed = new Map<string, ToolError>();
  const resolved = calls.map((call, index): ToolCall => {
    const id = ids[index] ?? "";
    try {
      return { ...call, id, input: references.resolve(call) };
    } catch (thrown: unknown) {
      failed.set(id, ToolError.fromUnknown(thrown));
      return { ...call, id };
    }
  });
  const results = await runCalls(
    resolved,
    place,
    failed.size === 0
      ? undefined
      : ({ id = "", input }) => {
          const error = failed.get(id);
          if (error !== undefined) throw error;
          return input;
        },
  );
  for (const [index, result] of results.entries()) references.learn(ids[index] ?? "", result);
}

function runCalls(
  calls: readonly ToolCall[],
  { session, signal, allow }: ConversationPlace,
  rewriteInput?: ExecuteOptions["rewriteInput"],
): Promise<readonly ToolResult[]> {
  return session.execute(calls, omitUndefined({ signal, allow, rewriteInput }));
}

/** What a played conversation is told besides. */
export interface ModelPart {
  readonly plan: PlayedPlan;
  readonly tools: readonly ModelTool[];
  readonly system: string | undefined;
}

/** Says what the users say, one after the other, each when the model has answered the one before. */
export async function playWithModel(
  messages: readonly TemplateMessage[],
  { session, signal, allow }: ConversationPlace,
  { plan: { model, loop: options = {} }, tools, system }: ModelPart,
): Promise<ConversationEnd> {
  const loop = createLoop({
    ...options,
    model,
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

/** After these the user has the word; after any other nothing more would come of it. */
const GOES_ON: ReadonlySet<StopReason> = new Set<StopReason>(["answered", "tool-ended-turn", "one-action", "stop-condition"]);

function errorOf(error: ToolError | undefined, detail: string | undefined): ErrorInfo {
  return (error ?? new ToolError("model_failed", detail ?? "The model's message was not whole.")).toJSON();
}
