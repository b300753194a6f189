/** The toolsets that a program adds after the others were opened, while they are being opened. */
import { splitName } from "../core/call.ts";
import type { Toolset } from "../core/toolset.ts";

/** Opens a toolset that was added, if it needs that now. The promise never rejects. */
export type LateOpener = (toolset: Toolset) => Promise<void> | undefined;

export class LateOpenings {
  /** @default nothing is opened */
  opener: LateOpener | undefined = undefined;
  readonly #byToolset = new Map<string, Promise<void>>();

  begin(toolset: Toolset): void {
    const opening = this.opener?.(toolset);
    if (opening === undefined) return;
    const over = opening.finally(() => this.#byToolset.delete(toolset.name));
    this.#byToolset.set(toolset.name, over);
  }

  /**
   * Resolves when the toolset that a name belongs to, or may belong to, is open or has failed; undefined when there is nothing to wait for.
   *
   * @param registry tells whether a tool of this name is there already
   */
  of(name: string, registry: { has(name: string): boolean }): Promise<unknown> | undefined {
    if (this.#byToolset.size === 0) return undefined;
    const { namespace } = splitName(name);
    if (namespace !== undefined) return this.#byToolset.get(namespace);
    return registry.has(name) ? undefined : Promise.all(this.#byToolset.values());
  }
}
