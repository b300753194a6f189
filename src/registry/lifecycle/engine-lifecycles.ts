/** The engines of a runtime, each opened once for all toolsets that share it, and closed when no toolset needs it. */
import type { Engine } from "../../core/engine.ts";
import { ToolError } from "../../core/error.ts";
import type { Ports } from "../../core/ports.ts";
import type { Toolset } from "../../core/toolset.ts";
import { waitFor } from "../../policy/attempts/deadline.ts";
import { EngineLifecycle, type EngineReports } from "./engine-lifecycle.ts";

/** Maximum number of engines opened at the same time, because each may start a process. */
const MAX_OPENING = 16;
/** How long to wait at close for an abandoned opening to end, in milliseconds. */
const SETTLE_MS = 5_000;

export class EngineLifecycles {
  readonly #ports: Ports;
  readonly #reports: EngineReports;
  /** By engine; a toolset without one has a life of its own, by its name. */
  #lives: ReadonlyMap<Engine | string, EngineLifecycle> = new Map();
  /** Lives that no toolset needs any more, until no call uses them. */
  readonly #dropped = new Set<EngineLifecycle>();
  /** Dropped lives that are being closed, or whose abandoned opening has not ended. */
  readonly #ending = new Set<EngineLifecycle>();
  #work: Promise<unknown> = Promise.resolve();

  constructor(ports: Ports, reports: EngineReports) {
    this.#ports = ports;
    this.#reports = reports;
  }

  /** The lives that toolsets need, in the order of their first toolset. */
  get all(): readonly EngineLifecycle[] {
    return [...this.#lives.values()];
  }

  find(toolset: Toolset): EngineLifecycle | undefined {
    return this.#lives.get(keyOf(toolset));
  }

  /** Sets the present toolsets, without opening or closing anything. */
  setToolsets(toolsets: readonly Toolset[]): void {
    const lives = new Map<Engine | string, EngineLifecycle>();
    for (const [key, sharing] of groupByEngine(toolsets)) {
      const life = this.#lives.get(key) ?? this.#reclaim(key) ?? new EngineLifecycle(sharing, this.#ports, this.#reports);
      life.toolsets = sharing;
      lives.set(key, life);
    }
    for (const [key, life] of this.#lives) if (!lives.has(key)) this.#dropped.add(life);
    this.#lives = lives;
  }

  /** Runs work for each life, a few at a time. The work must never reject. */
  async forEach(work: (life: EngineLifecycle) => Promise<void>): Promise<void> {
    const waiting = this.all.values();
    const workers = Array.from({ length: MAX_OPENING }, async () => {
      for (const life of waiting) await work(life);
    });
    this.#work = Promise.all([this.#work, ...workers]);
    await Promise.all(workers);
  }

  /** Ends all running openings with this error. */
  abandon(error: ToolError): void {
    for (const life of [...this.all, ...this.#dropped]) life.abandon(error);
  }

  /** Closes the lives that no toolset needs, each once no call uses it. Resolves to the errors. */
  async closeDropped(whenUnused: (engine: Engine) => Promise<void>): Promise<readonly ToolError[]> {
    const errors = await Promise.all(
      Array.from(this.#dropped, async (life) => {
        if (life.engine !== undefined) await whenUnused(life.engine);
        if (!this.#dropped.delete(life)) return undefined; // it is needed again
        this.#ending.add(life);
        const error = await life.close();
        void life.whenSettled().then(() => this.#ending.delete(life));
        return error;
      }),
    );
    return errors.filter((error) => error !== undefined);
  }

  /** Resolves when no engine is being opened or asked for its tools. */
  async whenSettled(): Promise<void> {
    await this.#work;
  }

  /** Closes all lives, needed or not, and returns each with its error. Waits a while for abandoned openings, whose processes may still be ending. */
  async close(): Promise<readonly (readonly [EngineLifecycle, ToolError | undefined])[]> {
    const lives = [...new Set([...this.all, ...this.#dropped, ...this.#ending])];
    return await Promise.all(
      lives.map(async (life) => {
        const error = await life.close();
        await this.#waitForAbandoned(life);
        return [life, error] as const;
      }),
    );
  }

  async #waitForAbandoned(life: EngineLifecycle): Promise<void> {
    const { clock, log } = this.#ports;
    const name = JSON.stringify(life.toolsets[0].name);
    const timeoutError = (): ToolError =>
      new ToolError("timeout", `The abandoned opening of toolset ${name} has not ended within ${SETTLE_MS} ms.`);
    const waited = await waitFor({ clock, wait: undefined }, life.whenSettled(), { endsAt: clock.now() + SETTLE_MS, timeoutError });
    if ("ended" in waited) log.warn(waited.ended.message);
  }

  /** The dropped life of an engine, because an engine must not have two lives. */
  #reclaim(key: Engine | string): EngineLifecycle | undefined {
    const life = [...this.#dropped, ...this.#ending].find(({ engine }) => engine === key);
    if (life !== undefined) this.#dropped.delete(life);
    return life;
  }
}

/** Whether the toolset has no tools of its own. */
function hasNoTools(toolset: Toolset): boolean {
  return toolset.tools === undefined || toolset.tools.length === 0;
}

function keyOf(toolset: Toolset): Engine | string {
  return toolset.engine ?? toolset.name;
}

function groupByEngine(toolsets: readonly Toolset[]): ReadonlyMap<Engine | string, readonly [Toolset, ...Toolset[]]> {
  const groups = new Map<Engine | string, [Toolset, ...Toolset[]]>();
  for (const toolset of toolsets) {
    const group = groups.get(keyOf(toolset));
    if (group === undefined) groups.set(keyOf(toolset), [toolset]);
    else if (hasNoTools(toolset) && !hasNoTools(group[0])) group.unshift(toolset);
    else group.push(toolset);
  }
  return groups;
}
