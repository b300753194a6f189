/** The whole, wired: toolsets in, calls in, results out. */
import { checkMs, checkSettings } from "../core/check-settings.ts";
import type { ToolCall } from "../core/call.ts";
import { ToolError } from "../core/error.ts";
import type { EventListener, RuntimeEvent } from "../core/event.ts";
import type { Engine } from "../core/engine.ts";
import type { Hook } from "../core/hook.ts";
import type { JsonLimits } from "../core/json.ts";
import type { Ports } from "../core/ports.ts";
import type { ToolResult } from "../core/result.ts";
import type { CallSettings, Tool } from "../core/tool.ts";
import type { Toolset } from "../core/toolset.ts";
import { localEngine } from "../engine/local.ts";
import { ApprovalGate } from "../policy/approval.ts";
import type { ApprovalSettings } from "../policy/approval.ts";
import type { CircuitSettings } from "../policy/circuit.ts";
import { Limit } from "../policy/limit.ts";
import { permissionGate } from "../policy/permission.ts";
import type { PermissionRules } from "../policy/permission.ts";
import { ResultKeeper } from "../policy/result-keeper.ts";
import { checkRetry } from "../policy/retry.ts";
import type { RetrySettings } from "../policy/retry.ts";
import { runBatch, runOne } from "./batch.ts";
import type { CallCounters, CallOptions, CallParts, CallRun, OrphanCount } from "./call-run.ts";
import { readResultToolset } from "./read-result-tool.ts";
import type { RegisteredTool } from "./registered-tool.ts";
import { Registry } from "./registry.ts";
import { ResourceLocks } from "./resource-locks.ts";
import { safeListener, safeLog } from "./safe-ears.ts";
import { RunningCalls } from "./running-calls.ts";
import { Session, Turn } from "./session.ts";
import { systemPorts } from "./system-ports.ts";
import { ToolGuards } from "./tool-guards.ts";
import { ToolsetLifecycle } from "./toolset-lifecycle.ts";
import type { OpenReport } from "./toolset-lifecycle.ts";

export interface RuntimeOptions extends CallSettings {
  /** Tools of the namespace `default`. */
  readonly tools?: readonly Tool[];
  readonly toolsets?: readonly Toolset[];
  /** Most handlers that run at a time. Integer ≥ 1. @default no limit */
  readonly maxConcurrent?: number;
  readonly retry?: RetrySettings;
  /** When a failing tool is left alone for a while; `false` = never. */
  readonly circuit?: CircuitSettings | false;
  readonly permission?: PermissionRules;
  readonly approval?: ApprovalSettings;
  readonly hooks?: readonly Hook[];
  /** What handlers find in `context.data`, unless an `execute` gives its own. */
  readonly data?: Readonly<Record<string, unknown>>;
  readonly onEvent?: EventListener;
  /** One toolset that fails to open fails them all. @default false */
  readonly strict?: boolean;
  /** How deep and large an input may be. */
  readonly inputLimits?: JsonLimits;
  /** How long an abandoned handler keeps its locks and slots. @default 10_000 */
  readonly orphanHoldMs?: number;
  /** Clock, randomness, ids and log, for tests. */
  readonly ports?: Partial<Ports>;
}

export interface ExecuteOptions {
  readonly signal?: AbortSignal;
  readonly data?: Readonly<Record<string, unknown>>;
  /** `throw`: the first failure cancels the batch, takes the session back and throws ToolExecutionError. @default "result" */
  readonly onError?: "result" | "throw";
  /** Check inputs and outputs against their schemas. @default true */
  readonly validate?: boolean;
  /** Keep the calls in the session's log. @default true */
  readonly recordHistory?: boolean;
}

/** Every setting has a default: `createRuntime({ tools: [myTool] })` is enough. */
export function createRuntime(options: RuntimeOptions = {}): Runtime {
  return new Runtime(options);
}

function checkOptions(options: RuntimeOptions): void {
  checkSettings(options, "the runtime");
  checkMs(options.orphanHoldMs, "orphanHoldMs", "the runtime");
  checkRetry(options.retry ?? {});
}

const DEFAULT_ORPHAN_HOLD_MS = 10_000;
const NO_OPTIONS: ExecuteOptions = Object.freeze({});
const NO_DATA: Readonly<Record<string, unknown>> = Object.freeze({});

export class Runtime {
  readonly registry: Registry;
  readonly #options: RuntimeOptions;
  readonly #ports: Ports;
  readonly #parts: CallParts;
  readonly #lifecycle: ToolsetLifecycle;
  readonly #guards = new WeakMap<RegisteredTool, ToolGuards>();
  readonly #toolsetLimits = new WeakMap<Toolset, Limit>();
  readonly #sessions = new Map<string, Session>();
  readonly #local: Engine = localEngine();
  readonly #defaultCallOptions: CallOptions;
  readonly #listener: EventListener | undefined;

  constructor(options: RuntimeOptions) {
    checkOptions(options);
    this.#options = options;
    this.#defaultCallOptions = this.#callOptions(NO_OPTIONS);
    const ports = { ...systemPorts, ...options.ports };
    this.#ports = { ...ports, log: safeLog(ports.log) };
    this.#listener = options.onEvent === undefined ? undefined : safeListener(options.onEvent, this.#ports.log);
    this.registry = new Registry({ defaults: options, onWarning: (message) => this.#ports.log.warn(message) });
    this.#parts = this.#makeParts();
    this.#lifecycle = new ToolsetLifecycle(options.toolsets ?? [], {
      registry: this.registry,
      ports: this.#ports,
      emit: (event) => this.#emit(event),
      strict: options.strict ?? false,
      localEngine: this.#local,
    });
    this.registry.addToolset(readResultToolset(this.#parts.keeper));
    for (const tool of options.tools ?? []) this.registry.register(tool);
  }

  /** Opens every toolset that needs it; the report names those that failed, and the others work. */
  open(): Promise<OpenReport> {
    return this.#lifecycle.open();
  }

  /**
   * Runs one call, or the calls of one message together. Never rejects for what a call did: each call has
   * its result, in call order.
   *
   * A handler may run calls too. They wait like any others, also for what the handler's own call holds: give it no
   * effects in common with them, or it waits for itself until its time is up.
   *
   * @throws ToolExecutionError only with `onError: "throw"`; ToolError `invalid_argument` for wrong options. Both by rejecting
   */
  execute(call: ToolCall, options?: ExecuteOptions): Promise<ToolResult>;
  execute(calls: readonly ToolCall[], options?: ExecuteOptions): Promise<readonly ToolResult[]>;
  execute(calls: ToolCall | readonly ToolCall[], options: ExecuteOptions = NO_OPTIONS): Promise<ToolResult | readonly ToolResult[]> {
    return this.#run(new Session({ ids: this.#ports.ids, recorded: false }), calls, options);
  }

  /** Starts a conversation whose calls share state and are recorded. @throws ToolError `duplicate` for an id in use */
  session(id?: string): RuntimeSession {
    if (id !== undefined && this.#sessions.has(id))
      throw new ToolError("duplicate", `The session ${JSON.stringify(id)} exists already. Close it first, or use another id.`);
    const session = new RuntimeSession(
      { ids: this.#ports.ids, id: id ?? this.#ports.ids.next("session"), recorded: true },
      (calls, options) => this.#run(session, calls, options),
      () => this.#forget(session),
    );
    this.#sessions.set(session.id, session);
    return session;
  }

  /** What the runtime has done so far. */
  get counters(): Readonly<CallCounters> {
    return { ...this.#parts.counters };
  }

  /** The calls that have begun and not ended, oldest first. */
  get running(): readonly { readonly callId: string; readonly name: string }[] {
    return [...this.#parts.running.values()].map((run) => ({ callId: run.callId, name: run.toolName }));
  }

  /**
   * Cancels what runs, takes every tool away, waits for the results, then closes every toolset. Idempotent; resolves to
   * the errors of toolsets that would not close. Handlers that do not obey their signal may still run.
   */
  async close(): Promise<readonly ToolError[]> {
    for (const run of this.#parts.running.values()) run.cancel("the runtime was closed");
    for (const session of this.#sessions.values()) session.close();
    return this.#lifecycle.close(() => this.#parts.running.whenEnded());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #run(session: Session, calls: ToolCall | readonly ToolCall[], options: ExecuteOptions): Promise<ToolResult | readonly ToolResult[]> {
    if (session.closed) return Promise.reject(new ToolError("invalid_argument", `The session ${JSON.stringify(session.id)} is closed.`));
    const misuse = options === NO_OPTIONS ? undefined : wrongOptions(options);
    if (misuse !== undefined) return Promise.reject(misuse);
    const turn = new Turn(session, this.#ports.ids);
    const callOptions = options === NO_OPTIONS ? this.#defaultCallOptions : this.#callOptions(options);
    if (isBatch(calls)) return this.#runBatch(turn, calls, callOptions, options);
    if (options.signal === undefined && options.onError !== "throw") return Promise.resolve(runOne(this.#parts, turn, calls, callOptions));
    return this.#runBatch(turn, [calls], callOptions, options).then((results) => results[0] ?? results);
  }

  #runBatch(turn: Turn, calls: readonly unknown[], callOptions: CallOptions, options: ExecuteOptions): Promise<readonly ToolResult[]> {
    return runBatch(this.#parts, turn, calls, {
      ...callOptions,
      signal: options.signal,
      throwOnError: options.onError === "throw",
      onFailure: (error) => this.#ports.log.warn(`A batch was rolled back: ${error.message}`),
    });
  }

  #callOptions(options: ExecuteOptions): CallOptions {
    return {
      validate: options.validate ?? true,
      recordHistory: options.recordHistory ?? true,
      data: options.data ?? this.#options.data ?? NO_DATA,
    };
  }

  #forget(session: Session): void {
    this.#sessions.delete(session.id);
    this.#parts.approvals.forget(session.id);
    this.#parts.keeper.forget(session.id);
  }

  #makeParts(): CallParts {
    const options = this.#options;
    const hooks = [...(options.hooks ?? [])].sort((one, other) => (one.priority ?? 0) - (other.priority ?? 0));
    return {
      ports: this.#ports,
      registry: this.registry,
      locks: new ResourceLocks(),
      limit: options.maxConcurrent === undefined ? undefined : new Limit(options.maxConcurrent),
      permission: options.permission === undefined ? undefined : permissionGate(options.permission),
      approvals: new ApprovalGate(options.approval ?? {}, this.#ports),
      beforeHooks: hooks.filter((hook) => hook.beforeCall !== undefined),
      afterHooks: hooks.filter((hook) => hook.afterCall !== undefined),
      keeper: new ResultKeeper({}),
      retry: options.retry ?? {},
      inputLimits: options.inputLimits ?? {},
      orphanHoldMs: options.orphanHoldMs ?? DEFAULT_ORPHAN_HOLD_MS,
      running: new RunningCalls<CallRun>(),
      orphans: new Map<string, OrphanCount>(),
      counters: { calls: 0, attempts: 0, repairs: 0, orphans: 0, abandoned: 0 },
      listening: options.onEvent !== undefined,
      guardsOf: (registered) => this.#guardsOf(registered),
      emit: (event) => this.#emit(event),
    };
  }

  #guardsOf(registered: RegisteredTool): ToolGuards {
    let guards = this.#guards.get(registered);
    if (guards === undefined) {
      guards = new ToolGuards({
        registered,
        engine: registered.tool.execute === undefined ? this.#lifecycle.engineOf(registered.toolset) : this.#local,
        toolsetLimit: this.#toolsetLimit(registered.toolset),
        clock: this.#ports.clock,
        circuit: this.#options.circuit ?? {},
        onCircuit: (state) =>
          this.#emit({ type: "circuit-change", at: this.#ports.clock.wallTime(), toolName: registered.qualifiedName, state }),
        warn: (message) => this.#ports.log.warn(message),
      });
      this.#guards.set(registered, guards);
    }
    return guards;
  }

  #toolsetLimit(toolset: Toolset): Limit | undefined {
    if (toolset.maxConcurrent === undefined) return undefined;
    let limit = this.#toolsetLimits.get(toolset);
    if (limit === undefined) {
      limit = new Limit(toolset.maxConcurrent);
      this.#toolsetLimits.set(toolset, limit);
    }
    return limit;
  }

  #emit(event: RuntimeEvent): void {
    this.#listener?.(event);
  }
}

/** `Array.isArray` for what may be a revoked proxy, which is read as one call that cannot be read. */
function isBatch(calls: ToolCall | readonly ToolCall[]): calls is readonly ToolCall[] {
  try {
    return Array.isArray(calls);
  } catch {
    return false;
  }
}

function wrongOptions(options: ExecuteOptions): ToolError | undefined {
  if (typeof options !== "object" || options === null) return new ToolError("invalid_argument", "The options of execute() are an object.");
  const { signal, onError } = options;
  if (signal !== undefined && !(typeof signal?.aborted === "boolean" && typeof signal.addEventListener === "function")) {
    return new ToolError("invalid_argument", 'The option "signal" of execute() is an AbortSignal.');
  }
  if (onError === undefined || onError === "result" || onError === "throw") return undefined;
  return new ToolError("invalid_argument", `The option "onError" of execute() is "result" or "throw", not ${String(onError)}.`);
}

type Run = (calls: ToolCall | readonly ToolCall[], options: ExecuteOptions) => Promise<ToolResult | readonly ToolResult[]>;

/** A session that can run calls: each `execute` is one turn. */
export class RuntimeSession extends Session {
  readonly #run: Run;
  readonly #onClose: () => void;

  constructor(options: ConstructorParameters<typeof Session>[0], run: Run, onClose: () => void) {
    super(options);
    this.#run = run;
    this.#onClose = onClose;
  }

  /** As `Runtime.execute`, within this session. @throws ToolError `invalid_argument` once the session is closed */
  execute(call: ToolCall, options?: ExecuteOptions): Promise<ToolResult>;
  execute(calls: readonly ToolCall[], options?: ExecuteOptions): Promise<readonly ToolResult[]>;
  execute(calls: ToolCall | readonly ToolCall[], options: ExecuteOptions = NO_OPTIONS): Promise<ToolResult | readonly ToolResult[]> {
    return this.#run(calls, options);
  }

  override close(): void {
    if (this.closed) return;
    super.close();
    this.#onClose();
  }
}
