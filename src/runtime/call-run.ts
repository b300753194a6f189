/** The state of one call on its way through the pipeline, and the parts of the runtime it uses. */
import type { ToolCall } from "../core/call.ts";
import type { ContentPart } from "../core/content.ts";
import { ToolError } from "../core/error.ts";
import type { RuntimeEvent } from "../core/event.ts";
import type { Hook } from "../core/hook.ts";
import type { JsonLimits, JsonObject, JsonValue } from "../core/json.ts";
import type { Clock, Ports } from "../core/ports.ts";
import type { Repair, ToolResult } from "../core/result.ts";
import type { ApprovalGate } from "../policy/approval.ts";
import type { Interrupt, Interruptible } from "../policy/deadline.ts";
import type { Limit } from "../policy/limit.ts";
import type { ResultKeeper } from "../policy/result-keeper.ts";
import type { RetrySettings } from "../policy/retry.ts";
import type { RegisteredTool } from "./registered-tool.ts";
import type { Registry } from "./registry.ts";
import type { CallEffects } from "./resolve-effects.ts";
import type { LockTicket, ResourceLocks } from "./resource-locks.ts";
import type { RunningCalls } from "./running-calls.ts";
import type { Turn } from "./session.ts";
import type { ToolGuards } from "./tool-guards.ts";

/** What a step of the pipeline comes to: `undefined` goes on, an error ends the call. Throwing ends it too. */
export type StepEnd = ToolError | undefined;

/** What the pipeline uses of the runtime. */
export interface CallParts {
  readonly ports: Ports;
  readonly registry: Registry;
  readonly locks: ResourceLocks;
  readonly limit: Limit | undefined;
  readonly permission: ((qualifiedName: string) => ToolError | undefined) | undefined;
  readonly approvals: ApprovalGate;
  readonly beforeHooks: readonly Hook[];
  readonly afterHooks: readonly Hook[];
  readonly keeper: ResultKeeper;
  readonly retry: RetrySettings;
  readonly inputLimits: JsonLimits;
  readonly orphanHoldMs: number;
  readonly running: RunningCalls<CallRun>;
  /** Abandoned handlers that still run, by call id. */
  readonly orphans: Map<string, OrphanCount>;
  readonly counters: CallCounters;
  readonly listening: boolean;
  guardsOf(registered: RegisteredTool): ToolGuards;
  emit(event: RuntimeEvent): void;
}

export interface OrphanCount {
  readonly toolName: string;
  /** More than one when several attempts of the call were abandoned. */
  readonly count: number;
}

/** What a runtime has done so far. */
export interface CallCounters {
  calls: number;
  attempts: number;
  repairs: number;
  /** Handlers that were abandoned and have not ended yet. */
  orphans: number;
  /** Handlers that were ever abandoned. */
  abandoned: number;
}

export interface CallOptions {
  readonly validate: boolean;
  readonly recordHistory: boolean;
  readonly data: Readonly<Record<string, unknown>>;
}

const NO_REPAIRS: readonly Repair[] = Object.freeze([]);
const NO_WARNINGS: readonly string[] = Object.freeze([]);

/** One call between its arrival and its result. Fields are filled in the order of the pipeline. */
export class CallRun implements Interruptible {
  readonly parts: CallParts;
  readonly turn: Turn;
  readonly options: CallOptions;
  readonly clock: Clock;
  readonly callId: string;
  readonly startedAt: number;
  /** On the clock; `Infinity` until the tool is known. */
  deadlineAt = Infinity;
  call: ToolCall;
  /** Why the call could not be read; it ends with this. */
  unreadable: ToolError | undefined;
  repairs: readonly Repair[] = NO_REPAIRS;
  warnings: readonly string[] = NO_WARNINGS;
  registered: RegisteredTool | undefined;
  guards: ToolGuards | undefined;
  input: JsonObject | undefined;
  parsed: unknown;
  effects: CallEffects | undefined;
  ticket: LockTicket | undefined;
  slots: Limit[] | undefined;
  attempts = 0;
  raw: unknown;
  output: JsonValue | undefined;
  content: readonly ContentPart[] | undefined;
  metadata: Readonly<Record<string, unknown>> | undefined;
  partial: ToolError | undefined;
  result: ToolResult | undefined;
  /** Set when the call was cancelled; what every later step ends with. */
  cancelled: ToolError | undefined;
  wait: Interrupt | undefined;

  constructor(parts: CallParts, turn: Turn, options: CallOptions, call: ToolCall) {
    this.parts = parts;
    this.turn = turn;
    this.options = options;
    this.clock = parts.ports.clock;
    this.callId = parts.ports.ids.next("call");
    this.startedAt = this.clock.now();
    this.call = call;
  }

  /** The qualified name once the tool is known, the name as asked before. */
  get toolName(): string {
    return this.registered?.qualifiedName ?? this.call.name;
  }

  get recorded(): boolean {
    return this.parts.listening || (this.turn.session.recorded && this.options.recordHistory);
  }

  /** Ends the call with `cancelled` as soon as it can be; a call that has its result keeps it. */
  cancel(reason: string): void {
    if (this.cancelled !== undefined || this.result !== undefined) return;
    this.cancelled = new ToolError("cancelled", `${this.toolName} was cancelled: ${reason}`, {
      outcome: this.attempts === 0 ? "not_started" : "unknown",
    });
    this.wait?.interrupt(this.cancelled);
  }

  /** Passes an event to listeners and, unless told otherwise, to the session's log. */
  emit(event: RuntimeEvent): void {
    const { session } = this.turn;
    if (session.recorded && this.options.recordHistory && (event.type === "call-start" || event.type === "call-end"))
      session.record(Object.freeze(event));
    if (this.parts.listening) this.parts.emit(event);
  }

  /** The fields that every event of this call has. */
  get eventBase(): { readonly callId: string; readonly sessionId: string; readonly turnId: string; readonly at: number } {
    return { callId: this.callId, sessionId: this.turn.session.id, turnId: this.turn.id, at: this.clock.wallTime() };
  }
}
