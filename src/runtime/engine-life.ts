/** One engine from unopened to closed, however many toolsets share it: opened once, in time, and closed once. */
import type { Engine } from "../core/engine.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import type { Ports } from "../core/ports.ts";
import type { Tool } from "../core/tool.ts";
import type { Toolset } from "../core/toolset.ts";
import { waitFor } from "../policy/deadline.ts";
import type { Interruptible, Waited } from "../policy/deadline.ts";

const DEFAULT_OPEN_TIMEOUT_MS = 10_000;
const CLOSE_TIMEOUT_MS = 10_000;
const NO_TOOLS: readonly Tool[] = Object.freeze([]);

export class EngineLife {
  /** Those that share the engine, in the order given. The engine is told the name of the first. */
  readonly toolsets: readonly [Toolset, ...Toolset[]];
  readonly #engine: Engine | undefined;
  readonly #ports: Ports;
  readonly #wait: Interruptible;
  #isOpen: boolean;

  /** @param toolsets one or more toolsets of the same engine, or one without */
  constructor(toolsets: readonly [Toolset, ...Toolset[]], ports: Ports) {
    this.toolsets = toolsets;
    this.#engine = toolsets[0].engine;
    this.#ports = ports;
    this.#wait = { clock: ports.clock, wait: undefined };
    this.#isOpen = this.#engine?.open === undefined;
  }

  /**
   * Opens the engine and returns the tools it brings; nothing to do where the engine has no `open`.
   *
   * An engine that is given up, late or abandoned, has its signal aborted; should it open after all, it is closed.
   * Rejects with the reason.
   */
  async open(): Promise<readonly Tool[]> {
    const engine = this.#engine;
    if (engine?.open === undefined) return NO_TOOLS;
    const controller = new AbortController();
    const context = { toolset: this.toolsets[0].name, signal: controller.signal, log: this.#ports.log };
    const timeoutMs = this.#openTimeoutMs();
    const waited = await waitFor(
      this.#wait,
      begin(() => engine.open?.(context)),
      {
        endsAt: timeoutMs === 0 ? Infinity : this.#ports.clock.now() + timeoutMs,
        late: () => new ToolError("timeout", `it did not open within ${timeoutMs} ms.`, { hint: "Give it longer with openTimeoutMs." }),
        onLate: (outcome) => {
          if (outcome === "returned") void this.#closeLate();
        },
      },
    );
    if ("ended" in waited) controller.abort(waited.ended);
    const tools = valueOf(waited) ?? NO_TOOLS;
    this.#isOpen = true;
    return tools;
  }

  /** Ends an `open` that is under way with this error; does nothing at other times. */
  abandon(error: ToolError): void {
    this.#wait.wait?.interrupt(error);
  }

  /** Closes an engine that is open; the error, if any, is what went wrong. Never rejects. */
  async close(): Promise<ToolError | undefined> {
    const engine = this.#engine;
    if (engine?.close === undefined || !this.#isOpen) return undefined;
    this.#isOpen = false;
    const waited = await waitFor(
      this.#wait,
      begin(() => engine.close?.()),
      {
        endsAt: this.#ports.clock.now() + CLOSE_TIMEOUT_MS,
        late: () => new ToolError("timeout", `it did not close within ${CLOSE_TIMEOUT_MS} ms.`),
      },
    );
    try {
      valueOf(waited);
      return undefined;
    } catch (error: unknown) {
      return new ToolError(
        "unavailable",
        `The engine of toolset ${JSON.stringify(this.toolsets[0].name)} could not be closed: ${describeThrown(error)}`,
        { cause: error },
      );
    }
  }

  /** The longest time that one of the toolsets allows; 0 = no limit. */
  #openTimeoutMs(): number {
    const times = this.toolsets.map((toolset) => toolset.openTimeoutMs ?? DEFAULT_OPEN_TIMEOUT_MS);
    return times.includes(0) ? 0 : Math.max(...times);
  }

  async #closeLate(): Promise<void> {
    this.#isOpen = true;
    const error = await this.close();
    if (error !== undefined) this.#ports.log.warn(`${error.message} It had opened after it was given up.`);
  }
}

/** Starts work that may also throw at once. */
function begin<T>(work: () => T | Promise<T>): Promise<T> {
  return new Promise((resolve) => resolve(work()));
}

function valueOf<T>(waited: Waited<T>): T {
  if ("value" in waited) return waited.value;
  throw "ended" in waited ? waited.ended : ToolError.fromUnknown(waited.thrown, "unavailable");
}
