/** The tools of a loop whose model is shown only a few of them, and more once it has found them. */
import { OWN_NAMESPACE } from "../../core/call.ts";
import type { JsonValue } from "../../core/base/json.ts";
import { ToolError } from "../../core/error.ts";
import { checkKnownKeys } from "../../core/known-keys.ts";
import type { ModelTool } from "../../core/model.ts";
import { createNameMatcher } from "../../policy/permission.ts";
import { CALL_TOOL, FIND_TOOLS, parseFoundNames } from "../../registry/found-tools.ts";
import type { Registry } from "../../registry/registry.ts";

/** Which tools a model is shown from the beginning. */
export interface DeferToolsOptions {
  /** Patterns over qualified names. @default only `find_tools` and the runtime's own tools */
  readonly pinned?: readonly string[];
}

const NO_LIST: readonly ModelTool[] = Object.freeze([]);

/**
 * First the pinned tools, in the order of the listing, then those that were found, in the order in which they were found. New tools are only
 * appended, so that a provider's prompt cache stays valid for the tools before them.
 */
export class DeferredTools {
  readonly #isPinned: (qualifiedName: string) => boolean;
  #list = NO_LIST;
  #pinned = NO_LIST;
  #byName: ReadonlyMap<string, readonly ModelTool[]> = new Map();
  #found: JsonValue | undefined;
  #offered = NO_LIST;

  /** @throws ToolError `invalid_argument` */
  constructor(options: DeferToolsOptions, registry: Registry) {
    checkKnownKeys(options, { pinned: "strings" }, "createLoop({ deferTools })");
    if (!registry.has(FIND_TOOLS))
      throw new ToolError("invalid_argument", "deferTools of createLoop() needs the tool find_tools: without it, no tool could be found.", {
        hint: "Give the runtime its toolset: createRuntime({ toolsets: [findToolsToolset()] }), from haft/find-tools.",
      });
    const matches = createNameMatcher([FIND_TOOLS, CALL_TOOL, `${OWN_NAMESPACE}::*`, ...(options.pinned ?? [])], "pinned");
    this.#isPinned = (name) => matches(name) !== undefined;
  }

  /** Returns the same array until the list changes or more tools are found. @param found the state that `find_tools` keeps */
  selectOffered(list: readonly ModelTool[], found: JsonValue | undefined): readonly ModelTool[] {
    if (list === this.#list && found === this.#found) return this.#offered;
    if (list !== this.#list) {
      this.#list = list;
      this.#pinned = list.filter(({ name }) => this.#isPinned(name));
      this.#byName = Map.groupBy(list, ({ name }) => name);
    }
    this.#found = found;
    const others = parseFoundNames(found).filter((name) => !this.#isPinned(name));
    return (this.#offered = Object.freeze([...this.#pinned, ...others.flatMap((name) => this.#byName.get(name) ?? [])]));
  }
}
