/** Looks up the tools of a message by every name that a call may use. */
import { DEFAULT_NAMESPACE, splitName } from "../../core/call.ts";
import type { ModelTool } from "../../core/model.ts";
import { providerName } from "../provider-name.ts";

/**
 * Finds tools as the runtime would: by the name in their description, by the qualified name, and by the bare name if only one tool has it. A bare
 * name that several tools have is known, but finds none of them: the runtime refuses it with the candidates. Names are computed at the first look-up,
 * as most messages have no calls.
 */
export class ToolNames {
  readonly #tools: readonly ModelTool[];
  #byName: Map<string, ModelTool> | undefined;
  #shared: ReadonlySet<string> = NONE;

  constructor(tools: readonly ModelTool[]) {
    this.#tools = tools;
  }

  get(name: string): ModelTool | undefined {
    const called = this.normalizeName(name);
    return this.#names().get(withoutPrefix(called)) ?? this.#names().get(called);
  }

  has(name: string): boolean {
    return this.#has(this.normalizeName(name));
  }

  /** Returns the name without the number of the call at its end, or without its own repetition, if only that keeps it from being a tool's name. */
  normalizeName(name: string): string {
    if ((!NUMBERED.test(name) && !REPEATED.test(name)) || this.#has(name)) return name;
    const withoutNumber = name.replace(NUMBERED, "");
    return [withoutNumber, withoutNumber.replace(REPEATED, "$1")].find((bare) => this.#has(bare)) ?? name;
  }

  #has(name: string): boolean {
    return this.#names().has(withoutPrefix(name)) || this.#names().has(name) || this.#shared.has(withoutPrefix(name));
  }

  /** Returns the qualified name for every name. */
  *qualifiedNames(): Iterable<readonly [name: string, qualifiedName: string]> {
    for (const [name, tool] of this.#names()) yield [name, tool.name];
  }

  #names(): Map<string, ModelTool> {
    if (this.#byName !== undefined) return this.#byName;
    const byName = new Map<string, ModelTool>();
    this.#byName = byName;
    const add = (name: string, tool: ModelTool): void => {
      if (!byName.has(name)) byName.set(name, tool);
    };
    for (const tool of this.#tools) byName.set(providerName(tool.name, tool.fingerprint), tool);
    for (const tool of this.#tools) {
      add(tool.name, tool);
      add(withoutPrefix(tool.name), tool);
      if (tool.fingerprint !== undefined) add(providerName(tool.name), tool);
    }
    this.#addBareNames(add);
    return byName;
  }

  #addBareNames(add: (name: string, tool: ModelTool) => void): void {
    const toolsByBareName = new Map<string, ModelTool>();
    const shared = new Set<string>();
    for (const tool of this.#tools) {
      const bare = splitName(tool.name).name;
      const other = toolsByBareName.get(bare);
      if (other === undefined) toolsByBareName.set(bare, tool);
      else if (other.name !== tool.name) shared.add(bare);
    }
    for (const [bare, tool] of toolsByBareName) if (!shared.has(bare)) add(bare, tool);
    if (shared.size > 0) this.#shared = shared;
  }
}

const NONE: ReadonlySet<string> = new Set();
const FUNCTIONS = "functions.";
/** `functions.get_weather:0`: Kimi K2 numbers its calls. */
const NUMBERED = /:\d{1,9}$/u;
/** `get_weather.get_weather`: how Muse Glimmer names a tool without a group. */
const REPEATED = /^([^.]{1,256})\.\1$/u;
const DEFAULT = `${DEFAULT_NAMESPACE}::`;

function withoutPrefix(name: string): string {
  if (name.startsWith(FUNCTIONS)) return name.slice(FUNCTIONS.length);
  return name.startsWith(DEFAULT) ? name.slice(DEFAULT.length) : name;
}
