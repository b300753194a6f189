/** Records calls outside sessions for the audit, in the background, within the limits of memory and the store. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { AccessStore, AuditedCall } from "../../core/store/access-store.ts";
import { plural } from "../../core/base/wording.ts";
import { describeThrown } from "../../core/error.ts";
import type { RuntimeEvent } from "../../core/event.ts";
import type { Clock, Log } from "../../core/ports.ts";
import type { ToolResult } from "../../core/result.ts";
import { throttledLog } from "../../core/system/throttled-log.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { failureLog, isStoreFailure } from "../store-failures.ts";

export interface CallOrigin {
  readonly via: AuditedCall["via"];
  readonly principal?: string | undefined;
  /** The trace header of the request. */
  readonly traceparent?: string | null | undefined;
}

/** Makes the call log of a runtime; undefined if the runtime has no store. */
export function createCallLog(runtime: Runtime, ports: { readonly clock: Clock; readonly log: Log }): CallLog | undefined {
  return runtime.store === undefined ? undefined : new CallLog(runtime, runtime.store.access, ports);
}

/** Maximum number of calls kept in the store. */
export const MAX_STORED_CALLS = 1_000_000;
/** Maximum number of calls waiting to be written; further ones are only counted. */
const MAX_PENDING_CALLS = 10_000;
const WRITE_BATCH_SIZE = 1_000;
const WRITE_EVERY_MS = 200;
/** The wait after a failed write, in milliseconds. */
const RETRY_MS = 1_000;
/** Maximum length of a tool name, which a client may have made up. */
const MAX_NAME = 256;
const TRACEPARENT = /^[\da-f]{2}-([\da-f]{32})-/u;

type OpenCall = { -readonly [Field in keyof AuditedCall]: AuditedCall[Field] };

const originStorage = new AsyncLocalStorage<CallOrigin & { readonly log: CallLog }>();

export class CallLog {
  /** Total number of calls that were not kept. */
  missed = 0;
  readonly #runtime: Runtime;
  readonly #access: AccessStore;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #failures: Log;
  readonly #unsubscribe: () => void;
  /** Calls that have begun and not ended, by call id. */
  readonly #open = new Map<string, OpenCall>();
  #pending: AuditedCall[] = [];
  /** Number of calls that were not kept since the last one that was. */
  #missedSince = 0;
  #stopTimer: (() => void) | undefined;
  #writing: Promise<void> | undefined;

  constructor(runtime: Runtime, access: AccessStore, { clock, log }: { readonly clock: Clock; readonly log: Log }) {
    this.#runtime = runtime;
    this.#access = access;
    this.#clock = clock;
    this.#log = throttledLog(log, clock);
    this.#failures = failureLog({ log, clock });
    this.#unsubscribe = runtime.subscribe((event) => this.#handleEvent(event));
  }

  /** Runs work whose calls belong to no session; records each of them, nested calls included. */
  recordCalls<T>(origin: CallOrigin, work: () => T): T {
    return originStorage.run({ ...origin, log: this }, work);
  }

  async recordSimulated<T extends { readonly results: readonly ToolResult[] }>(
    { sessionId, ...origin }: CallOrigin & { readonly sessionId?: string },
    work: () => Promise<T>,
  ): Promise<T> {
    const at = this.#clock.wallTime();
    const done = await work();
    for (const result of done.results) {
      const call = createEntry(origin, { at, toolName: result.name });
      completeEntry(call, result);
      if (sessionId !== undefined) call.sessionId = sessionId;
      call.simulated = true;
      this.#enqueue(call);
    }
    return done;
  }

  /** Records a call that was refused before it reached the runtime. */
  recordRefused(origin: CallOrigin, { toolName, errorCode }: { readonly toolName: string; readonly errorCode: string }): void {
    this.#enqueue({ ...createEntry(origin, { at: this.#clock.wallTime(), toolName }), errorCode });
  }

  /** Records unended calls as `open`, and resolves when all calls are written, or cannot be. Idempotent. */
  async close(): Promise<void> {
    this.#unsubscribe();
    for (const call of this.#open.values()) this.#enqueue({ ...call, outcome: "open" });
    this.#open.clear();
    this.#stopTimer?.();
    await (this.#writing ?? this.#write());
    if (this.#pending.length > 0) await this.#write();
    this.#stopTimer?.();
    const lost = this.#pending.length + this.#missedSince;
    this.#pending = [];
    if (lost > 0) this.#log.warn(`${plural(lost, "call is", "calls are")} not in the audit: the store did not accept them.`);
  }

  #handleEvent(event: RuntimeEvent): void {
    if (event.type === "call-start") {
      const origin = originStorage.getStore();
      // a handler may open a session, which records its calls in its own log
      if (origin?.log !== this || this.#runtime.sessions.get(event.sessionId) !== undefined) return;
      const { callId, at, call, principal, parentCallId } = event;
      const open = createEntry(origin, { at, toolName: call.name });
      open.callId = callId;
      if (principal !== undefined) open.principal = principal;
      if (parentCallId !== undefined) open.parentCallId = parentCallId;
      const traceId = this.#findTraceId(callId);
      if (traceId !== undefined) open.traceId = traceId;
      this.#open.set(callId, open);
      return;
    }
    if (event.type === "call-end") this.#logStoreFailure(event.result);
    if (this.#open.size === 0) return;
    if (event.type === "approval-answer" && event.status === "allowed" && event.by !== undefined) {
      const open = this.#open.get(event.callId);
      if (open !== undefined) open.approvedBy = event.by;
    } else if (event.type === "call-end") {
      const open = this.#open.get(event.callId);
      if (open === undefined) return;
      this.#open.delete(event.callId);
      const traceId = open.traceId ?? this.#findTraceId(event.callId);
      if (traceId !== undefined) open.traceId = traceId;
      completeEntry(open, event.result);
      this.#enqueue(open);
    }
  }

  /** Logs why the store failed a call: its client gets only a reference to the log. */
  #logStoreFailure({ error, callId, name }: ToolResult): void {
    if (error !== undefined && isStoreFailure(error)) this.#failures.warn(`${name} failed (${callId}): ${error.message}`);
  }

  /** The trace id of a call; undefined if the runtime does not trace. */
  #findTraceId(callId: string): string | undefined {
    return parseTraceId(this.#runtime.tracing?.headersOf(callId)?.["traceparent"]);
  }

  #enqueue(call: AuditedCall): void {
    if (this.#pending.length >= MAX_PENDING_CALLS) {
      this.missed++;
      this.#missedSince++;
      this.#log.warn("The store does not keep up: calls are missing from the audit.");
      return;
    }
    this.#pending.push(this.#missedSince === 0 ? call : { ...call, missed: this.#missedSince });
    this.#missedSince = 0;
    if (this.#writing === undefined) this.#scheduleWrite(WRITE_EVERY_MS);
  }

  #scheduleWrite(delayMs: number): void {
    this.#stopTimer ??= this.#clock.timer(() => void this.#write(), delayMs, { background: true });
  }

  #write(): Promise<void> {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    return (this.#writing ??= this.#writeAll().finally(() => (this.#writing = undefined)));
  }

  /** Writes the waiting calls. Calls that cannot be written are kept for the next write. */
  async #writeAll(): Promise<void> {
    while (this.#pending.length > 0) {
      const calls = this.#pending.slice(0, WRITE_BATCH_SIZE);
      try {
        await this.#access.addCalls({ calls, keep: MAX_STORED_CALLS });
      } catch (thrown: unknown) {
        this.#log.warn(`Calls could not be written to the audit; this is tried again later: ${describeThrown(thrown)}`);
        this.#scheduleWrite(RETRY_MS);
        return;
      }
      this.#pending = this.#pending.slice(calls.length);
    }
  }
}

/** A new entry. Its outcome is `error` until the end of the call is known. */
function createEntry({ via, principal, traceparent }: CallOrigin, { at, toolName }: Pick<AuditedCall, "at" | "toolName">): OpenCall {
  const call: OpenCall = { at: Math.trunc(at), toolName: toolName.slice(0, MAX_NAME), via, outcome: "error" };
  if (principal !== undefined) call.principal = principal;
  const traceId = parseTraceId(traceparent);
  if (traceId !== undefined) call.traceId = traceId;
  return call;
}

function completeEntry(call: OpenCall, { callId, name, status, durationMs, error }: ToolResult): void {
  call.callId = callId;
  call.outcome = status === "pending" ? "open" : status;
  call.durationMs = durationMs;
  call.toolName = name.slice(0, MAX_NAME);
  if (error !== undefined) call.errorCode = error.code;
}

function parseTraceId(traceparent: string | null | undefined): string | undefined {
  return typeof traceparent === "string" ? TRACEPARENT.exec(traceparent)?.[1] : undefined;
}
