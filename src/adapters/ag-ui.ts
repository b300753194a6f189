/** Serves the runs of a session to AG-UI clients. @see https://docs.ag-ui.com/concepts/events (2026-11) */
import type { ApprovalAnswer } from "../core/approvals/ask.ts";
import { ToolError } from "../core/error.ts";
import { checkRuntime } from "../core/check-argument.ts";
import type { RuntimeEvent } from "../core/event.ts";
import { parseJson } from "../core/base/parse-json.ts";
import { resultText } from "../core/result.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { RuntimeSession } from "../runtime/runtime-session.ts";
import type { TextUpdate } from "./chat-texts.ts";
import { ChatRuns, checkChatOptions, toEventStream, type ChatQuestion, type RunUpdate } from "./chat-runs.ts";

/** An event of AG-UI: its `type` and that type's fields. */
export interface AgUiEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** The fields of a request (`RunAgentInput`) that are read. */
export interface AgUiInput {
  readonly threadId: string;
  readonly runId: string;
  readonly messages?: readonly unknown[];
  /** Answers to interrupts. The payload is `{ approved: true }`, or one of the answers of `ApprovalRequest`. */
  readonly resume?: readonly { readonly interruptId: string; readonly status: string; readonly payload?: unknown }[];
}

/** Options of `agUiHandler`. */
export interface AgUiOptions {
  /** Returns the session of a thread; throws to refuse the request. */
  readonly session: (threadId: string) => RuntimeSession | Promise<RuntimeSession>;
  /** Runs one turn of the conversation, such as a run of a loop with the last message. */
  readonly run: (session: RuntimeSession, input: AgUiInput) => Promise<unknown>;
}

/**
 * Returns a function that answers the requests of AG-UI clients with event streams.
 *
 * Calls are sent as tool calls. A call that needs an approval ends the run with an interrupt, and the work continues when a later run has the answer
 * in `resume`. While approvals are open, a run without `resume` gets the interrupt again, and its message starts nothing. Events without a
 * counterpart are `CUSTOM`, named `haft.` and their type; internal events, such as state changes, are not sent. A client that closes its stream
 * cancels nothing.
 *
 * The runtime needs approvals whose questions stay open until they are answered. Authentication is up to the server that calls the handler.
 *
 * @throws ToolError `invalid_argument` at once for wrong options
 */
export function agUiHandler(runtime: Runtime, options: AgUiOptions): (request: Request) => Promise<Response> {
  checkRuntime(runtime, "agUiHandler()");
  checkChatOptions(options, "agUiHandler()");
  const runs = new ChatRuns(runtime);
  return async (request) => {
    try {
      const input = readInput(parseJson(await request.text()));
      const headers = { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store", "x-accel-buffering": "no" };
      return new Response(
        toEventStream(request, { clock: runtime.ports.clock, events: (signal) => runEvents(runs, runtime, { input, options, signal }) }),
        { headers },
      );
    } catch (thrown: unknown) {
      const { code, message } = ToolError.fromUnknown(thrown, "invalid_argument");
      return Response.json({ code, message }, { status: 400 });
    }
  };
}

interface RunRequest {
  readonly input: AgUiInput;
  readonly options: AgUiOptions;
  readonly signal: AbortSignal;
}

async function* runEvents(runs: ChatRuns, runtime: Runtime, { input, options, signal }: RunRequest): AsyncGenerator<AgUiEvent> {
  const { threadId, runId, resume } = input;
  yield { type: "RUN_STARTED", threadId, runId };
  try {
    const session = await options.session(threadId); // may throw to refuse the thread
    if (resume !== undefined && resume.length > 0) await answerInterrupts(runs, runtime, input);
    // a client that left before it got the interrupt does not know of the open approvals: it gets them now
    else if ((await runs.listQuestions(threadId)).length === 0) runs.startRun(threadId, session, () => options.run(session, input));
    for await (const update of runs.follow(threadId, signal)) yield* agUiEvents(update, { threadId, runId });
  } catch (thrown: unknown) {
    const { code, message } = runs.clientError(thrown);
    yield { type: "RUN_ERROR", message, code };
  }
}

async function answerInterrupts(runs: ChatRuns, runtime: Runtime, { threadId, resume = [] }: AgUiInput): Promise<void> {
  const pending = await runs.listQuestions(threadId);
  const answers = resume.map(({ interruptId, status, payload }) => {
    const open = pending.find(({ id }) => id === interruptId);
    if (open === undefined)
      throw new ToolError("not_found", `No interrupt ${JSON.stringify(interruptId.slice(0, 60))} is waiting for an answer.`);
    return { id: open.id, digest: open.digest, answer: status === "resolved" ? toApprovalAnswer(payload) : ("deny" as const) };
  });
  for (const answer of answers) await runtime.approvals.answer(answer);
}

function toApprovalAnswer(payload: unknown): ApprovalAnswer {
  if (payload === "allow-once" || payload === "allow-always") return payload;
  if (payload === true || (typeof payload === "object" && payload !== null && Reflect.get(payload, "approved") === true))
    return "allow-once";
  return "deny";
}

interface RunIds {
  readonly threadId: string;
  readonly runId: string;
}

function agUiEvents(update: RunUpdate, ids: RunIds): readonly AgUiEvent[] {
  if (update.type === "event") return toAgUiEvents(update.event);
  if (update.type === "approvals")
    return [{ type: "RUN_FINISHED", ...ids, outcome: { type: "interrupt", interrupts: update.questions.map(toInterrupt) } }];
  if (update.type !== "end") return [toTextEvent(update)];
  if (update.error === undefined) return [{ type: "RUN_FINISHED", ...ids, outcome: { type: "success" } }];
  return [{ type: "RUN_ERROR", message: update.error.message, code: update.error.code }];
}

/** Includes the digest, which binds the answer to the call that was shown. */
function toInterrupt({ id, shownCallId, toolName, description, input, digest, reason }: ChatQuestion) {
  return {
    id,
    reason: "tool_approval",
    message: `${toolName}: ${reason}`,
    toolCallId: shownCallId,
    responseSchema: { type: "object", properties: { approved: { type: "boolean" } }, required: ["approved"] },
    metadata: { toolName, description, input, digest },
  };
}

/** The AG-UI events for an event of a session. */
function toAgUiEvents(event: RuntimeEvent): readonly AgUiEvent[] {
  switch (event.type) {
    case "call-start": {
      const { callId: toolCallId, call } = event;
      return [
        { type: "TOOL_CALL_START", toolCallId, toolCallName: call.name, timestamp: event.at },
        { type: "TOOL_CALL_ARGS", toolCallId, delta: JSON.stringify(call.input ?? {}) },
        { type: "TOOL_CALL_END", toolCallId },
      ];
    }
    case "call-end": {
      const { callId: toolCallId, result } = event;
      const content = resultText(result);
      return [{ type: "TOOL_CALL_RESULT", messageId: `${toolCallId}-result`, toolCallId, content, role: "tool", timestamp: event.at }];
    }
    case "round-end":
    case "round-text":
    case "message-add":
    case "session-start":
    case "call-attempt":
    // internal to the program: values of toolsets, and idempotency keys
    case "state-change":
    case "batch-start":
    case "call-intent":
    case "call-remote":
    case "output-keep":
    case "trigger-add":
      return [];
    default:
      return [{ type: "CUSTOM", name: `haft.${event.type}`, value: event }];
  }
}

function toTextEvent(update: TextUpdate): AgUiEvent {
  if (update.type === "text-start") return { type: "TEXT_MESSAGE_START", messageId: update.id, role: "assistant" };
  if (update.type === "text-end") return { type: "TEXT_MESSAGE_END", messageId: update.id };
  return { type: "TEXT_MESSAGE_CONTENT", messageId: update.id, delta: update.delta };
}

/** @throws ToolError `invalid_argument` */
function readInput(value: unknown): AgUiInput {
  const fields: Readonly<Record<string, unknown>> = typeof value === "object" && value !== null ? { ...value } : {};
  const { threadId, runId, resume } = fields;
  if (typeof threadId !== "string" || typeof runId !== "string")
    throw new ToolError("invalid_argument", "An AG-UI request must have threadId and runId, both strings.");
  if (resume !== undefined && !(Array.isArray(resume) && resume.every(isAnswer)))
    throw new ToolError("invalid_argument", "The answers in resume must be objects with interruptId and status.");
  return { ...fields, threadId, runId };
}

function isAnswer(value: unknown): boolean {
  return (
    typeof value === "object" &&
    value !== null &&
    typeof Reflect.get(value, "interruptId") === "string" &&
    typeof Reflect.get(value, "status") === "string"
  );
}
