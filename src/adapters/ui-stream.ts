/**
 * Serves the runs of a session to AI SDK's `useChat` as UI message streams. @see https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol (version 7,
 * 2026-11)
 */
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import { ToolError } from "../core/error.ts";
import { checkRuntime } from "../core/check-argument.ts";
import type { RuntimeEvent } from "../core/event.ts";
import { parseJson } from "../core/base/parse-json.ts";
import { pendingResult, type PendingCall } from "../core/job-message.ts";
import { resultText, type ToolResult } from "../core/result.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { RuntimeSession } from "../runtime/runtime-session.ts";
import { fieldsOf } from "./model-output.ts";
import { ChatRuns, streamOf, type ChatQuestion, type RunNews } from "./chat-runs.ts";

/** The fields of a request of `DefaultChatTransport` that are read. */
export interface UiChatInput {
  /** The id of the conversation. */
  readonly id: string;
  readonly messages: readonly UiChatMessage[];
  /** The id of the message with the answers, if it is not the last. */
  readonly messageId?: unknown;
}

/** A message as `useChat` sends it. */
export interface UiChatMessage {
  readonly id: string;
  readonly role: string;
  readonly parts: readonly Readonly<Record<string, unknown>>[];
}

/** Options of `uiChatHandler`. */
export interface UiChatOptions {
  /** Returns the session of a conversation; throws to refuse the request. */
  readonly session: (id: string) => RuntimeSession | Promise<RuntimeSession>;
  /** Runs one turn of the conversation, such as a run of a loop with the last message. */
  readonly run: (session: RuntimeSession, input: UiChatInput) => Promise<unknown>;
}

const OPTIONS: OptionNames<UiChatOptions> = { session: "function", run: "function" };

/**
 * Returns a function that answers the requests of AI SDK's `useChat` with UI message streams.
 *
 * Calls are dynamic tool parts. A call that needs an approval asks for it and ends the stream; the work continues when `useChat` sends the answer
 * with the messages. A client that closes its stream cancels nothing. If it sends another message while the run waits, it gets the question again,
 * and an error for its message. If it resumes its stream (`GET …/<conversation>/stream`), it gets the run from its beginning, or 204 if there is
 * none.
 *
 * A call that needs approval fails if the runtime has no approver. Its question stays open until it is answered with an approver that never settles:
 * `createRuntime({ approval: { approve: () => new Promise(() => {}) } })`. Authentication is up to the server that calls the handler.
 *
 * @throws ToolError `invalid_argument` at once for wrong options
 */
export function uiChatHandler(runtime: Runtime, options: UiChatOptions): (request: Request) => Promise<Response> {
  checkRuntime(runtime, "uiChatHandler()");
  checkKnownKeys(options, OPTIONS, "uiChatHandler()");
  const runs = new ChatRuns(runtime);
  return async (request) => {
    try {
      const resumed = request.method === "GET" ? resumedId(request.url) : undefined;
      if (request.method === "GET" && (resumed === undefined || !runs.has(resumed))) return new Response(null, { status: 204 });
      const input = resumed === undefined ? readInput(parseJson(await request.text())) : undefined;
      const headers = {
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-store",
        "x-accel-buffering": "no",
        "x-vercel-ai-ui-message-stream": "v1",
      };
      return new Response(
        streamOf(request, {
          clock: runtime.ports.clock,
          events: (signal) =>
            input === undefined
              ? replayOf(runs, String(resumed), { options, signal })
              : chunksOf(runs, runtime, { input, options, signal }),
        }),
        { headers },
      );
    } catch (thrown: unknown) {
      const { code, message } = ToolError.fromUnknown(thrown, "invalid_argument");
      return Response.json({ code, message }, { status: 400 });
    }
  };
}

/** The conversation in the address of `resumeStream`. The client expects its whole stream. */
function resumedId(url: string): string | undefined {
  const [, id] = /\/([^/]+)\/stream$/u.exec(new URL(url).pathname) ?? [];
  return id === undefined ? undefined : decodeURIComponent(id);
}

async function* replayOf(runs: ChatRuns, id: string, { options, signal }: Omit<Asked, "input">): AsyncGenerator {
  yield { type: "start" };
  try {
    await options.session(id); // may throw to refuse the conversation, as for a new message
    const told = new Set<unknown>();
    for await (const news of runs.follow(id, signal, { fromStart: true })) yield* uiChunks(news, told, []);
  } catch (thrown: unknown) {
    yield { type: "error", errorText: runs.clientError(thrown).message };
  }
  yield "[DONE]";
}

interface Asked {
  readonly input: UiChatInput;
  readonly options: UiChatOptions;
  readonly signal: AbortSignal;
}

async function* chunksOf(runs: ChatRuns, runtime: Runtime, { input, options, signal }: Asked): AsyncGenerator {
  const { id, messages, messageId } = input;
  const last = messages.findLast((message) => message.id === messageId && message.role === "assistant") ?? messages.at(-1);
  try {
    const session = await options.session(id); // may throw to refuse the conversation
    // an answer never begins a run, so a late or repeated one changes nothing
    const isContinued = last?.role === "assistant" && last.parts.some(({ state }) => state === "approval-responded");
    if (isContinued) await answerAll(runs, runtime, { id, message: last });
    yield { type: "start", ...(isContinued ? { messageId: last.id } : {}) };
    const told = new Set<unknown>();
    const shown = messages.filter((message) => !isContinued || message !== last);
    const isWaiting = !isContinued && (await runs.pending(id)).length > 0;
    if (isContinued) {
      for (const { toolCallId } of last.parts) told.add(toolCallId);
      yield* ownCalls(runs, id, last);
    } else if (!isWaiting) runs.begin(id, session, () => options.run(session, input));
    for await (const news of runs.follow(id, signal)) yield* uiChunks(news, told, shown);
    if (isWaiting)
      yield {
        type: "error",
        errorText: "The message did not start a run: answer what the previous run is waiting for, then send it again.",
      };
  } catch (thrown: unknown) {
    yield { type: "error", errorText: runs.clientError(thrown).message };
  }
  yield "[DONE]";
}

/** Answers the open questions that the message has answers to. */
async function answerAll(
  runs: ChatRuns,
  runtime: Runtime,
  { id, message }: { readonly id: string; readonly message: UiChatMessage },
): Promise<void> {
  for (const { id: approvalId, shownCallId, digest } of await runs.pending(id)) {
    const part = message.parts.find(({ toolCallId }) => toolCallId === shownCallId);
    const approval: unknown = part?.["approval"];
    if (part?.["state"] !== "approval-responded" || typeof approval !== "object" || approval === null) continue;
    if (questionId(approval) !== approvalId) continue;
    const answer = Reflect.get(approval, "approved") === true ? "allow-once" : "deny";
    await runtime.approvals.answer({ id: approvalId, digest, answer });
  }
}

/** The id of the open question in a part. A client answers the first part with an id, so a repeated question gets a number after its id. */
function questionId(approval: unknown): string {
  return String(fieldsOf(approval)["id"]).replace(/\.\d+$/u, "");
}

/** @param shown the messages except the one being written */
function shownId(approvalId: string, shown: readonly UiChatMessage[]): string {
  const { length } = shown.filter(({ parts }) => parts.some(({ approval }) => questionId(approval) === approvalId));
  return length === 0 ? approvalId : `${approvalId}.${length}`;
}

/** The inputs of calls in whose place the message shows a call that they made, after that call was asked about. */
function* ownCalls(runs: ChatRuns, id: string, { parts }: UiChatMessage): Generator {
  for (const { state, toolCallId, toolName } of parts) {
    if (state !== "approval-responded" || typeof toolCallId !== "string") continue;
    const call = runs.call(id, toolCallId);
    if (call !== undefined && call.name !== toolName) yield inputOf(toolCallId, call.name, call.input);
  }
}

/** @param told the ids of the calls in the client's message: a result for any other call is an error for the client */
function uiChunks(news: RunNews, told: Set<unknown>, shown: readonly UiChatMessage[]): readonly unknown[] {
  if (news.type === "event") return chunksOfEvent(news.event, told);
  if (news.type === "approvals") {
    const asked = new Set(news.questions.map(({ shownCallId }) => shownCallId));
    return [
      ...jobsOf(
        news.jobs.filter(({ callId }) => !asked.has(callId)),
        told,
      ),
      ...questionsOf(news.questions, told, shown),
    ];
  }
  if (news.type !== "end") return [news]; // text news are already chunks of the stream
  return [...jobsOf(news.jobs, told), news.error === undefined ? { type: "finish" } : { type: "error", errorText: news.error.message }];
}

/** Ends the calls whose jobs continue, as in the answer to a model: `useChat` waits for an end of each call of a message. */
function jobsOf(jobs: readonly PendingCall[], told: ReadonlySet<unknown>): readonly unknown[] {
  return jobs.flatMap((job) => (told.has(job.callId) ? [endOf(job.callId, { ...pendingResult(job), status: "ok" })] : []));
}

/** Asks one question for each part: a second question of the same call follows when the first is answered. Shows the input that would run. */
function questionsOf(questions: readonly ChatQuestion[], told: Set<unknown>, shown: readonly UiChatMessage[]): readonly unknown[] {
  const asked = new Map<string, ChatQuestion>();
  for (const question of questions) if (!asked.has(question.shownCallId)) asked.set(question.shownCallId, question);
  return Array.from(asked, ([toolCallId, { id, shownName, input, reason }]) => {
    told.add(toolCallId);
    const approvalId = shownId(id, shown);
    return [inputOf(toolCallId, shownName, input), { type: "tool-approval-request", approvalId, toolCallId, reason }];
  }).flat();
}

function chunksOfEvent(event: RuntimeEvent, told: Set<unknown>): readonly unknown[] {
  switch (event.type) {
    case "call-start":
      told.add(event.callId);
      return [inputOf(event.callId, event.call.name, event.call.input)];
    case "call-progress":
      return [{ type: "data-haft-progress", data: { toolCallId: event.callId, ...event.update }, transient: true }];
    case "call-end":
      return told.has(event.callId) ? [endOf(event.callId, event.result)] : [];
    default:
      return [];
  }
}

function inputOf(toolCallId: string, toolName: string, input: unknown = {}): unknown {
  return { type: "tool-input-available", toolCallId, toolName, input, dynamic: true };
}

function endOf(toolCallId: string, result: ToolResult): unknown {
  const { status, output, error } = result;
  if (error?.code === "approval_denied") return { type: "tool-output-denied", toolCallId };
  if (status !== "ok" && status !== "partial")
    return { type: "tool-output-error", toolCallId, errorText: resultText(result), dynamic: true };
  return { type: "tool-output-available", toolCallId, output: output === undefined ? resultText(result) : output, dynamic: true };
}

/** @throws ToolError `invalid_argument` */
function readInput(value: unknown): UiChatInput {
  const fields: Readonly<Record<string, unknown>> = typeof value === "object" && value !== null ? { ...value } : {};
  const { id, messages } = fields;
  if (typeof id !== "string" || !Array.isArray(messages) || !messages.every(isMessage))
    throw new ToolError("invalid_argument", "A useChat request must have an id and an array of messages, each with id, role and parts.");
  return { ...fields, id, messages };
}

function isMessage(value: unknown): value is UiChatMessage {
  if (typeof value !== "object" || value === null) return false;
  const parts: unknown = Reflect.get(value, "parts");
  return (
    typeof Reflect.get(value, "id") === "string" &&
    typeof Reflect.get(value, "role") === "string" &&
    Array.isArray(parts) &&
    parts.every((part) => typeof part === "object" && part !== null)
  );
}
