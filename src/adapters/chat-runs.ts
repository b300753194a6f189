/** Runs of a program that clients follow from request to request: what happens in a session, and the approvals it waits for. */
import { keepWith } from "../core/base/keep-with.ts";
import type { PendingApproval } from "../core/approvals.ts";
import type { ToolCall } from "../core/call.ts";
import type { Clock } from "../core/ports.ts";
import { describeThrown, isToolError, ToolError } from "../core/error.ts";
import type { CallPlace, RuntimeEvent } from "../core/event.ts";
import type { EventFeed } from "../runtime/events/event-feed.ts";
import type { PendingCall } from "../core/job-message.ts";
import { ChatTexts, type TextNews } from "./chat-texts.ts";
import { FeedSteps } from "./feed-steps.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { RuntimeSession } from "../runtime/runtime-session.ts";

/** How often open approvals are looked for while a run is followed: they are no events. */
const ASK_MS = 50;

/** How long a run that is over waits for a client that left before its end. */
const KEEP_MS = 600_000;

/** The news of a run. Of its calls those of composite tools are left out with all that they do, and the ends of calls that began before it. */
export type RunNews =
  | TextNews
  | { readonly type: "event"; readonly event: RuntimeEvent }
  /** It waits for these approvals. */
  | { readonly type: "approvals"; readonly questions: readonly ChatQuestion[]; readonly jobs: readonly PendingCall[] }
  /** Its jobs go on without it. */
  | { readonly type: "end"; readonly error: ToolError | undefined; readonly jobs: readonly PendingCall[] };

/** An approval that a run waits for, at the call that a client is shown. */
export interface ChatQuestion extends PendingApproval {
  /** The call that is asked about, or the one it is a part of, such as that of a delegate, where clients are shown that one alone. */
  readonly shownCallId: string;
  /** The name that clients know the tool by. */
  readonly shownName: string;
}

/** A call of a run as its beginning told it. */
interface ChatCall {
  readonly call: ToolCall;
  readonly isShown: boolean;
  readonly parentCallId: string | undefined;
}

interface ChatRun {
  readonly session: RuntimeSession;
  /** Never rejects. */
  readonly whenOver: Promise<ToolError | undefined>;
  isOver: boolean;
  readonly startsAt: string;
  /** Of the last event that was given to a client. */
  cursor: string;
  /** The stream that follows it: another request ends it. */
  follower?: AbortController;
  /** Its calls that began, by their ids. */
  readonly calls: Map<string, ChatCall>;
  /** Those of its calls that continue in the background. */
  readonly jobs: Map<string, PendingCall>;
  texts: ChatTexts;
  /** Of one that is over: it is not kept for `KEEP_MS` any more. */
  stopKeeping?: () => void;
}

interface Following {
  readonly feed: EventFeed;
  /** The client has gone, or another stream follows the run. */
  readonly ended: AbortSignal;
}

export class ChatRuns {
  readonly #runtime: Runtime;
  /** By conversation. */
  readonly #runs = new Map<string, ChatRun>();
  #looked: Promise<readonly PendingApproval[]> | undefined;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** Begins a run. @throws ToolError `resource_busy` while the one before is not over */
  begin(conversation: string, session: RuntimeSession, work: () => Promise<unknown>): void {
    if (this.#runs.get(conversation)?.isOver === false)
      throw new ToolError("resource_busy", `The conversation ${JSON.stringify(conversation.slice(0, 60))} has a run that is not over.`, {
        hint: "Answer what it waits for, or wait for its end.",
      });
    const whenOver = Promise.resolve()
      .then(work)
      .then(
        (result) => this.#failureOf(result),
        (thrown: unknown) => this.clientError(thrown),
      );
    const startsAt = String(session.length);
    const kept = { calls: new Map(), jobs: new Map(), texts: new ChatTexts() };
    const run: ChatRun = { session, whenOver, isOver: false, startsAt, cursor: startsAt, ...kept };
    this.#runs.get(conversation)?.stopKeeping?.();
    this.#runs.set(conversation, run);
    void whenOver.then(() => this.#end(conversation, run));
  }

  #end(conversation: string, run: ChatRun): void {
    run.isOver = true;
    run.stopKeeping = this.#runtime.ports.clock.timer(() => this.#forget(conversation, run), KEEP_MS, { background: true });
  }

  /** The conversation may have another run since. */
  #forget(conversation: string, run: ChatRun): void {
    run.stopKeeping?.(); // its timer would hold the session for as long
    if (this.#runs.get(conversation) === run) this.#runs.delete(conversation);
  }

  /** Whether it has a run whose end no client was told. */
  has(conversation: string): boolean {
    return this.#runs.has(conversation);
  }

  /** The open questions of its run. @param looked all that are open, where they were looked for */
  async pending(conversation: string, looked?: readonly PendingApproval[]): Promise<readonly ChatQuestion[]> {
    const run = this.#runs.get(conversation);
    if (run === undefined) return [];
    const open = looked ?? (await this.#runtime.approvals.pending());
    return open.flatMap((question) => {
      const place = this.#placeIn(run.session.id, question);
      return place === undefined ? [] : [questionIn(run, question, place)];
    });
  }

  /** One look for all runs that are followed: it may be older by `ASK_MS` than the store. */
  #look(): Promise<readonly PendingApproval[]> {
    if (this.#looked !== undefined) return this.#looked;
    const looked = (this.#looked = this.#runtime.approvals.pending());
    const forget = () => this.#runtime.ports.clock.timer(() => (this.#looked = undefined), ASK_MS, { background: true });
    void looked.then(forget, forget);
    return looked;
  }

  /** The call as it began in the run of the conversation; undefined for one that clients are not shown. */
  call(conversation: string, callId: string): ToolCall | undefined {
    const begun = this.#runs.get(conversation)?.calls.get(callId);
    return begun?.isShown === true ? begun.call : undefined;
  }

  /** An error as clients are shown it: the message of one that is no ToolError may hold secrets of the program, whose log gets it. */
  clientError(thrown: unknown): ToolError {
    if (isToolError(thrown)) return thrown;
    this.#runtime.ports.log.warn(`A run of a chat failed: ${describeThrown(thrown)}`);
    return new ToolError("execution_failed", "The run failed.", { cause: thrown });
  }

  /** Of a loop's result that has an error: a loop rejects for none. What a provider said is for the program, whose log gets it. */
  #failureOf(result: unknown): ToolError | undefined {
    const error: unknown = typeof result === "object" && result !== null ? Reflect.get(result, "error") : undefined;
    if (!isToolError(error)) return undefined;
    if (Reflect.get(Object(result), "reason") !== "model-error") return this.clientError(error);
    this.#runtime.ports.log.warn(`The model of a chat failed: ${describeThrown(error)}`);
    return new ToolError(error.code, "The model could not answer.", { cause: error });
  }

  /** The call of the session in which the question came up: its own, or that of the delegate, of any depth. */
  #placeIn(sessionId: string, question: CallPlace): CallPlace | undefined {
    let place: CallPlace | undefined = question;
    while (place !== undefined && place.sessionId !== sessionId) {
      place = this.#runtime.sessions.get(place.sessionId)?.parentCall;
    }
    return place;
  }

  /**
   * Yields what has happened since the last time, or since the run began, and then what happens, until the run waits for approvals or is
   * over. Closing it cancels nothing.
   */
  async *follow(conversation: string, signal?: AbortSignal, { fromStart = false } = {}): AsyncGenerator<RunNews> {
    const run = this.#runs.get(conversation);
    if (run === undefined)
      throw new ToolError("not_found", `The conversation ${JSON.stringify(conversation.slice(0, 60))} has no run to continue.`);
    run.follower?.abort(); // what has been sent is counted once for a run
    const follower = (run.follower = new AbortController());
    if (fromStart) {
      run.cursor = run.startsAt;
      run.texts = new ChatTexts();
    }
    const ended = signal === undefined ? follower.signal : AbortSignal.any([signal, follower.signal]);
    const feed = this.#runtime.events({ session: run.session.id, after: run.cursor, signal: ended });
    try {
      yield* this.#news(conversation, run, { feed, ended });
    } finally {
      feed.close();
    }
  }

  async *#news(conversation: string, run: ChatRun, { feed, ended }: Following): AsyncGenerator<RunNews> {
    run.texts.begin();
    const { clock } = this.#runtime.ports;
    const steps = new FeedSteps(feed, { until: run.whenOver, clock, pauseMs: ASK_MS });
    for (;;) {
      const came = await steps.next();
      if (came !== undefined) {
        if (came.length === 0) return; // the client has gone
        for (const item of came) {
          if (ended.aborted) return; // another stream has the run now
          if (!("event" in item)) continue;
          run.cursor = item.cursor ?? run.cursor;
          const isShown = isForClients(run, item.event);
          if (isSaid(item.event)) yield* run.texts.of(item.event, run.cursor);
          if (isShown) yield { type: "event", event: item.event };
        }
        continue;
      }
      if (run.isOver && Number(run.cursor) >= run.session.length) break;
      if (run.isOver || Number(run.cursor) < run.session.length) continue; // the client gets the calls first
      if ((await this.pending(conversation, await this.#look())).length === 0) continue;
      const questions = await this.pending(conversation); // an answer may have come since
      if (questions.length === 0 || Number(run.cursor) < run.session.length) continue;
      yield* run.texts.endAll();
      return yield { type: "approvals", questions, jobs: [...run.jobs.values()] };
    }
    this.#forget(conversation, run);
    yield* run.texts.endAll();
    yield { type: "end", error: await run.whenOver, jobs: [...run.jobs.values()] };
  }
}

/** Whether it is none of what a model says to a call that asked it: that is no part of the conversation. */
function isSaid(event: RuntimeEvent): boolean {
  return (event.type !== "round-text" && event.type !== "round-end") || event.parentCallId === undefined;
}

/** Keeps calls and jobs that begin. Returns whether the event is one for clients. */
function isForClients({ calls, jobs }: ChatRun, event: RuntimeEvent): boolean {
  if (event.type === "job-start") jobs.set(event.callId, { callId: event.callId, id: undefined, name: event.toolName, mode: event.mode });
  else if (event.type === "job-end") jobs.delete(event.callId);
  if (event.type === "call-start") {
    const { callId, call, parentCallId, ofComposite } = event;
    calls.set(callId, { call, parentCallId, isShown: ofComposite !== true });
  }
  if (event.type === "call-start" || event.type === "call-end") return calls.get(event.callId)?.isShown === true;
  return !("callId" in event) || calls.get(event.callId)?.isShown !== false;
}

/** Where the call began before the run, such as a job, clients are shown that call. */
function questionIn({ calls, session }: ChatRun, question: PendingApproval, place: CallPlace): ChatQuestion {
  let shownCallId = place.callId;
  let begun = calls.get(shownCallId);
  while (begun !== undefined && !begun.isShown && begun.parentCallId !== undefined) {
    shownCallId = begun.parentCallId;
    begun = calls.get(shownCallId);
  }
  const shownName = question.sessionId === session.id && shownCallId === question.callId ? begun?.call.name : undefined;
  return { ...question, shownCallId, shownName: shownName ?? question.toolName };
}

/** An event of a stream in the form that both protocols have. */
function dataFrame(value: unknown): Uint8Array {
  return new TextEncoder().encode(`data: ${typeof value === "string" ? value : JSON.stringify(value)}\n\n`);
}

/** A stream on which nothing came for so long has a comment, so that proxies keep it open. */
const KEEP_ALIVE_MS = 15_000;

/** The stream of what a generator gives. One that is closed ends the generator, and so does the end of its request. */
export function streamOf(
  request: Request,
  { clock, events }: { readonly clock: Clock; readonly events: (signal: AbortSignal) => AsyncGenerator },
): ReadableStream<Uint8Array> {
  const closed = new AbortController();
  const given = events(AbortSignal.any([request.signal, closed.signal]));
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const came = keepAlive(controller, clock);
      const { done, value } = await given.next().finally(came);
      if (done === true) controller.close();
      else controller.enqueue(dataFrame(value));
    },
    async cancel() {
      closed.abort(); // it may wait for an event, and is returned from only after that
      await given.return(undefined);
    },
  });
  keepWith(stream, request);
  return stream;
}

/** Until the returned function is called. None behind one that is not read. */
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
