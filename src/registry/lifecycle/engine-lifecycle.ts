/** The life of one engine, which several toolsets may share: opened once, within a time limit, and closed once. */
import { maxOf } from "../../core/collections/push-all.ts";
import type { EndedConnection, Engine, EngineContext } from "../../core/engine.ts";
import { ToolError, describeThrown } from "../../core/error.ts";
import type { Ports } from "../../core/ports.ts";
import type { Tool } from "../../core/tool.ts";
import type { Toolset } from "../../core/toolset.ts";
import { startWork, waitFor, type Interruptible, type Waited } from "../../policy/attempts/deadline.ts";

const DEFAULT_OPEN_TIMEOUT_MS = 10_000;
const CLOSE_TIMEOUT_MS = 10_000;
const NO_TOOLS: readonly Tool[] = Object.freeze([]);

/** Listeners for the reports of open engines. */
export interface EngineReports {
  /** Called when its tools may have changed. */
  changed(life: EngineLifecycle): void;
  /** Called when a connection to its server has ended. */
  disconnected(life: EngineLifecycle, connection: EndedConnection): void;
}

export class EngineLifecycle {
  /** The toolsets that share the engine: one without own tools first, then as given. Changes at a refresh. `open` gets the first one's name. */
  toolsets: readonly [Toolset, ...Toolset[]];
  /** The tools that it listed when it was opened or last asked. */
  listedTools: readonly Tool[] = NO_TOOLS;
  /** When it was last asked because it reported changed tools, by the monotonic clock. */
  relistedAt = -Infinity;
  readonly #engine: Engine | undefined;
  readonly #ports: Ports;
  readonly #reports: EngineReports;
  readonly #opening: Interruptible;
  readonly #listing: Interruptible;
  #isOpen: boolean;
  #currentOpening: Promise<readonly Tool[]> | undefined;
  #closing: Promise<ToolError | undefined> | undefined;
  /** Set while an abandoned opening has not ended. */
  #abandonedOpening: Promise<void> | undefined;

  /** @param toolsets one or more toolsets of the same engine, or a single one without an engine */
  constructor(toolsets: readonly [Toolset, ...Toolset[]], ports: Ports, reports: EngineReports) {
    this.#reports = reports;
    this.toolsets = toolsets;
    this.#engine = toolsets[0].engine;
    this.#ports = ports;
    this.#opening = { clock: ports.clock, wait: undefined };
    this.#listing = { clock: ports.clock, wait: undefined };
    this.#isOpen = this.#engine?.open === undefined;
  }

  get engine(): Engine | undefined {
    return this.#engine;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Whether it can list its tools again. */
  get canList(): boolean {
    return this.#isOpen && this.#engine?.list !== undefined;
  }

  /** Asks the engine for its tools again, and stores them in `listedTools`. If it rejects, `listedTools` is unchanged. */
  async list(): Promise<readonly Tool[]> {
    const controller = new AbortController();
    const timeoutMs = this.#openTimeoutMs();
    const waited = await waitFor(
      this.#listing,
      startWork(() => this.#engine?.list?.(controller.signal) ?? NO_TOOLS),
      {
        endsAt: timeoutMs === 0 ? Infinity : this.#ports.clock.now() + timeoutMs,
        timeoutError: () => new ToolError("timeout", `it did not list its tools within ${timeoutMs} ms.`),
      },
    );
    if ("ended" in waited) controller.abort(waited.ended);
    this.listedTools = checkToolArray(unwrapWaited(waited));
    return this.listedTools;
  }

  /**
   * Opens the engine and returns the tools that it lists. Does nothing if the engine has no `open`.
   *
   * If the opening times out or is abandoned, its signal is aborted, and should the engine open later, it is closed. It is not opened again before
   * that has ended. Concurrent callers share one opening. Rejects with the reason.
   */
  open(): Promise<readonly Tool[]> {
    this.#currentOpening ??= this.#open().finally(() => {
      this.#currentOpening = undefined;
    });
    return this.#currentOpening;
  }

  async #open(): Promise<readonly Tool[]> {
    const engine = this.#engine;
    if (engine?.open === undefined) return NO_TOOLS;
    const controller = new AbortController();
    const { log, clock } = this.#ports;
    const timeoutMs = this.#openTimeoutMs();
    const context: EngineContext = {
      toolset: this.toolsets[0].name,
      openTimeoutMs: timeoutMs,
      signal: controller.signal,
      log,
      clock,
      changed: () => this.#reports.changed(this),
      disconnected: (connection) => this.#reports.disconnected(this, connection),
    };
    clock.hold?.(); // without a time limit, nothing else would keep the process alive
    const opening = this.#startOpening(() => engine.open?.(context), controller.signal);
    const waited = await waitFor(this.#opening, opening, {
      endsAt: timeoutMs === 0 ? Infinity : this.#ports.clock.now() + timeoutMs,
      timeoutError: () =>
        new ToolError("timeout", `it did not open within ${timeoutMs} ms.`, { operatorHint: "Allow more time with openTimeoutMs." }),
    }).finally(() => clock.release?.());
    if ("ended" in waited) {
      controller.abort(waited.ended);
      this.#abandonOpening(opening);
    }
    this.listedTools = checkToolArray(unwrapWaited(waited) ?? NO_TOOLS);
    this.#isOpen = true;
    return this.listedTools;
  }

  /** Ends a running `open` or `list` with this error. Otherwise does nothing. */
  abandon(error: ToolError): void {
    this.#opening.wait?.interrupt(error);
    this.#listing.wait?.interrupt(error);
  }

  /** Resolves when no abandoned opening is left. Never rejects. */
  async whenSettled(): Promise<void> {
    await this.#abandonedOpening;
  }

  /** Closes the engine if it is open, and resolves to the error, if any. Never rejects. Concurrent callers share one close. */
  close(): Promise<ToolError | undefined> {
    if (this.#engine?.close === undefined || !this.#isOpen) return this.#closing ?? Promise.resolve(undefined);
    this.#isOpen = false;
    const closing = this.#closeNow(this.#engine).finally(() => {
      this.#closing = undefined;
    });
    this.#closing = closing;
    return closing;
  }

  async #closeNow(engine: Engine): Promise<ToolError | undefined> {
    const waited = await waitFor(
      { clock: this.#ports.clock, wait: undefined },
      startWork(() => engine.close?.()),
      {
        endsAt: this.#ports.clock.now() + CLOSE_TIMEOUT_MS,
        timeoutError: () => new ToolError("timeout", `it did not close within ${CLOSE_TIMEOUT_MS} ms.`),
      },
    );
    try {
      unwrapWaited(waited);
      return undefined;
    } catch (error: unknown) {
      return new ToolError(
        "unavailable",
        `The engine of toolset ${JSON.stringify(this.toolsets[0].name)} could not be closed: ${describeThrown(error)}`,
        { cause: error },
      );
    }
  }

  /** The longest limit of its toolsets; 0 = no limit. */
  #openTimeoutMs(): number {
    const times = this.toolsets.map((toolset) => toolset.openTimeoutMs ?? DEFAULT_OPEN_TIMEOUT_MS);
    return times.includes(0) ? 0 : maxOf(times);
  }

  /** Opens once an abandoned opening or a close has ended, because two concurrent openings of one engine would interfere. */
  #startOpening<T>(open: () => T | Promise<T>, signal: AbortSignal): Promise<T> {
    const before = this.#abandonedOpening ?? this.#closing;
    if (before === undefined) return startWork(open);
    return before.then(() => {
      signal.throwIfAborted();
      return open();
    });
  }

  #abandonOpening(opening: Promise<unknown>): void {
    const ended = this.#closeLate(opening).finally(() => {
      if (this.#abandonedOpening === ended) this.#abandonedOpening = undefined;
    });
    this.#abandonedOpening = ended;
  }

  /** Closes an engine that opens after it was abandoned. Never rejects. */
  async #closeLate(opening: Promise<unknown>): Promise<void> {
    try {
      await opening;
    } catch {
      return; // that it was abandoned has been reported
    }
    this.#isOpen = true;
    const error = await this.close();
    if (error !== undefined) this.#ports.log.warn(`${error.message} It opened only after the runtime had stopped waiting for it.`);
  }
}

/** Checks the type, because an engine may be written in JavaScript. */
function checkToolArray(tools: unknown): readonly Tool[] {
  if (Array.isArray(tools)) return tools;
  throw new ToolError("unavailable", "it did not return an array of tools.");
}

function unwrapWaited<T>(waited: Waited<T>): T {
  if ("value" in waited) return waited.value;
  throw "ended" in waited ? waited.ended : ToolError.fromUnknown(waited.thrown, "unavailable");
}
