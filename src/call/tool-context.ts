/** What a handler is given in one attempt; costly parts are made when first asked for. */
import type { QuestionAnswer, Question } from "../core/ask.ts";
import type { ProgressUpdate, ToolContext, ToolState } from "../core/context.ts";
import { ToolError } from "../core/error.ts";
import type { HistoryEntry } from "../core/history.ts";
import type { LogFields } from "../core/ports.ts";
import type { Visibility } from "../policy/visibility.ts";
import type { Registry } from "../registry/registry.ts";
import { askQuestion } from "./ask-question.ts";
import type { AdmittedCall } from "./call-run.ts";
import { isSequential } from "./route.ts";
import { isShown } from "./shown-results.ts";

export class AttemptContext implements ToolContext {
  readonly attempt: number;
  readonly deadline: number;
  readonly #run: AdmittedCall;
  #controller: AbortController | undefined;
  #state: ToolState | undefined;
  #history: readonly HistoryEntry[] | undefined;
  #ended: ToolError | "settled" | undefined;
  /** Ends what is being asked when the attempt does, also when it ends well. */
  #asking: AbortController | undefined;

  constructor(run: AdmittedCall, attempt: number, deadline: number) {
    this.#run = run;
    this.attempt = attempt;
    this.deadline = deadline;
  }

  get callId(): string {
    return this.#run.callId;
  }

  get toolName(): string {
    return this.#run.toolName;
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

  get simulated(): boolean {
    return this.#run.simulated;
  }

  get history(): readonly HistoryEntry[] {
    return (this.#history ??= historyFor(this.#run));
  }

  /** Made when asked for, so that a handler may take it out of its context. */
  get isShown(): (callId: string) => boolean {
    return (callId) => isShown(this.#run.turn, callId);
  }

  get data(): Readonly<Record<string, unknown>> {
    return this.#run.options.data;
  }

  /** Which tools the caller may use; undefined = all. */
  get visibility(): Visibility | undefined {
    return this.#run.options.visibility;
  }

  /** The tools of the runtime that runs the call. */
  get registry(): Registry {
    return this.#run.parts.registry;
  }

  /** Names the message of the model that the call is part of. */
  get message(): string {
    return this.#run.turn.message;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (typeof this.#ended === "object") this.#controller.abort(this.#ended);
    }
    return this.#controller.signal;
  }

  /** The handler asked for its signal, so it may have stopped halfway when that aborted. */
  get isHeard(): boolean {
    return this.#controller !== undefined;
  }

  get state(): ToolState {
    return (this.#state ??= this.#openState());
  }

  /** As `progress`, it may be taken out of the context. */
  get ask(): (question: Question, asker?: string) => Promise<QuestionAnswer> {
    return (question, asker) => {
      if (this.#ended !== undefined) return Promise.resolve({ action: "cancel" });
      this.#asking ??= new AbortController();
      return askQuestion(question, { run: this.#run, signal: this.#asking.signal, asker });
    };
  }

  /** Made when asked for, so that a handler may take it out of its context: `(input, { progress }) => …`. */
  get progress(): (update: ProgressUpdate) => void {
    return (update) => {
      if (this.#ended !== undefined) return;
      const { parts, options, call } = this.#run;
      options.onProgress?.(update, { callId: this.callId, id: call.id, toolName: this.toolName });
      if (parts.listening) this.#run.emit({ ...this.#run.eventBase, type: "call-progress", toolName: this.toolName, update });
    };
  }

  get log(): (message: string, fields?: LogFields) => void {
    return (message, fields = {}) => this.#run.parts.ports.log.debug(message, { callId: this.callId, toolName: this.toolName, ...fields });
  }

  /** The state of the tool's toolset, read-only once the attempt is over: what is rolled back or given up stays so. */
  #openState(): ToolState {
    const state = this.#run.turn.stateOf(this.#run.plan.registered.toolset.name, this.callId);
    return {
      get: (key) => state.get(key),
      update: (key, change) => {
        if (this.#ended !== undefined)
          throw new ToolError("invalid_argument", `${this.toolName} changed state after its call had ended; that is too late.`);
        this.#run.changedState = true;
        state.update(key, change);
      },
    };
  }

  /** Marks the attempt as over; with an error the signal aborts. */
  end(reason: ToolError | "settled"): void {
    if (this.#ended !== undefined) return;
    this.#ended = reason;
    this.#asking?.abort(reason === "settled" ? undefined : reason);
    if (reason !== "settled") this.#controller?.abort(reason);
  }
}

/** What a call may know of its session: never a part of its own batch that depends on timing. */
function historyFor({ turn, route, callId }: AdmittedCall): readonly HistoryEntry[] {
  const { session, startsAt } = turn;
  if (!isSequential(route)) return session.historyAt(startsAt);
  const entries = session.history;
  const own = entries.findIndex((entry) => entry.callId === callId);
  return entries.slice(0, own < 0 ? entries.length : own).filter((entry) => entry.result !== undefined);
}

/** Which tools the caller of this handler may use, for one that tells of tools or calls them in its name; undefined = all. */
export function callerVisibility(context: ToolContext): Visibility | undefined {
  return context instanceof AttemptContext ? context.visibility : undefined;
}

/** Names the message of the model that the call of this handler is part of. */
export function messageOf(context: ToolContext): string | undefined {
  return context instanceof AttemptContext ? context.message : undefined;
}

/** The tools of the runtime that runs this handler. @throws ToolError `unavailable` for a context that no runtime made */
export function registryOf(context: ToolContext): Registry {
  if (context instanceof AttemptContext) return context.registry;
  throw new ToolError("unavailable", "This tool works only where a runtime runs it.");
}
