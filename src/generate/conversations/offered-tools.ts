/** Which tools a conversation is made with: those that it needs, and others to look past. */
import { modelTools } from "../../compose/prompt/model-tools.ts";
import type { ModelTool } from "../../core/model.ts";
import type { Random } from "../../core/ports.ts";
import { drawn } from "../../core/base/seeded-random.ts";
import type { Visibility } from "../../policy/visibility.ts";
import { OWN_NAMESPACE } from "../../registry/read-result-tool.ts";
import type { Registry } from "../../registry/registry.ts";

export interface OfferedToolsOptions {
  readonly allow: Visibility | undefined;
  readonly maxTools: number;
}

export class OfferedTools {
  /** Every tool that may be offered, in the order of the registry's listing. */
  readonly all: readonly ModelTool[];
  readonly #maxTools: number;

  constructor(registry: Registry, { allow, maxTools }: OfferedToolsOptions) {
    this.all = modelTools(registry, { allow }).filter(
      ({ name, providerExecuted }) => providerExecuted !== true && !name.startsWith(`${OWN_NAMESPACE}::`),
    );
    this.#maxTools = maxTools;
  }

  /** At most `maxTools`, unless more of them are needed; the same for the same random numbers, in the order of `all`. */
  choose(needed: ReadonlySet<string>, random: Random): readonly ModelTool[] {
    if (this.all.length <= this.#maxTools) return this.all;
    const chosen = new Set(this.all.filter(({ name }) => needed.has(name)));
    for (const tool of drawn(random, this.all)) {
      if (chosen.size >= this.#maxTools) break;
      chosen.add(tool);
    }
    return this.all.filter((tool) => chosen.has(tool));
  }
}
