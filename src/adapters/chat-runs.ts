/** Runs that clients follow over several requests: the events of a session, and the approvals that the run waits for. */
import { retainWith } from "../core/base/retain-with.ts";
import { checkArgument } from "../core/check-argument.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { PendingApproval } from "../core/approvals/approvals.ts";
import type { ToolCall } from "../core/call.ts";
import type { Clock } from "../core/ports.ts";
import { describeThrown, isToolError, ToolError } from "../core/error.ts";
import type { CallPlace, RuntimeEvent } from "../core/event.ts";
import type { EventFeed } from "../runtime/events/event-feed.ts";
import type { PendingCall } from "../core/jobs/job-message.ts";
import { ChatTexts, type TextUpdate } from "./chat-texts.ts";
import { FeedSteps } from "./feed-steps.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { RuntimeSession } from "../runtime/runtime-session.ts";

/** How often open approvals are looked up while a run is followed, in milliseconds: they are not events. */
const POLL_MS = 50;

/** How long the rest of an ended run is kept for a client that left before its end, in milliseconds. */
const RETENTION_MS = 600_000;

/** An item of a run's stream. Calls inside composite tools are left out with all their events, and so are the ends of earlier calls. */
export type RunUpdate =
  | TextUpdate
  | { readonly type: "event"; readonly event: RuntimeEvent }
  /** The run waits for these approvals. */
  | { readonly type: "approvals"; readonly questions: readonly ChatQuestion[]; readonly jobs: readonly PendingCall[] }
  /** The run has ended; its jobs continue in the background. */
  | { readonly type: "end"; readonly error: ToolError | undefined; readonly jobs: readonly PendingCall[] };

/** An approval that a run waits for, with the call under which a client shows it. */
export interface ChatQuestion extends PendingApproval {
  /** The call that needs the approval, or the call that contains it (a delegate's, for example) if clients are shown only that one. */
  readonly shownCallId: string;
  /** The tool's name as clients know it. */
  readonly shownName: string;
}

/** A call of a run, as it began. */
interface ChatCall {
  readonly call: ToolCall;
  readonly isShown: boolean;
  readonly parentCallId: string | undefined;
}

interface ChatRun {
  readonly session: RuntimeSession;
  /** Resolves with the error of the run, or undefined. Never rejects. */
  readonly whenEnded: Promise<ToolError | undefined>;
  hasEnded: boolean;
  readonly startsAt: string;
  /** The cursor of the last event that a client got. */
  cursor: string;
  /** Aborts the stream that follows the run, when another request follows it. */
  follower?: AbortController;
  /** The calls of the run, by id. */
  readonly calls: Map<string, ChatCall>;
  /** The calls of the run that continue in the background, by id. */
  readonly jobs: Map<string, PendingCall>;
  texts: ChatTexts;
  /** Cancels the timer of `RETENTION_MS`, after the run has ended. */
  cancelExpiry?: () => void;
}

interface FollowOptions {
  readonly feed: EventFeed;
  /** Aborted when the client has gone, or another stream follows the run. */
  readonly ended: AbortSignal;
}

/** Refuses options without the two functions that every chat handler needs. @throws ToolError `invalid_argument` */
export function checkChatOptions(options: { readonly session: unknown; readonly run: unknown }, owner: string): void {
  checkKnownKeys(options, { session: true, run: true }, owner);
  for (const name of ["session", "run"] as const)
    checkArgument(typeof options[name] === "function", owner, `a function as ${JSON.stringify(name)}`, options[name], CHAT_HINT);
}

const CHAT_HINT = "For example { session: (id) => sessions.get(id), run: (session, input) => loop.run(…) }.";

export class ChatRuns {
  readonly #runtime: Runtime;
  /** The last run of each conversation. */
  readonly #runs = new Map<string, ChatRun>();
  #openApprovals: Promise<readonly PendingApproval[]> | undefined;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** Begins a run. @throws ToolError `resource_busy` while the previous run has not ended */
  startRun(conversation: string, session: RuntimeSession, work: () => Promise<unknown>): void {
    if (this.#runs.get(conversation)?.hasEnded === false)
      throw new ToolError("resource_busy", `The conversation ${JSON.stringify(conversation.slice(0, 60))} has a run that has not ended.`, {
        hint: "Answer what it is waiting for, or wait until it ends.",
      });
    const whenEnded = Promise.resolve()
      .then(work)
      .then(
        (result) => this.#findRunError(result),
        (thrown: unknown) => this.clientError(thrown),
      );
    const startsAt = String(session.length);
    const kept = { calls: new Map(), jobs: new Map(), texts: new ChatTexts() };
    const run: ChatRun = { session, whenEnded, hasEnded: false, startsAt, cursor: startsAt, ...kept };
    this.#runs.get(conversation)?.cancelExpiry?.();
    this.#runs.set(conversation, run);
    void whenEnded.then(() => this.#end(conversation, run));
  }

  #end(conversation: string, run: ChatRun): void {
    run.hasEnded = true;
    run.cancelExpiry = this.#runtime.ports.clock.timer(() => this.#deleteRun(conversation, run), RETENTION_MS, { background: true });
  }

  /** Deletes the run, unless the conversation has a newer one. */
  #deleteRun(conversation: string, run: ChatRun): void {
    run.cancelExpiry?.(); // the timer would hold the session until it fires
    if (this.#runs.get(conversation) === run) this.#runs.delete(conversation);
  }

  /** Whether it has a run whose end no client has received. */
  hasRun(conversation: string): boolean {
    return this.#runs.has(conversation);
  }

  /** The open questions of its run. @param openApprovals all open approvals, if the caller has them */
  async listQuestions(conversation: string, openApprovals?: readonly PendingApproval[]): Promise<readonly ChatQuestion[]> {
    const run = this.#runs.get(conversation);
    if (run === undefined) return [];
    const open = openApprovals ?? (await this.#runtime.approvals.pending());
    return open.flatMap((question) => {
      const place = this.#findPlaceIn(run.session.id, question);
      return place === undefined ? [] : [toChatQuestion(run, question, place)];
    });
  }

  /** The open approvals, read once for all runs that are followed. They may be `POLL_MS` older than the store. */
  #loadOpenApprovals(): Promise<readonly PendingApproval[]> {
    if (this.#openApprovals !== undefined) return this.#openApprovals;
    const openApprovals = (this.#openApprovals = this.#runtime.approvals.pending());
    const forget = () => this.#runtime.ports.clock.timer(() => (this.#openApprovals = undefined), POLL_MS, { background: true });
    void openApprovals.then(forget, forget);
    return openApprovals;
  }

  /** The call as it began in the run of the conversation; undefined if clients are not shown it. */
  findCall(conversation: string, callId: string): ToolCall | undefined {
    const startedCall = this.#runs.get(conversation)?.calls.get(callId);
    return startedCall?.isShown === true ? startedCall.call : undefined;
  }

  /** An error as clients see it. Any error but a ToolError may hold secrets of the program: its message goes to the log only. */
  clientError(thrown: unknown): ToolError {
    if (isToolError(thrown)) return thrown;
    this.#runtime.ports.log.warn(`A run of a chat failed: ${describeThrown(thrown)}`);
    return new ToolError("execution_failed", "The run failed.", { cause: thrown });
  }

  /** The error in the result of a loop, which never rejects. The provider's message goes to the log only. */
  #findRunError(result: unknown): ToolError | undefined {
    const error: unknown = typeof result === "object" && result !== null ? Reflect.get(result, "error") : undefined;
    if (!isToolError(error)) return undefined;
    if (Reflect.get(Object(result), "reason") !== "model-error") return this.clientError(error);
    this.#runtime.ports.log.warn(`The model of a chat failed: ${describeThrown(error)}`);
    return new ToolError(error.code, "The model could not answer.", { cause: error });
  }

  /** The call of the session that the question belongs to: the question's own call, or the delegate's call above it, at any depth. */
  #findPlaceIn(sessionId: string, question: CallPlace): CallPlace | undefined {
    let place: CallPlace | undefined = question;
    while (place !== undefined && place.sessionId !== sessionId) {
      place = this.#runtime.sessions.get(place.sessionId)?.parentCall;
    }
    return place;
  }

  /** Yields the events since the last time, then new ones, until the run waits for approvals or has ended. Closing it cancels nothing. */
  async *follow(conversation: string, signal?: AbortSignal, { fromStart = false } = {}): AsyncGenerator<RunUpdate> {
    const run = this.#runs.get(conversation);
    if (run === undefined)
      throw new ToolError("not_found", `The conversation ${JSON.stringify(conversation.slice(0, 60))} has no run to continue.`);
    run.follower?.abort(); // the cursor of a run is shared: only one stream may advance it
    const follower = (run.follower = new AbortController());
    if (fromStart) {
      run.cursor = run.startsAt;
      run.texts = new ChatTexts();
    }
    const ended = signal === undefined ? follower.signal : AbortSignal.any([signal, follower.signal]);
    const feed = this.#runtime.events({ session: run.session.id, after: run.cursor, signal: ended });
    try {
      yield* this.#updates(conversation, run, { feed, ended });
    } finally {
      feed.close();
    }
  }

  async *#updates(conversation: string, run: ChatRun, { feed, ended }: FollowOptions): AsyncGenerator<RunUpdate> {
    run.texts.reset();
    const { clock } = this.#runtime.ports;
    const steps = new FeedSteps(feed, { until: run.whenEnded, clock, pauseMs: POLL_MS });
    for (;;) {
      const stopKeepAlive = await steps.next();
      if (stopKeepAlive !== undefined) {
        if (stopKeepAlive.length === 0) return; // the client has gone
        for (const item of stopKeepAlive) {
          if (ended.aborted) return; // another stream follows the run now
          if (!("event" in item)) continue;
          run.cursor = item.cursor ?? run.cursor;
          const isShown = trackEvent(run, item.event);
          if (isOwnText(item.event)) yield* run.texts.updatesFor(item.event, run.cursor);
          if (isShown) yield { type: "event", event: item.event };
        }
        continue;
      }
      if (run.hasEnded && Number(run.cursor) >= run.session.length) break;
      if (run.hasEnded || Number(run.cursor) < run.session.length) continue; // events come before questions, as the client needs the calls first
      if ((await this.listQuestions(conversation, await this.#loadOpenApprovals())).length === 0) continue;
      const questions = await this.listQuestions(conversation); // an answer may have arrived since
      if (questions.length === 0 || Number(run.cursor) < run.session.length) continue;
      yield* run.texts.endAll();
      return yield { type: "approvals", questions, jobs: [...run.jobs.values()] };
    }
    this.#deleteRun(conversation, run);
    yield* run.texts.endAll();
    yield { type: "end", error: await run.whenEnded, jobs: [...run.jobs.values()] };
  }
}

/** False for the text of a model that a call has asked: it is not part of the conversation. */
function isOwnText(event: RuntimeEvent): boolean {
  return (event.type !== "round-text" && event.type !== "round-end") || event.parentCallId === undefined;
}

/** Records calls and jobs that begin. Returns whether clients are sent the event. */
function trackEvent({ calls, jobs }: ChatRun, event: RuntimeEvent): boolean {
  if (event.type === "job-start") jobs.set(event.callId, { callId: event.callId, id: undefined, name: event.toolName, mode: event.mode });
  else if (event.type === "job-end") jobs.delete(event.callId);
  if (event.type === "call-start") {
    const { callId, call, parentCallId, ofComposite } = event;
    calls.set(callId, { call, parentCallId, isShown: ofComposite !== true });
  }
  if (event.type === "call-start" || event.type === "call-end") return calls.get(event.callId)?.isShown === true;
  return !("callId" in event) || calls.get(event.callId)?.isShown !== false;
}

/** The question with the call that clients are shown. If that call began before the run, as a job's, it is the call of `place`. */
function toChatQuestion({ calls, session }: ChatRun, question: PendingApproval, place: CallPlace): ChatQuestion {
  let shownCallId = place.callId;
  let startedCall = calls.get(shownCallId);
  while (startedCall !== undefined && !startedCall.isShown && startedCall.parentCallId !== undefined) {
    shownCallId = startedCall.parentCallId;
    startedCall = calls.get(shownCallId);
  }
  const shownName = question.sessionId === session.id && shownCallId === question.callId ? startedCall?.call.name : undefined;
  return { ...question, shownCallId, shownName: shownName ?? question.toolName };
}

/** The frame of one server-sent event, in the form that both protocols use. */
function dataFrame(value: unknown): Uint8Array {
  return new TextEncoder().encode(`data: ${typeof value === "string" ? value : JSON.stringify(value)}\n\n`);
}

/** After this time without data, a comment is sent, so that proxies keep the stream open. */
const KEEP_ALIVE_MS = 15_000;

/** The stream of a generator's values. Closing it ends the generator, and so does the end of its request. */
export function toEventStream(
  request: Request,
  { clock, events }: { readonly clock: Clock; readonly events: (signal: AbortSignal) => AsyncGenerator },
): ReadableStream<Uint8Array> {
  const closed = new AbortController();
  const given = events(AbortSignal.any([request.signal, closed.signal]));
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const stopKeepAlive = keepAlive(controller, clock);
      const { done, value } = await given.next().finally(stopKeepAlive);
      if (done === true) controller.close();
      else controller.enqueue(dataFrame(value));
    },
    async cancel() {
      closed.abort(); // the generator may be waiting for an event, and can return only after it
      await given.return(undefined);
    },
  });
  retainWith(stream, request);
  return stream;
}

/** Sends comments until the returned function is called, unless the client does not read the stream. */
function keepAlive(controller: ReadableStreamDefaultController<Uint8Array>, clock: Clock): () => void {
  const wait = (): (() => void) =>
    clock.timer(
      () => {
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(new TextEncoder().encode(": keep-alive\n\n"));
        cancel = wait();
      },
      KEEP_ALIVE_MS,
      { background: true },
    );
  let cancel = wait();
  return () => cancel();
}
