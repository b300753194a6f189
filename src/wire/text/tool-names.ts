/** The tools of a message by every name that a call of them may bear. */
import { DEFAULT_NAMESPACE, splitName } from "../../core/call.ts";
import type { ModelTool } from "../../core/model.ts";
import { providerName } from "../provider-name.ts";

/**
 * Finds tools as the runtime would: by the name they were described with, by the qualified one, and by the bare one, which counts where
 * one tool has it. A bare name that several tools have is known and means none of them: the runtime refuses it with the candidates.
 */
export class ToolNames {
  readonly #tools = new Map<string, ModelTool>();
  readonly #shared = new Set<string>();

  constructor(tools: readonly ModelTool[]) {
    for (const tool of tools) this.#tools.set(providerName(tool.name, tool.fingerprint), tool);
    for (const tool of tools) for (const name of [tool.name, withoutPrefix(tool.name), providerName(tool.name)]) this.#add(name, tool);
    const bearers = new Map<string, Set<string>>();
    for (const { name } of tools) {
      const bare = splitName(name).name;
      const names = bearers.get(bare);
      if (names === undefined) bearers.set(bare, new Set([name]));
      else names.add(name);
    }
    for (const tool of tools) {
      const bare = splitName(tool.name).name;
      if (bearers.get(bare)?.size === 1) this.#add(bare, tool);
      else if (!this.#tools.has(bare)) this.#shared.add(bare);
    }
  }

  get(name: string): ModelTool | undefined {
    return this.#tools.get(withoutPrefix(name)) ?? this.#tools.get(name);
  }

  has(name: string): boolean {
    return this.get(name) !== undefined || this.#shared.has(withoutPrefix(name));
  }

  /** The qualified name by every name. */
  qualified(): ReadonlyMap<string, string> {
    return new Map(Array.from(this.#tools, ([name, tool]) => [name, tool.name]));
  }

  #add(name: string, tool: ModelTool): void {
    if (!this.#tools.has(name)) this.#tools.set(name, tool);
  }
}

const FUNCTIONS = "functions.";
const DEFAULT = `${DEFAULT_NAMESPACE}::`;

function withoutPrefix(name: string): string {
  if (name.startsWith(FUNCTIONS)) return name.slice(FUNCTIONS.length);
  return name.startsWith(DEFAULT) ? name.slice(DEFAULT.length) : name;
}
