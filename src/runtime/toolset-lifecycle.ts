/** Opens and closes toolsets: all at once, each in its time, one failure never taking the others along. */
import type { Engine } from "../core/engine.ts";
import { ToolError } from "../core/error.ts";
import type { ToolsetEvent } from "../core/event.ts";
import type { Ports } from "../core/ports.ts";
import type { Toolset } from "../core/toolset.ts";
import { EngineLife } from "./engine-life.ts";
import type { Registry } from "./registry.ts";

export interface LifecycleOptions {
  readonly registry: Registry;
  readonly ports: Ports;
  readonly emit: (event: ToolsetEvent) => void;
  /** One failure closes all and rejects. @default false */
  readonly strict?: boolean;
  readonly localEngine: Engine;
}

/** What became of the enabled toolsets, in the order they were given. */
export interface OpenReport {
  readonly opened: readonly string[];
  readonly failed: readonly { readonly toolset: string; readonly error: ToolError }[];
}

export class ToolsetLifecycle {
  readonly #options: LifecycleOptions;
  readonly #lives: readonly EngineLife[];
  readonly #order: readonly string[];
  /** By toolset, the first to fail first. */
  readonly #failures = new Map<string, ToolError>();
  readonly #opened = new Set<string>();
  /** Resolves when no engine is being opened any more. */
  #settled: Promise<unknown> = Promise.resolve();
  #opening: Promise<OpenReport> | undefined = undefined;
  #closing: Promise<readonly ToolError[]> | undefined = undefined;

  /**
   * Adds the toolsets to the registry. Those whose engine must be opened can be called after `open`, the others
   * at once. A disabled toolset is added, but never opened.
   *
   * @throws ToolError `duplicate` for two of one name, `invalid_argument` for what is incomplete
   */
  constructor(toolsets: readonly Toolset[], options: LifecycleOptions) {
    this.#options = options;
    for (const toolset of toolsets) {
      options.registry.addToolset(toolset);
      if (toolset.engine?.open !== undefined) options.registry.setToolsetState(toolset.name, "closed");
    }
    const enabled = toolsets.filter((toolset) => toolset.enabled !== false);
    this.#order = enabled.map((toolset) => toolset.name);
    this.#lives = groupByEngine(enabled).map((sharing) => new EngineLife(sharing, options.ports));
  }

  engineOf(toolset: Toolset): Engine {
    return toolset.engine ?? this.#options.localEngine;
  }

  /**
   * Opens everything once; further calls share the first run. The tools an engine brings join the first of its
   * toolsets.
   *
   * Rejects when `strict` and a toolset failed, after closing those that were open, and once `close` was called.
   */
  open(): Promise<OpenReport> {
    this.#opening ??= this.#openAll();
    return this.#opening;
  }

  /**
   * Makes every tool of the registry unavailable, gives up what is still opening, then, once nobody uses them, closes
   * every open engine whatever the others do. Idempotent; resolves to what went wrong.
   */
  close(whenUnused: () => Promise<void> = () => Promise.resolve()): Promise<readonly ToolError[]> {
    this.#closing ??= this.#closeAll(whenUnused);
    return this.#closing;
  }

  async #openAll(): Promise<OpenReport> {
    if (this.#closing !== undefined) {
      throw new ToolError("invalid_argument", "The toolsets are closed and cannot be opened again.", { hint: "Create a new runtime." });
    }
    this.#settled = Promise.all(this.#lives.map((life) => this.#openOne(life)));
    await this.#settled;
    const [first] = this.#failures;
    if (this.#options.strict === true && first !== undefined) {
      await this.close();
      const [toolset, error] = first;
      throw new ToolError("unavailable", `The toolset ${JSON.stringify(toolset)} could not be opened: ${error.message}`, {
        details: error.details,
        cause: error,
      });
    }
    return this.#report();
  }

  #report(): OpenReport {
    const failed = this.#order.flatMap((toolset) => {
      const error = this.#failures.get(toolset);
      return error === undefined ? [] : [{ toolset, error }];
    });
    return { opened: this.#order.filter((toolset) => !this.#failures.has(toolset)), failed };
  }

  async #openOne(life: EngineLife): Promise<void> {
    const { registry } = this.#options;
    try {
      const tools = await life.open();
      if (this.#closing !== undefined) throw closedMeanwhile();
      const [first] = life.toolsets;
      const brought = tools.length === 0 ? 0 : registry.addTools(first.name, tools);
      for (const toolset of life.toolsets) this.#noteOpen(toolset, toolset === first ? brought : 0);
    } catch (thrown: unknown) {
      const error = ToolError.fromUnknown(thrown, "unavailable");
      for (const toolset of life.toolsets) this.#noteFailure(toolset.name, error);
      if (this.#options.strict === true)
        for (const other of this.#lives) other.abandon(new ToolError("cancelled", "another toolset failed to open."));
    }
  }

  #noteOpen(toolset: Toolset, brought: number): void {
    const { registry, ports, emit } = this.#options;
    this.#opened.add(toolset.name);
    registry.setToolsetState(toolset.name, "open");
    emit({ type: "toolset-open", at: ports.clock.wallTime(), toolset: toolset.name, tools: (toolset.tools?.length ?? 0) + brought });
  }

  #noteFailure(toolset: string, error: ToolError): void {
    const { registry, ports, emit } = this.#options;
    this.#failures.set(toolset, error);
    if (this.#closing === undefined) registry.setToolsetState(toolset, error);
    emit({ type: "toolset-fail", at: ports.clock.wallTime(), toolset, error: error.toJSON() });
  }

  async #closeAll(whenUnused: () => Promise<void>): Promise<readonly ToolError[]> {
    const { registry } = this.#options;
    for (const name of registry.namespaces()) registry.setToolsetState(name, "closed");
    for (const life of this.#lives) life.abandon(closedMeanwhile());
    await Promise.all([this.#settled, whenUnused()]);
    const errors = await Promise.all(this.#lives.map((life) => this.#closeOne(life)));
    return errors.filter((error) => error !== undefined);
  }

  async #closeOne(life: EngineLife): Promise<ToolError | undefined> {
    const { ports, emit } = this.#options;
    const error = await life.close();
    for (const { name: toolset } of life.toolsets) {
      if (!this.#opened.has(toolset)) continue;
      emit({ type: "toolset-close", at: ports.clock.wallTime(), toolset, ...(error === undefined ? {} : { error: error.toJSON() }) });
    }
    return error;
  }
}

function closedMeanwhile(): ToolError {
  return new ToolError("cancelled", "it was closed before it was open.");
}

/** Toolsets without an engine each stand alone. */
function groupByEngine(toolsets: readonly Toolset[]): readonly (readonly [Toolset, ...Toolset[]])[] {
  const groups = new Map<Engine | Toolset, [Toolset, ...Toolset[]]>();
  for (const toolset of toolsets) {
    const key = toolset.engine ?? toolset;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [toolset]);
    else group.push(toolset);
  }
  return [...groups.values()];
}
