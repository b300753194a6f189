/** The toolsets that the sources of a runtime last returned. Each source has its own time limit, and its failure does not affect the others. */
import { ToolError, describeThrown } from "../../core/error.ts";
import type { Ports } from "../../core/ports.ts";
import type { ToolSource } from "../../core/source.ts";
import type { Toolset } from "../../core/toolset.ts";
import { startWork, waitFor, type Interruptible } from "../../policy/attempts/deadline.ts";
import type { ToolsetFailure } from "./merge-toolsets.ts";

const LOAD_TIMEOUT_MS = 30_000;
const NONE: readonly Toolset[] = Object.freeze([]);

export class ToolSources {
  readonly #sources: readonly SourceLoader[];

  /** @throws ToolError `invalid_argument` for an invalid source */
  constructor(sources: readonly ToolSource[], ports: Ports) {
    for (const source of sources) {
      if (typeof source?.load !== "function" || typeof source.name !== "string")
        throw new ToolError("invalid_argument", "A source of tools must be an object with a name and a function load().");
    }
    this.#sources = sources.map((source) => new SourceLoader(source, ports));
  }

  get names(): readonly string[] {
    return this.#sources.map(({ name }) => name);
  }

  /** The toolsets that the sources last returned, in the order of the sources. */
  get toolsets(): readonly Toolset[] {
    return this.#sources.flatMap((source) => source.toolsets);
  }

  /** Loads all sources again. One that fails keeps its earlier toolsets. Never rejects. */
  async load(): Promise<readonly ToolsetFailure[]> {
    const failures = await Promise.all(this.#sources.map((source) => source.load()));
    return failures.flat();
  }

  /** Ends running loads with this error. */
  abandon(error: ToolError): void {
    for (const source of this.#sources) source.abandon(error);
  }

  /** Calls `changed` when the toolsets of a source may have changed. The returned function stops watching. */
  watch(changed: () => void): () => void {
    const stops = this.#sources.map((source) => source.watch(changed));
    return () => {
      for (const stop of stops) stop();
    };
  }
}

class SourceLoader {
  readonly name: string;
  toolsets: readonly Toolset[] = NONE;
  readonly #source: ToolSource;
  readonly #ports: Ports;
  readonly #wait: Interruptible;

  constructor(source: ToolSource, ports: Ports) {
    this.name = source.name;
    this.#source = source;
    this.#ports = ports;
    this.#wait = { clock: ports.clock, wait: undefined };
  }

  async load(): Promise<readonly ToolsetFailure[]> {
    const { clock, log } = this.#ports;
    const controller = new AbortController();
    const parts: ToolsetFailure[] = [];
    const failed = (toolset: string, error: ToolError): void => void parts.push({ toolset, error });
    const loading = startWork(() => this.#source.load({ signal: controller.signal, log, failed }));
    const waited = await waitFor(this.#wait, loading, {
      endsAt: clock.now() + LOAD_TIMEOUT_MS,
      timeoutError: () => new ToolError("timeout", `it was not read within ${LOAD_TIMEOUT_MS} ms.`),
    });
    if ("ended" in waited) controller.abort(waited.ended);
    try {
      if (!("value" in waited)) throw "ended" in waited ? waited.ended : waited.thrown;
      if (!Array.isArray(waited.value)) throw new ToolError("invalid_argument", "its load() did not return an array of toolsets.");
      const faults = waited.value.map(findToolsetProblem);
      this.toolsets = waited.value.filter((_toolset, index) => faults[index] === undefined);
      const fault = faults.find((found) => found !== undefined);
      if (fault !== undefined) throw new ToolError("invalid_argument", `of the toolsets that its load() returned, ${fault} is left out.`);
      return [...parts];
    } catch (thrown: unknown) {
      return [...parts, { toolset: this.name, error: ToolError.fromUnknown(thrown, "unavailable") }];
    }
  }

  abandon(error: ToolError): void {
    this.#wait.wait?.interrupt(error);
  }

  watch(changed: () => void): () => void {
    const stop = this.#tryOrLog("cannot be watched", () => this.#source.watch?.(changed));
    return () => {
      this.#tryOrLog("cannot stop being watched", () => stop?.());
    };
  }

  /** Runs work and logs its error, so that one failing source does not prevent the others from starting or stopping to watch. */
  #tryOrLog<T>(problem: string, work: () => T): T | undefined {
    try {
      return work();
    } catch (thrown: unknown) {
      this.#ports.log.warn(`The source ${JSON.stringify(this.name)} ${problem}: ${ToolError.fromUnknown(thrown).message}`);
      return undefined;
    }
  }
}

/** Describes why a value cannot be read as a toolset; everything else is checked when it is registered. */
function findToolsetProblem(toolset: unknown, index: number): string | undefined {
  const which = `toolset ${index + 1}`;
  try {
    if (typeof toolset !== "object" || toolset === null) return `${which}, which is not an object,`;
    const { name, engine, tools }: { readonly [Field in keyof Toolset]?: unknown } = toolset;
    if (typeof name !== "string") return `${which}, which has no name,`;
    if (tools !== undefined && !Array.isArray(tools)) return `${which}, whose tools are not an array,`;
    const isEngine = typeof engine === "object" && engine !== null && "call" in engine && typeof engine.call === "function";
    return engine === undefined || isEngine ? undefined : `${which}, whose engine has no function call(),`;
  } catch (error: unknown) {
    return `${which}, which cannot be read (${describeThrown(error)}),`;
  }
}
