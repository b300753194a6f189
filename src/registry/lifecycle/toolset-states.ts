/** Which toolsets are open, have failed, or were closed by the program; reports them, and sets the state of their tools. */
import { formatList } from "../../core/base/wording.ts";
import type { EndedConnection } from "../../core/engine.ts";
import type { ToolError } from "../../core/error.ts";
import type { ToolsetEvent } from "../../core/event.ts";
import type { Toolset } from "../../core/toolset.ts";
import type { EngineLifecycle } from "./engine-lifecycle.ts";
import type { LifecycleOptions } from "./lifecycle-options.ts";
import type { OpenReport } from "./open-report.ts";

export class ToolsetStates {
  readonly #options: Pick<LifecycleOptions, "registry" | "ports" | "emit">;
  /** By toolset or source, in the order of failure. */
  readonly #failures = new Map<string, ToolError>();
  /** Toolsets that were reported as open. */
  readonly #opened = new Set<string>();
  /** Toolsets that the program closed individually; only the program opens them again. */
  readonly #closedByProgram = new Set<string>();
  #isEnded = false;
  #isWarned = false;

  constructor(options: Pick<LifecycleOptions, "registry" | "ports" | "emit">) {
    this.#options = options;
  }

  isOpen(name: string): boolean {
    return this.#opened.has(name);
  }

  failureOf(name: string): ToolError | undefined {
    return this.#failures.get(name);
  }

  get firstFailure(): readonly [toolset: string, error: ToolError] | undefined {
    return this.#failures.entries().next().value;
  }

  /** Whether the program closed all toolsets of an engine. */
  areClosedByProgram({ toolsets }: EngineLifecycle): boolean {
    return toolsets.every(({ name }) => this.#closedByProgram.has(name));
  }

  isClosedByProgram(name: string): boolean {
    return this.#closedByProgram.has(name);
  }

  markClosedByProgram(name: string): void {
    this.#closedByProgram.add(name);
    this.#options.registry.setToolsetState(name, "closed");
  }

  allowOpening(name: string): void {
    this.#closedByProgram.delete(name);
  }

  /** Reports toolsets as open, except those that the program closed. */
  markOpen(toolsets: readonly Toolset[]): void {
    const { registry } = this.#options;
    for (const { name } of toolsets) {
      if (this.#opened.has(name) || this.#closedByProgram.has(name)) continue;
      this.#opened.add(name);
      this.#failures.delete(name);
      registry.setToolsetState(name, "open");
      this.emit({ type: "toolset-open", toolset: name, tools: registry.sizeOf(name) });
    }
  }

  /** Warns once that a list may lack tools, unless any toolset was opened, closed or has failed. @param names unopened toolsets and sources */
  warnUnopened(names: readonly string[]): void {
    if (this.#isWarned || names.length === 0 || this.#opened.size + this.#failures.size + this.#closedByProgram.size > 0) return;
    this.#isWarned = true;
    const unopened = formatList(names.map((name) => JSON.stringify(name)));
    this.#options.ports.log.warn(
      `Tools of ${unopened} may be missing: the runtime is not open. Await runtime.open() before the tools are listed.`,
    );
  }

  markFailed(toolset: string, error: ToolError): void {
    this.#failures.set(toolset, error);
    if (!this.#isEnded) this.#options.registry.setToolsetState(toolset, error);
    this.emit({ type: "toolset-fail", toolset, error: error.toJSON() });
  }

  markClosed(toolset: string, error?: ToolError): void {
    if (!this.#opened.delete(toolset)) return;
    this.emit({ type: "toolset-close", toolset, ...(error === undefined ? {} : { error: error.toJSON() }) });
  }

  noteDisconnected({ engine, toolsets }: EngineLifecycle, { durationMs, server, error }: EndedConnection): void {
    const facts = { toolset: toolsets[0].name, engine: engine?.kind ?? "", durationMs, server };
    this.emit({ type: "toolset-disconnect", ...facts, ...(error === undefined ? {} : { error: error.toJSON() }) });
  }

  /** Forgets a toolset that was removed. */
  forgetRemoved(name: string): void {
    this.#failures.delete(name);
    this.#closedByProgram.delete(name);
    this.markClosed(name);
  }

  /** Forgets all toolsets other than these. */
  retainOnly(toolsets: readonly Toolset[]): void {
    const names = new Set(toolsets.map(({ name }) => name));
    for (const name of [...this.#opened, ...this.#failures.keys(), ...this.#closedByProgram])
      if (!names.has(name)) this.forgetRemoved(name);
  }

  /** Makes every tool of the registry unavailable, permanently. */
  closeAll(): void {
    this.#isEnded = true;
    const { registry } = this.#options;
    for (const name of registry.namespaces()) registry.setToolsetState(name, "closed");
  }

  /** @param toolsets the enabled ones */
  report(toolsets: readonly Toolset[]): OpenReport {
    const names = toolsets.map(({ name }) => name);
    const failed = Array.from(this.#failures, ([toolset, error]) => ({ toolset, error }));
    return {
      opened: names.filter((name) => !this.#failures.has(name) && !this.#closedByProgram.has(name)),
      failed: failed.toSorted((one, other) => names.indexOf(one.toolset) - names.indexOf(other.toolset)),
    };
  }

  emit(event: Unstamped<ToolsetEvent>): void {
    this.#options.emit({ ...event, at: this.#options.ports.clock.wallTime() });
  }
}

type Unstamped<Event> = Event extends unknown ? Omit<Event, "at"> : never;
