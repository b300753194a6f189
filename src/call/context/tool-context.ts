/** The context of a handler in one attempt; costly parts are created on first use. */
import { resolve } from "node:path";
import type { QuestionAnswer, Question } from "../../core/approvals/ask.ts";
import type { CallTools, ProgressUpdate, ToolContext, ToolState } from "../../core/context.ts";
import { ToolError } from "../../core/error.ts";
import { ignoreRejection, ignoreRejections } from "../../core/system/ignore-rejections.ts";
import { describeValueType } from "../../core/base/wording.ts";
import type { HistoryEntry } from "../../core/history.ts";
import type { ModelMessage } from "../../core/message.ts";
import { duplicatePackageError } from "../../core/system/duplicate-package.ts";
import type { LogFields, Ports } from "../../core/ports.ts";
import type { TraceHeaders } from "../../core/formats/trace-headers.ts";
import { visibilityOf, type Visibility, type VisibilityRules } from "../../policy/visibility.ts";
import type { Registry } from "../../registry/registry.ts";
import type { SessionEvent } from "../../core/event.ts";
import { wholeLog } from "../../session/read-events.ts";
import type { Session } from "../../session/session.ts";
import { askQuestion } from "./ask-question.ts";
import type { AdmittedCall } from "../call-run.ts";
import { markUnshared, noteSessionRead } from "../cache/unshared-answer.ts";
import { startNestedSession } from "./composite.ts";
import { createContextExecute } from "./context-execute.ts";
import { Jobs } from "../jobs/jobs.ts";
import { isSequential } from "../route.ts";
import { isShown } from "../finish/shown-results.ts";

const HISTORY_READ = "its handler read the history of the session";
const NO_VARIABLES: Readonly<Record<string, string>> = Object.freeze({});

export class AttemptContext implements ToolContext {
  readonly attempt: number;
  /** The fence of this attempt's lease; an abandoned handler keeps seeing it. */
  readonly fence: number | undefined;
  /** Moved to a later time if the call continues in the background. */
  deadline: number;
  readonly #run: AdmittedCall;
  #controller: AbortController | undefined;
  #state: ToolState | undefined;
  #toolState: ToolState | undefined;
  #history: readonly HistoryEntry[] | undefined;
  #endReason: ToolError | "settled" | undefined;
  /** Aborts open questions, and the resume of a session for this attempt, when the attempt ends, even if it succeeds. */
  #endController: AbortController | undefined;
  #decoder: InstanceType<typeof TextDecoder> | undefined;
  #execute: CallTools | undefined;
  #environment: Readonly<Record<string, string>> | undefined;

  constructor(run: AdmittedCall, attempt: number, deadline: number) {
    this.#run = run;
    this.attempt = attempt;
    this.fence = run.plan.isShared ? run.ticket?.fence : undefined;
    this.deadline = deadline;
  }

  get callId(): string {
    return this.#run.callId;
  }

  get toolName(): string {
    return this.#run.toolName;
  }

  get tool(): ToolContext["tool"] {
    return this.#run.plan.shownTool;
  }

  get agentName(): string | undefined {
    return this.#run.services.agentName;
  }

  get workingFolder(): string {
    const { services, plan, turn } = this.#run;
    const { workingFolder: own } = plan.tool;
    const { workingFolder: ofSession } = turn.session;
    const folder = services.workingFolder ?? process.cwd();
    return own === undefined && ofSession === undefined ? folder : resolve(folder, ofSession ?? "", own ?? "");
  }

  get environment(): Readonly<Record<string, string>> {
    const { plan, turn } = this.#run;
    const own = plan.shownTool.environment;
    const ofSession = turn.session.environment;
    if (own === undefined || ofSession === undefined) return own ?? ofSession ?? NO_VARIABLES;
    return (this.#environment ??= Object.freeze({ ...ofSession, ...own }));
  }

  /** Like `progress`, may be destructured from the context. */
  get resolvePath(): (path: string) => string {
    const { workingFolder } = this;
    return (path) => resolve(workingFolder, path);
  }

  get sessionId(): string {
    return this.#run.sessionForEngine.id;
  }

  get turnId(): string {
    return this.#run.turn.id;
  }

  get idempotencyKey(): string {
    return this.#run.idempotencyKey;
  }

  get traceHeaders(): TraceHeaders | undefined {
    return this.#run.services.tracing?.headersOf(this.#run.callId);
  }

  /** Whether a handler made the call, as part of its own. */
  get isNested(): boolean {
    return this.#run.turn.parentCall !== undefined;
  }

  /** Whether the input was changed after the call was made. */
  get isRewritten(): boolean {
    return this.#run.isRewritten;
  }

  get simulated(): boolean {
    return this.#run.simulated;
  }

  get history(): readonly HistoryEntry[] {
    noteSessionRead(this.#run, HISTORY_READ);
    return (this.#history ??= visibleHistory(this.#run));
  }

  /** A bound function, so that a handler may destructure it from its context. */
  get isShown(): (callId: string) => boolean {
    return (callId) => {
      noteSessionRead(this.#run, HISTORY_READ);
      return isShown(this.#run.turn, callId);
    };
  }

  get data(): Readonly<Record<string, unknown>> {
    return this.#run.options.data;
  }

  get variation(): string {
    return this.#run.options.variation;
  }

  /** Which tools the caller may use; undefined = all. */
  get visibility(): Visibility | undefined {
    return this.#run.options.visibility;
  }

  /** The tools of the runtime that runs the call. */
  get registry(): Registry {
    return this.#run.services.registry;
  }

  /** Begins a session that belongs to the call: see `sessionWithin`. */
  async startSession(allow: VisibilityRules | undefined): Promise<Session> {
    const { options, services } = this.#run;
    const endSignal = (this.#endController ??= new AbortController()).signal;
    const getAbortError = (): ToolError | undefined => (this.hasEnded ? attemptEndedError(this.#run) : undefined);
    const layers = [options.visibility, allow === undefined ? undefined : visibilityOf(allow)];
    const rules = layers.every((layer) => layer === undefined) ? undefined : layers;
    return await startNestedSession(this.#run, (onStarted) =>
      services.startSessionWithin(this.#run, rules, { endSignal, getAbortError, onStarted }),
    );
  }

  /** The session of the call, as its engine knows it. */
  get session(): Session {
    return this.#run.sessionForEngine;
  }

  /** The runtime's ports, or those of the simulation if the call is part of one. */
  get ports(): Ports {
    return this.#run.services.ports;
  }

  get jobs(): Jobs {
    return new Jobs(this.#run.services);
  }

  /** Identifies the model's message that the call is part of. */
  get message(): string {
    return this.#run.turn.message;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (typeof this.#endReason === "object") this.#controller.abort(this.#endReason);
      else if (this.#endReason === undefined) this.#run.services.claims.add(this.#run);
    }
    return this.#controller.signal;
  }

  /** Whether the handler read its signal; if so, it may have stopped halfway when the signal aborted. */
  get hasReadSignal(): boolean {
    return this.#controller !== undefined;
  }

  get state(): ToolState {
    return (this.#state ??= this.stateNamed(this.#run.plan.registered.toolset.name));
  }

  /** Under the qualified name of the tool, which no toolset has: names of toolsets have no "::". */
  get toolState(): ToolState {
    return (this.#toolState ??= this.stateNamed(this.toolName));
  }

  /** Like `progress`, may be destructured from the context. */
  get ask(): (question: Question, asker?: string) => Promise<QuestionAnswer> {
    return (question, asker) => {
      if (this.#endReason !== undefined) return Promise.resolve({ action: "cancel" });
      markUnshared(this.#run, "its handler asked a person");
      this.#endController ??= new AbortController();
      ignoreRejections(question);
      return askQuestion(question, { run: this.#run, signal: this.#endController.signal, asker });
    };
  }

  /** Like `progress`, may be destructured from the context. */
  get execute(): CallTools {
    return (this.#execute ??= createContextExecute(this.#run, this));
  }

  get hasEnded(): boolean {
    return this.#endReason !== undefined;
  }

  /** A bound function, so that a handler may destructure it from its context: `(input, { progress }) => …`. */
  get progress(): (update: ProgressUpdate) => void {
    return (update) => {
      if (typeof update === "object") ignoreRejections(update); // no promise in it is awaited
      if (this.#endReason !== undefined) return;
      const { services, options, call } = this.#run;
      options.onProgress?.(update, { callId: this.callId, id: call.id, toolName: this.toolName });
      if (services.listening) this.#run.emit({ ...this.#run.eventBase, type: "call-progress", toolName: this.toolName, update });
    };
  }

  /** Like `progress`, may be destructured from the context. */
  get output(): (text: string | Uint8Array) => void {
    return (text) => {
      if (this.#endReason !== undefined) return;
      if (typeof text !== "string" && !ArrayBuffer.isView(text)) {
        ignoreRejection(text);
        throw new ToolError("invalid_argument", `context.output() takes a string or bytes, not ${describeValueType(text)}.`);
      }
      const written = typeof text === "string" ? text : (this.#decoder ??= new TextDecoder()).decode(text, { stream: true });
      this.#run.writeOutput(written);
    };
  }

  /** Like `progress`, may be destructured from the context. */
  get partial(): (output: unknown) => void {
    return (output) => {
      if (typeof output === "object") ignoreRejections(output);
      if (this.#endReason === undefined) this.#run.answer.partialOutput = output;
    };
  }

  /** The history that the model was given when it made the call; undefined if no model made it. */
  get shown(): readonly ModelMessage[] | undefined {
    return this.#run.turn.shown;
  }

  get log(): (message: string, fields?: LogFields) => void {
    return (message, given = {}) => {
      if (typeof given === "object") ignoreRejections(given);
      const fields: unknown = given; // an untyped handler may give a text or bytes, which have a key for each character
      const areFields = typeof fields === "object" && !ArrayBuffer.isView(fields);
      this.#run.services.ports.log.debug(message, { callId: this.callId, toolName: this.toolName, ...(areFields ? fields : { fields }) });
    };
  }

  /** State of the session. It cannot be changed once the attempt has ended: a rolled back or abandoned call changes nothing more. */
  stateNamed(owner: string): ToolState {
    const state = this.#run.turn.stateOf(owner, this.#run);
    return {
      get: (key) => {
        noteSessionRead(this.#run, "its handler read state of the session, which its effects do not declare");
        return state.get(key);
      },
      update: (key, change) => {
        if (this.#endReason !== undefined)
          throw new ToolError("invalid_argument", `${this.toolName} changed state after its call had ended; that is too late.`);
        markUnshared(this.#run, "its handler changed state of the session");
        state.update(key, change);
      },
    };
  }

  /** Marks the attempt as ended; with an error, the signal aborts. */
  end(reason: ToolError | "settled"): void {
    if (this.#endReason !== undefined) return;
    this.#endReason = reason;
    if (this.#controller !== undefined) this.#run.services.claims.remove(this.#run);
    this.#endController?.abort(reason === "settled" ? undefined : reason);
    if (reason !== "settled") this.#controller?.abort(reason);
  }
}

function attemptEndedError({ toolName }: AdmittedCall): ToolError {
  return new ToolError(
    "invalid_argument",
    `${toolName} was given no session: the attempt that asked for it had ended (it returned, failed, timed out or was cancelled).`,
    {
      outcome: "not_started",
      operatorHint:
        "In its handler, await sessionWithin() before it returns, and stop once context.signal aborts. Where it needs longer, raise its timeoutMs.",
    },
  );
}

/** The history of the session that a call may see. Never a part of its own batch that depends on timing. */
function visibleHistory({ turn, route, callId }: AdmittedCall): readonly HistoryEntry[] {
  const { session, startsAt } = turn;
  if (!isSequential(route)) return session.historyAt(startsAt);
  const entries = session.history;
  const own = entries.findIndex((entry) => entry.callId === callId);
  return entries.slice(0, own < 0 ? entries.length : own).filter((entry) => entry.result !== undefined);
}

/** Which tools the caller of this handler may use, for a handler that lists or calls tools on its behalf; undefined = all. */
export function callerVisibility(context: ToolContext): Visibility | undefined {
  return context instanceof AttemptContext ? context.visibility : undefined;
}

/** @throws ToolError `unavailable` for a context that no runtime of this copy of haft made */
function toAttemptContext(context: ToolContext): AttemptContext {
  if (context instanceof AttemptContext) return context;
  throw duplicatePackageError("This tool works only where a runtime of the same copy of haft runs it.");
}

/** The background jobs of the runtime that runs this handler. @throws ToolError `unavailable` for a context that no runtime made */
export function jobsOf(context: ToolContext): Jobs {
  return toAttemptContext(context).jobs;
}

/** Identifies the model's message that the call of this handler is part of; undefined for a context that no runtime made. */
export function messageOf(context: ToolContext): string | undefined {
  return context instanceof AttemptContext ? context.message : undefined;
}

/** The session that this handler runs in. @throws ToolError `unavailable` for a context that no runtime made */
export function sessionOfContext(context: ToolContext): Session {
  return toAttemptContext(context).session;
}

/** Returns when the call of this handler began, as recorded, so that a handler that is run again after a crash gets the same time. */
export async function findCallStart(context: ToolContext): Promise<number> {
  const session = sessionOfContext(context);
  const isStart = (event: SessionEvent): boolean => event.type === "call-start" && event.callId === context.callId;
  let start = session.log.findLast(isStart);
  if (start === undefined && session.firstKept > 0) for await (const event of wholeLog(session)) if (isStart(event)) start = event;
  return Math.round(start?.at ?? portsOf(context).clock.wallTime());
}

/** The tools of the runtime that runs this handler. @throws ToolError `unavailable` for a context that no runtime made */
export function registryOf(context: ToolContext): Registry {
  return toAttemptContext(context).registry;
}

/** The clock, randomness and ids of the runtime that runs this handler. @throws ToolError `unavailable` for a context that no runtime made */
export function portsOf(context: ToolContext): Ports {
  return toAttemptContext(context).ports;
}

/** State of the session under a name that no toolset may have. @throws ToolError `unavailable` for a context that no runtime made */
export function stateNamed(context: ToolContext, owner: string): ToolState {
  return toAttemptContext(context).stateNamed(owner);
}

/** Begins a session that belongs to the call of this handler. @throws ToolError `unavailable` for a context that no runtime made, as a rejection */
export async function startSessionWithin(context: ToolContext, allow: VisibilityRules | undefined): Promise<Session> {
  return await toAttemptContext(context).startSession(allow);
}

/** The history that the model was given when it made the call of this handler; undefined if no model made it. */
export function shownHistoryOf(context: ToolContext): readonly ModelMessage[] | undefined {
  return context instanceof AttemptContext ? context.shown : undefined;
}
