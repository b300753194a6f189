/**
 * Serves the runs of a session to AI SDK's `useChat` as UI message streams. @see https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol (version 7,
 * 2026-11)
 */
import { ToolError } from "../core/error.ts";
import { checkRuntime } from "../core/check-argument.ts";
import type { RuntimeEvent } from "../core/event.ts";
import { parseJson } from "../core/base/parse-json.ts";
import { createPendingResult, type PendingCall } from "../core/jobs/job-message.ts";
import { resultText, type ToolResult } from "../core/result.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { RuntimeSession } from "../runtime/runtime-session.ts";
import { fieldsOf } from "./model-output.ts";
import { ChatRuns, checkChatOptions, toEventStream, type ChatQuestion, type RunUpdate } from "./chat-runs.ts";

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
  checkChatOptions(options, "uiChatHandler()");
  const runs = new ChatRuns(runtime);
  return async (request) => {
    try {
      const resumed = request.method === "GET" ? resumedId(request.url) : undefined;
      if (request.method === "GET" && (resumed === undefined || !runs.hasRun(resumed))) return new Response(null, { status: 204 });
      const input = resumed === undefined ? readInput(parseJson(await request.text())) : undefined;
      const headers = {
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-store",
        "x-accel-buffering": "no",
        "x-vercel-ai-ui-message-stream": "v1",
      };
      return new Response(
        toEventStream(request, {
          clock: runtime.ports.clock,
          events: (signal) =>
            input === undefined
              ? replayRun(runs, String(resumed), { options, signal })
              : runChunks(runs, runtime, { input, options, signal }),
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

async function* replayRun(runs: ChatRuns, id: string, { options, signal }: Omit<ChatRequest, "input">): AsyncGenerator {
  yield { type: "start" };
  try {
    await options.session(id); // may throw to refuse the conversation, as for a new message
    const knownCalls = new Set<unknown>();
    for await (const update of runs.follow(id, signal, { fromStart: true })) yield* uiChunks(update, knownCalls, []);
  } catch (thrown: unknown) {
    yield { type: "error", errorText: runs.clientError(thrown).message };
  }
  yield "[DONE]";
}

interface ChatRequest {
  readonly input: UiChatInput;
  readonly options: UiChatOptions;
  readonly signal: AbortSignal;
}

async function* runChunks(runs: ChatRuns, runtime: Runtime, { input, options, signal }: ChatRequest): AsyncGenerator {
  const { id, messages, messageId } = input;
  const last = messages.findLast((message) => message.id === messageId && message.role === "assistant") ?? messages.at(-1);
  try {
    const session = await options.session(id); // may throw to refuse the conversation
    // an answer never begins a run, so a late or repeated one changes nothing
    const isContinued = last?.role === "assistant" && last.parts.some(({ state }) => state === "approval-responded");
    if (isContinued) await answerQuestions(runs, runtime, { id, message: last });
    yield { type: "start", ...(isContinued ? { messageId: last.id } : {}) };
    const knownCalls = new Set<unknown>();
    const shown = messages.filter((message) => !isContinued || message !== last);
    const isWaiting = !isContinued && (await runs.listQuestions(id)).length > 0;
    if (isContinued) {
      for (const { toolCallId } of last.parts) knownCalls.add(toolCallId);
      yield* innerCallInputs(runs, id, last);
    } else if (!isWaiting) runs.startRun(id, session, () => options.run(session, input));
    for await (const update of runs.follow(id, signal)) yield* uiChunks(update, knownCalls, shown);
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
async function answerQuestions(
  runs: ChatRuns,
  runtime: Runtime,
  { id, message }: { readonly id: string; readonly message: UiChatMessage },
): Promise<void> {
  for (const { id: approvalId, shownCallId, digest } of await runs.listQuestions(id)) {
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
function approvalIdFor(approvalId: string, shown: readonly UiChatMessage[]): string {
  const { length } = shown.filter(({ parts }) => parts.some(({ approval }) => questionId(approval) === approvalId));
  return length === 0 ? approvalId : `${approvalId}.${length}`;
}

/** The inputs of calls in whose place the message shows a call that they made, after that call was asked about. */
function* innerCallInputs(runs: ChatRuns, id: string, { parts }: UiChatMessage): Generator {
  for (const { state, toolCallId, toolName } of parts) {
    if (state !== "approval-responded" || typeof toolCallId !== "string") continue;
    const call = runs.findCall(id, toolCallId);
    if (call !== undefined && call.name !== toolName) yield inputChunk(toolCallId, call.name, call.input);
  }
}

/** @param knownCalls the ids of the calls in the client's message: a result for any other call is an error for the client */
function uiChunks(update: RunUpdate, knownCalls: Set<unknown>, shown: readonly UiChatMessage[]): readonly unknown[] {
  if (update.type === "event") return eventChunks(update.event, knownCalls);
  if (update.type === "approvals") {
    const asked = new Set(update.questions.map(({ shownCallId }) => shownCallId));
    return [
      ...jobChunks(
        update.jobs.filter(({ callId }) => !asked.has(callId)),
        knownCalls,
      ),
      ...questionChunks(update.questions, knownCalls, shown),
    ];
  }
  if (update.type !== "end") return [update]; // text news are already chunks of the stream
  return [
    ...jobChunks(update.jobs, knownCalls),
    update.error === undefined ? { type: "finish" } : { type: "error", errorText: update.error.message },
  ];
}

/** Ends the calls whose jobs continue, as in the answer to a model: `useChat` waits for an end of each call of a message. */
function jobChunks(jobs: readonly PendingCall[], knownCalls: ReadonlySet<unknown>): readonly unknown[] {
  return jobs.flatMap((job) =>
    knownCalls.has(job.callId) ? [resultChunk(job.callId, { ...createPendingResult(job), status: "ok" })] : [],
  );
}

/** Asks one question for each part: a second question of the same call follows when the first is answered. Shows the input that would run. */
function questionChunks(questions: readonly ChatQuestion[], knownCalls: Set<unknown>, shown: readonly UiChatMessage[]): readonly unknown[] {
  const asked = new Map<string, ChatQuestion>();
  for (const question of questions) if (!asked.has(question.shownCallId)) asked.set(question.shownCallId, question);
  return Array.from(asked, ([toolCallId, { id, shownName, input, reason }]) => {
    knownCalls.add(toolCallId);
    const approvalId = approvalIdFor(id, shown);
    return [inputChunk(toolCallId, shownName, input), { type: "tool-approval-request", approvalId, toolCallId, reason }];
  }).flat();
}

function eventChunks(event: RuntimeEvent, knownCalls: Set<unknown>): readonly unknown[] {
  switch (event.type) {
    case "call-start":
      knownCalls.add(event.callId);
      return [inputChunk(event.callId, event.call.name, event.call.input)];
    case "call-progress":
      return [{ type: "data-haft-progress", data: { toolCallId: event.callId, ...event.update }, transient: true }];
    case "call-end":
      return knownCalls.has(event.callId) ? [resultChunk(event.callId, event.result)] : [];
    default:
      return [];
  }
}

function inputChunk(toolCallId: string, toolName: string, input: unknown = {}): unknown {
  return { type: "tool-input-available", toolCallId, toolName, input, dynamic: true };
}

function resultChunk(toolCallId: string, result: ToolResult): unknown {
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
