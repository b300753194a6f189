/// <reference lib="esnext.disposable" preserve="true" />
/** The runtime, which connects all parts: it takes toolsets and calls, and returns results. */
import { pushAll } from "../core/collections/push-all.ts";
import { OWN_NAMESPACE, type ToolCall } from "../core/call.ts";
import { ToolError } from "../core/error.ts";
import { checkString } from "../core/check-argument.ts";
import type { Approvals } from "../core/approvals/approvals.ts";
import type { EventListener } from "../core/event.ts";
import type { ArtifactStore } from "../core/artifact.ts";
import type { Engine } from "../core/engine.ts";
import type { Ports } from "../core/ports.ts";
import type { ToolResult } from "../core/result.ts";
import type { Toolset } from "../core/toolset.ts";
import type { Tracing } from "../core/tracing.ts";
import { localEngine } from "../engine/local.ts";
import type { CallCounters } from "../call/call-counters.ts";
import { toRunningCall } from "../call/context/call-tree.ts";
import type { CallServices } from "../call/call-run.ts";
import { callsUnderWay, type CallUnderWay } from "../call/context/calls-under-way.ts";
import { createCallServices, createLockServices, createToolPlan, type LockServices } from "./call-services.ts";
import { checkRuntimeOptions, type RuntimeOptions } from "./runtime-options.ts";
import { unreadableOptionsError, type ExecuteOptions } from "../call/execute-options.ts";
import { readResultToolset } from "../registry/read-result-tool.ts";
import { applyPlaces } from "../registry/placed-toolsets.ts";
import { addHookCommands } from "../registry/hook-commands.ts";
import type { Registry } from "../registry/registry.ts";
import { FallbackChains } from "../call/fallback-chains.ts";
import { Listeners } from "./listeners.ts";
import { CallRunner, NO_OPTIONS } from "./run-calls.ts";
import { simulateCall } from "./preview-call.ts";
import type { OpenSessions } from "./open-sessions.ts";
import type { ResumeOptions } from "./resume/resume-session.ts";
import { findOutput } from "./recorded-events.ts";
import { RuntimeSession } from "./runtime-session.ts";
import type { SimulateOptions, Simulation } from "./session-options.ts";
import { Jobs } from "../call/jobs/jobs.ts";
import { checkSessionStart, type SessionStart } from "./session-start.ts";
import { Sessions } from "./sessions.ts";
import type { Store } from "../core/store/store.ts";
import { createStoredJobs } from "./stored-jobs.ts";
import { nothingToCommitToError } from "./session-errors.ts";
import { createRegistry, markRegistryUsed, toolsetsOf, unansweredToolWarnings, bareNameWarnings } from "./runtime-registry.ts";
import type { EventFeed } from "./events/event-feed.ts";
import { EventFeeds, type EventsOptions } from "./events/event-feeds.ts";
import { safeLog } from "../core/system/safe-log.ts";
import { systemPorts } from "../core/system/system-ports.ts";
import type { ToolPlan } from "../call/tool-plan.ts";
import type { RegisteredTool } from "../registry/registered-tool.ts";
import { ToolsetLifecycle } from "../registry/lifecycle/toolset-lifecycle.ts";
import type { OpenReport, RefreshReport } from "../registry/lifecycle/open-report.ts";
import { watchSources } from "../registry/lifecycle/watch-sources.ts";

export type { RuntimeOptions };

/** Creates a runtime. Every setting has a default: `createRuntime({ tools: [myTool] })` is enough. */
export function createRuntime(options: RuntimeOptions = {}): Runtime {
  return new Runtime(options);
}

const DEFAULT_KEEP_EVENTS = 10_000;

/** A runtime without loops: it runs calls and keeps sessions. `createRuntime` returns a `Runtime`, which adds `loop()`. */
export class Runtime {
  readonly registry: Registry;
  /** The store of the sessions; undefined if they end with the process. */
  readonly store: Store | undefined;
  /** Where the files of answers and messages are kept; undefined if they are part of the log, or left out. */
  readonly artifacts: ArtifactStore | undefined;
  /** The places of this process. */
  readonly places: readonly string[];
  readonly #options: RuntimeOptions;
  readonly #ports: Ports;
  readonly #services: CallServices;
  readonly #lifecycle: ToolsetLifecycle;
  readonly #stops = new Set<() => void>();
  readonly #plans = new WeakMap<RegisteredTool, ToolPlan>();
  readonly #lockServices: LockServices;
  readonly #sessions: Sessions;
  readonly #chains: FallbackChains;
  readonly #runner: CallRunner;
  readonly #local: Engine = localEngine();
  readonly #listeners: Listeners;
  #jobs: Jobs | undefined;
  #feeds: EventFeeds | undefined;

  constructor(options: RuntimeOptions) {
    checkRuntimeOptions(options);
    this.#options = options;
    this.store = options.store;
    this.places = options.places ?? [];
    this.artifacts = options.artifacts === false ? undefined : options.artifacts;
    const ports = { ...systemPorts, ...options.ports };
    this.#ports = { ...ports, log: safeLog(ports.log) };
    this.#lockServices = createLockServices(options, this.#ports);
    this.#chains = new FallbackChains(options.answers, options.standIn);
    this.#runner = new CallRunner({ ...options, chains: this.#chains, log: this.#ports.log });
    this.#listeners = new Listeners(this.#ports.log);
    if (options.onEvent !== undefined) this.#listeners.add(options.onEvent);
    this.registry = options.registry ?? createRegistry(options, this.#ports.log);
    const registered = toolsetsOf(this.registry);
    this.#services = this.#createServices();
    const { toolsets, sources } = applyPlaces(options);
    this.#lifecycle = new ToolsetLifecycle(toolsets, {
      registered,
      registry: this.registry,
      ports: this.#realPorts,
      emit: (event) => this.#listeners.emit(event),
      strict: options.strict ?? false,
      localEngine: this.#local,
      sources,
      pins: options.pins,
      whenUnused: (engine) => this.#services.running.whenEnded((run) => run.route?.engine === engine),
    });
    this.registry.removeToolset(OWN_NAMESPACE); // left by a runtime whose constructor failed
    this.registry.addToolset(
      readResultToolset(this.#services.largeResults, (sessionId, callId) => findOutput(this.#sessions.open, { sessionId, callId })),
    );
    this.#sessions = this.#createSessions();
    for (const tool of options.tools ?? []) this.registry.register(tool);
    addHookCommands(this.registry, options.hooks ?? []);
    markRegistryUsed(this.registry);
    for (const warning of [...unansweredToolWarnings(options), ...bareNameWarnings(options, this.registry)]) this.#ports.log.warn(warning);
  }

  /**
   * Opens every toolset that needs it, once. The report names those that failed; the others work.
   *
   * @throws ToolError `unavailable` if one failed and `strict` is set, in which case all are closed; `invalid_argument` if the runtime was closed
   * before; as a rejection
   */
  open(): Promise<OpenReport> {
    return this.#lifecycle.open();
  }

  /**
   * Opens one toolset: after `closeToolset`, after it failed to open, or instead of `open`.
   *
   * @throws ToolError `not_found`; `unavailable` if it could not be opened or is disabled; as a rejection
   */
  openToolset(name: string): Promise<void> {
    return this.#lifecycle.openOne(name);
  }

  /**
   * Removes the tools of one toolset: calls of them end with `unavailable`. Its engine is closed once the calls that use it have ended, unless
   * another toolset shares it. Until `openToolset`, neither `open` nor `refresh` opens it again.
   *
   * @throws ToolError `not_found`; `unavailable` if the engine failed to close; as a rejection
   */
  closeToolset(name: string): Promise<void> {
    return this.#lifecycle.closeOne(name);
  }

  /**
   * Reads the sources again, asks engines that list tools for their current ones, opens new toolsets and those that failed to open before, and
   * applies all changes atomically: a call sees all of them or none. Toolsets that fail stay as they were, and running calls continue with the tool
   * that they began with.
   *
   * @throws ToolError `invalid_argument` before `open` and after `close`; with `strict`, any failure, in which case nothing has changed
   */
  refresh(): Promise<RefreshReport> {
    return this.#lifecycle.refresh();
  }

  /**
   * Keeps the tools of open toolsets as they are, whatever changes their servers report, until the returned function is called; then they are listed
   * again. `refresh` is not held. Resolves once changes that were being read are applied. For work that must see the same tools from beginning to end.
   */
  holdTools(): Promise<() => void> {
    return this.#lifecycle.relister.hold();
  }

  /** Refreshes whenever a source may have changed; failures are logged. The returned function stops that, as does `close`. */
  watch(): () => void {
    const stop = watchSources(this.#lifecycle, this.#realPorts);
    this.#stops.add(stop);
    return stop;
  }

  /** Calls the listener with every event from now on, after the earlier listeners. The returned function removes it. */
  subscribe(listener: EventListener): () => void {
    const stop = this.#listeners.add(listener);
    this.#services.listening = true;
    return () => {
      stop();
      this.#services.listening = this.#listeners.hasAny;
    };
  }

  /** Traces the runtime and its loops: see `haft/telemetry`. The returned function stops that. @throws ToolError `duplicate` if traced already */
  trace(tracing: Tracing): () => void {
    if (this.#services.tracing !== undefined) throw new ToolError("duplicate", "This runtime is already traced; end that trace first.");
    this.#services.tracing = tracing;
    return () => {
      if (this.#services.tracing === tracing) this.#services.tracing = undefined;
    };
  }

  /** Clock, log, ids and randomness. */
  get ports(): Ports {
    return this.#ports;
  }

  /** The ports of toolsets, whose servers do not skip time with the clock. */
  get #realPorts(): Ports {
    const { clock } = this.#ports;
    return { ...this.#ports, clock: clock.real ?? clock };
  }

  /** The tracing of this runtime, for a server that continues the traces of its clients; undefined without one. */
  get tracing(): Tracing | undefined {
    return this.#services.tracing;
  }

  /**
   * Reads events, each with its position, of one session or of all: first those that are kept after `after`, then new ones, without gaps or
   * duplicates. Sessions need not be open here: events that other processes write to the store arrive within a second.
   *
   * An event of a log arrives once it is durable, so that a reader can continue from its `cursor` in any process; other events have no cursor.
   *
   * @throws ToolError `invalid_argument` at once; see `EventFeed.read` for later errors
   */
  events(options: EventsOptions = {}): EventFeed {
    const parts = { store: this.#options.store, ports: this.#ports, subscribe: (listener: EventListener) => this.subscribe(listener) };
    return (this.#feeds ??= new EventFeeds(this.#sessions.open, parts)).feed(options);
  }

  /**
   * Runs one call, or the calls of one message together. Never rejects because of a call: each call has its result, in call order.
   *
   * A handler may make calls too. They borrow the locks and slots of the handler's own call. A nested call that would write something that the outer
   * call only reads ends at once with `resource_busy`, because it could never get the lock.
   *
   * @throws ToolExecutionError only with `onError: "throw"`; ToolError `invalid_argument` for invalid options; both as rejections
   */
  execute(call: ToolCall, options?: ExecuteOptions): Promise<ToolResult>;
  execute(calls: readonly ToolCall[], options?: ExecuteOptions): Promise<readonly ToolResult[]>;
  execute(calls: ToolCall | readonly ToolCall[], options: ExecuteOptions = NO_OPTIONS): Promise<ToolResult | readonly ToolResult[]> {
    try {
      return this.#runner.runWithoutSession(this.#services, calls, options);
    } catch (thrown: unknown) {
      return Promise.reject(unreadableOptionsError(thrown, this instanceof Runtime ? undefined : "runtime"));
    }
  }

  /** Like `RuntimeSession.simulate`, in a new, empty session: there is nothing to commit to. */
  async simulate(calls: ToolCall | readonly ToolCall[], options: SimulateOptions = {}): Promise<Simulation> {
    const session = this.#sessions.createEphemeral();
    try {
      const { results, diff } = await session.simulate(calls, options);
      return { results, diff, commit: () => Promise.reject(nothingToCommitToError()) };
    } finally {
      await session.close();
    }
  }

  /**
   * Begins a conversation whose calls share state and are recorded, or continues from a snapshot of one.
   *
   * If the store has the id already, the first `execute` rejects with `duplicate` before anything runs.
   *
   * @throws ToolError `duplicate` for an id in use; `corrupt_record` for a snapshot that is damaged or of another version
   */
  session(id?: string, options: SessionStart = {}): RuntimeSession {
    checkSessionStart(options);
    return this.#sessions.create(id, options);
  }

  /**
   * Resumes a stored session, after a crash or after it was closed: with its history, its state, and a result for every call that had begun.
   *
   * Resolves when those calls have ended. If a call had waited for approval, it is asked again, and `resume` waits for the answer: a server that is
   * to receive the answer must listen before.
   *
   * @throws ToolError `not_found`; `resource_busy` while another process has it open; `corrupt_record` for a damaged log; `duplicate` if it is open
   * here; as a rejection
   */
  resume(id: string, options: ResumeOptions = {}): Promise<RuntimeSession> {
    return this.#sessions.resume(id, options);
  }

  /** The sessions and branches that are open now. */
  get sessions(): OpenSessions {
    return this.#sessions.open;
  }

  /** The background jobs that have not ended, and the latest of those that have. */
  get jobs(): Jobs {
    return (this.#jobs ??= new Jobs(this.#services, createStoredJobs(this.store, this.#ports.clock)));
  }

  /** The approvals: which calls need approval, which questions are open, and how to answer them by id. */
  get approvals(): Approvals {
    return this.#services.approvals;
  }

  /** Counts of the runtime's work so far. */
  get counters(): Readonly<CallCounters> {
    return { ...this.#services.counters };
  }

  /** The calls that have begun and not ended, oldest first, with their input (as given, until it is validated) and the job that each belongs to. */
  get running(): readonly { readonly callId: string; readonly name: string; readonly input: unknown; readonly jobId?: string }[] {
    return this.#services.running.all().map(toRunningCall);
  }

  /**
   * The calls that have begun and not ended, oldest first, of sessions in a store that outlives the process: what each waits for, and which session
   * to resume for it. A session in which all calls wait loses nothing by `sessions.handOver`: their questions stay open, and they continue where it
   * is resumed.
   */
  get underWay(): readonly CallUnderWay[] {
    return this.store?.outlivesProcess === true ? callsUnderWay(this.#services) : [];
  }

  /** Cancels one running call: its result is `cancelled`. False if no call with this id runs. */
  cancel(callId: string, reason = "the call was cancelled"): boolean {
    checkString(callId, "cancel()", "the id of a call");
    checkString(reason, "cancel(callId, reason)", "the reason");
    const run = this.#services.running.get(callId);
    run?.cancel(reason);
    return run !== undefined;
  }

  /**
   * Cancels running calls, removes every tool, waits for the results, then closes every toolset. Calls that a `resume` in progress continues get no
   * result: the next `resume` continues them. Idempotent; resolves to the errors of writing sessions and of toolsets that failed to close. Handlers
   * that ignore their signal may still run.
   */
  async close(): Promise<readonly ToolError[]> {
    for (const stop of this.#stops) stop();
    this.#sessions.open.abortResumes();
    this.#services.running.cancelAll("the runtime was closed");
    this.#sessions.open.refuseAllCalls();
    const unwritten: ToolError[] = [];
    const unclosed = await this.#lifecycle.close(async () => {
      await this.#services.running.whenEnded();
      await this.#feeds?.catchUpAll();
      pushAll(unwritten, await this.#sessions.closeAll());
    });
    for (const name of this.registry.namespaces()) this.registry.setToolsetState(name, "ended");
    this.#feeds?.close();
    return [...unwritten, ...unclosed];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #createSessions(): Sessions {
    const { store, durability = "sync", keepEvents = DEFAULT_KEEP_EVENTS } = this.#options;
    return new Sessions({
      services: this.#services,
      runner: this.#runner,
      store,
      durability,
      keepEvents,
      engineOf: (name) => {
        const toolset = this.registry.toolsets().find((known) => known.name === name);
        return toolset === undefined ? undefined : this.#lifecycle.engineOf(toolset);
      },
      toolsets: () => this.registry.namespaces(),
    });
  }

  #createServices(): CallServices {
    return createCallServices(this.#options, {
      ports: this.#ports,
      registry: this.registry,
      leases: this.#lockServices.leases,
      chains: this.#chains,
      listening: this.#listeners.hasAny,
      stops: this.#stops,
      planOf: (registered) => this.#plans.get(registered) ?? this.#createPlan(registered),
      executeNested: (run, calls, options) => this.#runner.runNested(run, calls, options),
      startSessionWithin: (run, allow, attempt) => this.#sessions.startNested(run, { allow, attempt }),
      simulate: (run) => simulateCall(run, this.#sessions),
      emit: (event) => this.#listeners.emit(event),
    });
  }

  #createPlan(registered: RegisteredTool): ToolPlan {
    const engineOf = (toolset: Toolset): Engine => this.#lifecycle.engineOf(toolset);
    const own = {
      local: this.#local,
      slots: this.#lockServices.slotsOf(registered.toolset),
      limit: this.#services.limit,
      ports: this.#ports,
    };
    const plan = createToolPlan(registered, { ...this.#options, ...own, engineOf, emit: (event) => this.#listeners.emit(event) });
    this.#plans.set(registered, plan);
    return plan;
  }
}
