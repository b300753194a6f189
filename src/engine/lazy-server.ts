/** The lifecycle of a lazy server: its stored tools, its start, which callers share, and its stop after being idle. */
import type { ToolContext } from "../core/context.ts";
import type { Engine, EngineContext, EngineRequest, EngineSession } from "../core/engine.ts";
import { ToolError, describeThrown, pickHints } from "../core/error.ts";
import { RemoteJob } from "../core/jobs/remote-job.ts";
import type { Tool } from "../core/tool.ts";
import { rejectOnAbort } from "../core/base/reject-on-abort.ts";
import { definitionFingerprint } from "../schema/definition-fingerprint.ts";
import { addTo } from "../core/base/add-to.ts";

/** `configured`: not open; `known`: its tools are known, but it is not running; `started`: running; `used`: has answered a call since its start. */
export type ServerState = "configured" | "known" | "started" | "used";

export interface LazyServerOptions {
  /** Returns the stored tools, or undefined. A rejection is logged and counts as undefined. */
  readonly loadTools: () => Promise<readonly Tool[] | undefined>;
  /** Stores the tools. A rejection is logged. */
  readonly storeTools: (tools: readonly Tool[]) => Promise<void>;
  readonly openTimeoutMs: number;
  readonly idleMs: number;
}

type Work = (request: EngineRequest, context: ToolContext) => unknown;

/** Fingerprints of the tools by name: several only if tools share a name. */
type Fingerprints = ReadonlyMap<string, readonly string[]>;

const NO_FINGERPRINTS: Fingerprints = new Map();

export class LazyServer {
  readonly #inner: Engine;
  readonly #options: LazyServerOptions;
  #state: ServerState = "configured";
  /** Set while the engine is open. */
  #context: EngineContext | undefined;
  #closing = new AbortController();
  /** Fingerprints of the tools that the runtime was last given. */
  #runtimeFingerprints: Fingerprints = NO_FINGERPRINTS;
  /** Fingerprints of the tools of the running server. */
  #serverFingerprints: Fingerprints = NO_FINGERPRINTS;
  #tools: readonly Tool[] = [];
  /** Whether the server has just listed `#tools`, so that `list` need not ask it again. */
  #isFreshlyListed = false;
  #running = false;
  /** Whether the engine was opened, or its opening has begun, and it has not been closed since. */
  #isOpened = false;
  #starting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;
  /** A start that timed out or was cancelled and has not ended: its clean-up would close a new start at the same time. */
  #abandonedStart: Promise<void> | undefined;
  #activeCount = 0;
  readonly #sessions = new Set<string>();
  #peerInUse = false;
  #cancelIdle: (() => void) | undefined;

  constructor(inner: Engine, options: LazyServerOptions) {
    this.#inner = inner;
    this.#options = options;
  }

  get state(): ServerState {
    return this.#state;
  }

  async open(context: EngineContext): Promise<readonly Tool[]> {
    await this.#whenStopped();
    this.#closing = new AbortController();
    this.#context = context;
    const remembered = await this.#loadTools(context);
    if (remembered === undefined) {
      const tools = await this.#openInner(context, AbortSignal.any([context.signal, this.#closing.signal]));
      this.#runtimeFingerprints = this.#serverFingerprints;
      await this.#storeTools(context);
      this.#scheduleIdleStop();
      return tools;
    }
    this.#tools = remembered;
    this.#runtimeFingerprints = fingerprintsOf(remembered);
    this.#state = "known";
    return remembered;
  }

  async list(signal: AbortSignal): Promise<readonly Tool[]> {
    return await this.#whileBusy(async () => {
      const context = await this.#ensureStarted(signal);
      if (!this.#isFreshlyListed && this.#inner.list !== undefined) this.#setTools(await this.#inner.list(signal));
      this.#isFreshlyListed = false;
      if (!hasSameFingerprints(this.#runtimeFingerprints, this.#serverFingerprints)) await this.#storeTools(context);
      this.#runtimeFingerprints = this.#serverFingerprints;
      return this.#tools;
    });
  }

  /** Answers a call by the running server. @throws ToolError `definition_changed` if the tool differs from the one that the runtime has */
  async run(request: EngineRequest, context: ToolContext, work: Work): Promise<unknown> {
    const expected = this.#runtimeFingerprints.get(request.tool.name);
    return await this.#whileBusy(async () => {
      if (!this.#running) await this.#ensureStarted(context.signal);
      this.#checkUnchanged(request.tool, expected);
      this.#state = "used";
      const output = await work(request, context);
      if (output instanceof RemoteJob) void this.#holdForJob(output);
      return output;
    });
  }

  async openSession(session: EngineSession, begin: () => Promise<void>): Promise<void> {
    this.#holdForSession(session.sessionId);
    try {
      await this.#ensureStarted(session.signal);
      await begin();
    } catch (error: unknown) {
      this.#releaseSession(session.sessionId);
      throw error;
    }
  }

  async closeSession(sessionId: string, end: () => Promise<void>): Promise<void> {
    try {
      if (this.#running) await end();
    } finally {
      this.#releaseSession(sessionId);
    }
  }

  /** Calls `fork` before it returns, so that the copy begins at once. */
  async forkSession(branchId: string, fork: () => Promise<void>): Promise<void> {
    this.#holdForSession(branchId);
    try {
      await fork();
    } catch (error: unknown) {
      this.#releaseSession(branchId);
      throw error;
    }
  }

  /** Starts the server for a request of its peer. It is not stopped for being idle from then on, as it may send notifications at any time. */
  async startForPeer(signal: AbortSignal): Promise<void> {
    await this.#ensureStarted(signal);
    this.#peerInUse = true;
    this.#scheduleIdleStop();
  }

  async close(): Promise<void> {
    this.#context = undefined;
    this.#closing.abort();
    this.#cancelIdle?.();
    this.#sessions.clear();
    this.#peerInUse = false;
    await this.#starting?.catch(() => undefined); // its callers get the error
    await this.#stopping;
    this.#state = "configured";
    this.#running = false;
    if (!this.#isOpened) return;
    this.#isOpened = false;
    await this.#inner.close?.();
  }

  /** Resolves once the server runs; concurrent callers wait for the same start. */
  async #ensureStarted(signal: AbortSignal): Promise<EngineContext> {
    const context = this.#context;
    if (context === undefined) throw new ToolError("unavailable", "The server is not open.");
    if (this.#running) return context;
    this.#starting ??= this.#start(context).finally(() => {
      this.#starting = undefined;
    });
    await rejectOnAbort(this.#starting, signal, () => cancelledError(signal));
    return context;
  }

  /** Resolves when an earlier run has stopped and an abandoned start has ended. */
  async #whenStopped(): Promise<void> {
    await Promise.all([this.#stopping, this.#abandonedStart]);
  }

  async #start(context: EngineContext): Promise<void> {
    const { openTimeoutMs } = this.#options;
    const late = new AbortController();
    const stop = (): void =>
      late.abort(
        new ToolError("timeout", `It did not open within ${openTimeoutMs} ms.`, { operatorHint: "Allow more time with openTimeoutMs." }),
      );
    const cancel = openTimeoutMs === 0 ? undefined : context.clock.timer(stop, openTimeoutMs);
    try {
      const signal = AbortSignal.any([late.signal, this.#closing.signal]);
      await rejectOnAbort(this.#whenStopped(), signal, () => cancelledError(signal));
      await this.#openInner(context, signal);
    } catch (thrown: unknown) {
      throw notStartedError(context.toolset, late.signal.aborted ? late.signal.reason : thrown);
    } finally {
      cancel?.();
    }
    if (hasSameFingerprints(this.#runtimeFingerprints, this.#serverFingerprints)) return;
    await this.#storeTools(context);
    context.changed();
  }

  /** Opens the engine. If it opens only after the signal aborted, it is closed again. */
  async #openInner(context: EngineContext, signal: AbortSignal): Promise<readonly Tool[]> {
    const changed = (): void => {
      this.#isFreshlyListed = false;
      if (this.#context === context) context.changed();
    };
    this.#isOpened = true;
    const opening = Promise.resolve(this.#inner.open?.({ ...context, openTimeoutMs: this.#options.openTimeoutMs, signal, changed }) ?? []);
    let tools: readonly Tool[];
    try {
      tools = await rejectOnAbort(opening, signal, () => cancelledError(signal));
    } catch (error: unknown) {
      if (signal.aborted) this.#abandonStart(opening, context);
      throw error;
    }
    this.#running = true;
    this.#state = "started";
    this.#setTools(tools);
    this.#isFreshlyListed = true;
    return tools;
  }

  #abandonStart(opening: Promise<unknown>, context: EngineContext): void {
    const ended = this.#closeAfterOpening(opening, context).finally(() => {
      if (this.#abandonedStart === ended) this.#abandonedStart = undefined;
    });
    this.#abandonedStart = ended;
  }

  async #closeAfterOpening(opening: Promise<unknown>, context: EngineContext): Promise<void> {
    try {
      await opening;
      if (!this.#running) await this.#inner.close?.();
    } catch (error: unknown) {
      context.log.debug(`The server of ${context.toolset}, which was given up while it opened, failed: ${describeThrown(error)}`);
    }
  }

  #setTools(tools: readonly Tool[]): void {
    this.#tools = tools;
    this.#serverFingerprints = fingerprintsOf(tools);
  }

  #checkUnchanged({ name }: Tool, expected: readonly string[] | undefined): void {
    const live = this.#serverFingerprints.get(name);
    if (expected === undefined || expected === live || expected.every((fingerprint) => live?.includes(fingerprint) === true)) return;
    const what = live === undefined ? "The server no longer has the tool" : "The server has changed the definition of the tool";
    throw new ToolError("definition_changed", `${what} ${JSON.stringify(name)} since it was last running; the call was not sent.`, {
      hint: "The tools are listed again: look at its definition, then call again.",
    });
  }

  async #loadTools({ log, toolset }: EngineContext): Promise<readonly Tool[] | undefined> {
    try {
      return await this.#options.loadTools();
    } catch (error: unknown) {
      log.warn(`The cached tools of ${JSON.stringify(toolset)} cannot be used: ${describeThrown(error)}`);
      return undefined;
    }
  }

  async #storeTools({ log, toolset }: EngineContext): Promise<void> {
    try {
      await this.#options.storeTools(this.#tools);
    } catch (error: unknown) {
      log.warn(`The tools of ${JSON.stringify(toolset)} could not be cached: ${describeThrown(error)}`);
    }
  }

  async #whileBusy<T>(work: () => Promise<T>): Promise<T> {
    this.#activeCount++;
    this.#cancelIdle?.();
    try {
      return await work();
    } finally {
      this.#activeCount--;
      this.#scheduleIdleStop();
    }
  }

  /** Keeps the server running until the remote job has ended, even if it fails. */
  async #holdForJob({ result }: RemoteJob): Promise<void> {
    try {
      await this.#whileBusy(() => result);
    } catch {
      // the code that waits for the job gets the error
    }
  }

  #holdForSession(sessionId: string): void {
    this.#sessions.add(sessionId);
    this.#cancelIdle?.();
  }

  #releaseSession(sessionId: string): void {
    this.#sessions.delete(sessionId);
    this.#scheduleIdleStop();
  }

  /** Starts the idle timer if the server is not in use. A server with state of its own (`remote`) is never stopped. */
  #scheduleIdleStop(): void {
    this.#cancelIdle?.();
    this.#cancelIdle = undefined;
    const { idleMs } = this.#options;
    const inUse = this.#activeCount > 0 || this.#sessions.size > 0 || this.#peerInUse || !this.#running;
    if (inUse || idleMs === 0 || this.#inner.state === "remote" || this.#context === undefined) return;
    this.#cancelIdle = this.#context.clock.timer(() => this.#stopIdle(), idleMs, { background: true });
  }

  #stopIdle(): void {
    const context = this.#context;
    if (context === undefined || !this.#running) return;
    this.#running = false;
    this.#isOpened = false;
    this.#state = "known";
    this.#stopping = Promise.resolve(this.#inner.close?.())
      .catch((error: unknown) =>
        context.log.warn(`The idle server of ${JSON.stringify(context.toolset)} could not be closed: ${describeThrown(error)}`),
      )
      .finally(() => {
        this.#stopping = undefined;
      });
  }
}

function fingerprintsOf(tools: readonly Tool[]): Fingerprints {
  const all = new Map<string, string[]>();
  for (const tool of tools) {
    addTo(all, tool.name, definitionFingerprint(tool));
  }
  return all;
}

function hasSameFingerprints(one: Fingerprints, other: Fingerprints): boolean {
  if (one === other) return true;
  return one.size === other.size && [...one].every(([name, fingerprints]) => String(other.get(name)) === String(fingerprints));
}

function notStartedError(toolset: string, thrown: unknown): ToolError {
  const error = ToolError.fromUnknown(thrown, "unavailable");
  const code = error.code === "network_error" ? "network_error" : "unavailable";
  const message = error.message.includes(JSON.stringify(toolset))
    ? error.message
    : `The server of ${JSON.stringify(toolset)} could not be started: ${error.message}`;
  return new ToolError(code, message, {
    outcome: "not_started",
    details: error.details,
    ...pickHints(error),
    cause: error,
  });
}

function cancelledError(signal: AbortSignal): ToolError {
  return new ToolError("cancelled", "The call was cancelled while its server was being started.", {
    outcome: "not_started",
    cause: signal.reason,
  });
}
