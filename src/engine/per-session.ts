/** Gives every session an engine of its own, so that sessions do not share the state of a server or a browser. */
import type { ToolContext } from "../core/context.ts";
import type { Engine, EngineContext, EngineRequest, EngineSession } from "../core/engine.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import type { Tool } from "../core/tool.ts";

/**
 * An engine that answers each session, and each branch of one, through an instance of its own.
 *
 * One more instance is opened with the toolset, to list the tools. The others open before the first call of their session and close with it; a call
 * outside any session is a session of its own. A branch begins with a new instance, without the state of its parent's. The tools of all instances
 * must be the same.
 *
 * @param makeEngine returns a new engine, not opened, each time
 * @throws ToolError `invalid_argument` at once if it is not a function
 */
export function perSession(makeEngine: () => Engine): Engine {
  if (typeof makeEngine !== "function")
    throw new ToolError("invalid_argument", "perSession needs a function that makes a new engine each time.");
  return new PerSessionEngine(makeEngine);
}

class PerSessionEngine implements Engine {
  readonly kind: string;
  readonly order: "parallel" | "sequential";
  readonly perUser: boolean;
  readonly effectFree: boolean;
  readonly open?: (context: EngineContext) => Promise<readonly Tool[]>;
  readonly attach?: NonNullable<Engine["attach"]>;
  readonly list?: (signal: AbortSignal) => Promise<readonly Tool[]>;
  readonly #makeEngine: () => Engine;
  /** The instance that lists the tools. */
  readonly #lister: Engine;
  readonly #engines = new Map<string, Promise<Engine>>();
  #context: EngineContext | undefined;
  #closing = new AbortController();

  constructor(makeEngine: () => Engine) {
    this.#makeEngine = makeEngine;
    const lister = makeEngine();
    this.#lister = lister;
    this.kind = lister.kind;
    this.order = lister.order ?? "parallel";
    this.perUser = lister.perUser ?? false;
    this.effectFree = lister.effectFree ?? false;
    this.open = (context) => this.#open(context);
    if (lister.attach !== undefined)
      this.attach = async (id, request, context) => await (await this.#engineOf(context)).attach?.(id, request, context);
    if (lister.list !== undefined) this.list = (signal) => lister.list?.(signal) ?? Promise.resolve([]);
  }

  async call(request: EngineRequest, context: ToolContext): Promise<unknown> {
    return await (await this.#engineOf(context)).call(request, context);
  }

  async #engineOf({ sessionId }: ToolContext): Promise<Engine> {
    const engine = await this.#engines.get(sessionId);
    if (engine !== undefined) return engine;
    throw new ToolError("unavailable", `The ${this.kind} engine of this session is closed.`, { outcome: "not_started" });
  }

  async openSession(session: EngineSession): Promise<void> {
    const opening = this.#openForSession(session);
    this.#engines.set(session.sessionId, opening);
    try {
      await opening;
    } catch (error: unknown) {
      if (this.#engines.get(session.sessionId) === opening) this.#engines.delete(session.sessionId);
      throw error;
    }
  }

  async closeSession(sessionId: string): Promise<void> {
    const engine = this.#engines.get(sessionId);
    this.#engines.delete(sessionId);
    await closeAfterOpening(engine, sessionId);
  }

  async close(): Promise<void> {
    this.#context = undefined;
    this.#closing.abort();
    const engines = [...this.#engines];
    this.#engines.clear();
    const closing = engines.map(([sessionId, engine]) => closeAfterOpening(engine, sessionId));
    const ended = await Promise.allSettled([closeEngine(this.#lister), ...closing]);
    for (const each of ended) if (each.status === "rejected") throw each.reason;
  }

  async #open(context: EngineContext): Promise<readonly Tool[]> {
    this.#closing = new AbortController();
    const tools = (await this.#lister.open?.(context)) ?? [];
    this.#context = context;
    return tools;
  }

  async #openForSession(session: EngineSession): Promise<Engine> {
    const context = this.#context;
    if (context === undefined) throw new ToolError("unavailable", `The ${this.kind} engine is not open.`, { outcome: "not_started" });
    const engine = this.#makeEngine();
    const signal = AbortSignal.any([session.signal, this.#closing.signal]);
    await engine.open?.({ ...context, signal, changed: () => {} });
    try {
      signal.throwIfAborted(); // the engine has opened although the session was closed meanwhile
      await engine.openSession?.(session);
    } catch (error: unknown) {
      await closeEngine(engine).catch((thrown: unknown) =>
        context.log.warn(`An engine of kind ${this.kind} could not be closed: ${describeThrown(thrown)}`),
      );
      throw error;
    }
    return engine;
  }
}

/** Closes the engine. If opening it failed, it has closed itself. */
async function closeAfterOpening(opening: Promise<Engine> | undefined, sessionId: string): Promise<void> {
  const engine = await opening?.catch(() => undefined);
  try {
    await engine?.closeSession?.(sessionId);
  } finally {
    await engine?.close?.();
  }
}

/** Turns a synchronous error of `close` into a rejection. */
async function closeEngine(engine: Engine): Promise<void> {
  await engine.close?.();
}
