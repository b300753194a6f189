/** Finds sessions whose jobs another process of the store can continue, and this one cannot. */
import { ToolError } from "../../core/error.ts";
import { splitName } from "../../core/call.ts";
import { ACTIVE_JOB_STATES } from "../../core/jobs/job-status.ts";
import type { Clock } from "../../core/ports.ts";
import type { Store } from "../../core/store/store.ts";
import { getDefinitionDigests } from "../../registry/definition-digests.ts";
import type { Runtime } from "../../runtime/runtime.ts";

export interface MissingToolsOptions {
  readonly runtime: Runtime;
  readonly store: Store;
  readonly clock: Pick<Clock, "now">;
  /** How long the known tools of other processes are used before they are read again, in milliseconds. */
  readonly pollMs: number;
}

/** Default for how long the known tools of other processes are used, and when a client should retry for a session that waits for another process. */
export const REFRESH_MS = 2_000;

/** Prefix of the names of toolset digests. */
const TOOLSETS = "toolsets.";

/** Maximum number of jobs of a session that are examined. */
const MAX_EXAMINED_JOBS = 10_000;

export class MissingTools {
  readonly #options: MissingToolsOptions;
  #differing: { readonly until: number; readonly toolsets: Promise<ReadonlySet<string>> } | undefined;

  constructor(options: MissingToolsOptions) {
    this.#options = options;
  }

  /**
   * Why a session is left to another process: one of its jobs would end here as `unavailable` or `not_found`. undefined if none would.
   * @param waits false: missing tools are no reason any more
   * @param needsAll true: a missing tool is a reason even if no other process has it now
   */
  async findReasonToLeave(
    sessionId: string,
    { waits = true, needsAll = false }: { readonly waits?: boolean; readonly needsAll?: boolean } = {},
  ): Promise<string | undefined> {
    const { runtime, store } = this.#options;
    const { registry, places } = runtime;
    const placed = registry.toolsets().filter(({ place }) => place !== undefined && !places.includes(place));
    const differing = await this.#differingToolsets();
    if (placed.length === 0 && differing.size === 0 && !needsAll) return undefined;
    const names = new Set<string | undefined>(placed.map(({ name }) => name));
    const jobs = await store.jobs.list({ sessionId, states: ACTIVE_JOB_STATES, limit: MAX_EXAMINED_JOBS });
    // by namespace: tools that an engine would list are not registered here
    const inPlaces = jobs.some(({ toolName }) => names.has(splitName(toolName).namespace));
    if (inPlaces) return "a job at a place that this process does not have";
    if (!waits) return undefined;
    const isLacking = jobs.some(
      ({ toolName }) => (needsAll || differing.has(splitName(toolName).namespace ?? "")) && registry.overloads(toolName).length === 0,
    );
    return isLacking ? "a job of a tool that this process does not have" : undefined;
  }

  /** Toolsets that differ in another living process: while versions are replaced, one process has tools that others lack. Read once per `pollMs`. */
  #differingToolsets(): Promise<ReadonlySet<string>> {
    const { clock, pollMs } = this.#options;
    const now = clock.now();
    if (this.#differing === undefined || this.#differing.until <= now)
      this.#differing = { until: now + pollMs, toolsets: this.#findDiffering() };
    return this.#differing.toolsets;
  }

  async #findDiffering(): Promise<ReadonlySet<string>> {
    const { runtime, store } = this.#options;
    const own = getDefinitionDigests(runtime.registry);
    const living = (await store.processes()).filter((one) => one.alive && !one.own);
    const parts = living.flatMap(({ definitions = {} }) => Object.entries(definitions));
    return new Set(
      parts.flatMap(([part, digest]) => (part.startsWith(TOOLSETS) && own[part] !== digest ? [part.slice(TOOLSETS.length)] : [])),
    );
  }
}

/** The error for a session whose job would end here without having run: it waits for a process that has the tool, or for the last such one to end. */
export function waitsForOtherProcessError(id: string, why: string): ToolError {
  return new ToolError("unavailable", `The session ${JSON.stringify(id.slice(0, 200))} has ${why}: it waits for a process that has it.`, {
    outcome: "not_started",
    retryable: true,
    retryAfterMs: REFRESH_MS,
    operatorHint:
      "Versions are being replaced, processes were started with different tools, or no running process has the place: see GET /v1/fleet. To use the session now, cancel the job.",
  });
}
