/** Tracks toolsets that were added after the others were opened, while they are being opened. */
import { splitName } from "../core/call.ts";
import type { Toolset } from "../core/toolset.ts";

/** Opens toolsets that are added, and abandons those that are removed. */
export interface LateOpener {
  /** Opens a toolset; undefined if there is nothing to open now. The promise never rejects. */
  openAdded(toolset: Toolset): Promise<void> | undefined;
  abandonRemoved(name: string): void;
  /** Called when the tools on offer are listed. @param namespaces the listed namespaces; undefined for all */
  onListed(namespaces: ReadonlySet<string> | undefined): void;
}

export class LateOpenings {
  /** @default no toolset is opened */
  opener: LateOpener | undefined = undefined;
  /** Whether any toolset is being opened. A field, because every call reads it. */
  isOpening = false;
  readonly #byToolset = new Map<string, Promise<void>>();

  start(toolset: Toolset): void {
    const opening = this.opener?.openAdded(toolset);
    if (opening === undefined) return;
    const finished = opening.finally(() => {
      if (this.#byToolset.get(toolset.name) === finished) this.#drop(toolset.name); // otherwise another toolset has taken its name
    });
    this.#byToolset.set(toolset.name, finished);
    this.isOpening = true;
  }

  /** Must be called when a toolset is removed. */
  remove(name: string): void {
    this.#drop(name);
    this.opener?.abandonRemoved(name);
  }

  #drop(name: string): void {
    this.#byToolset.delete(name);
    this.isOpening = this.#byToolset.size > 0;
  }

  /**
   * Resolves when the toolset that a name belongs to, or may belong to, is open or has failed; undefined if there is nothing to wait for.
   *
   * @param registry tells whether a tool of this name exists already
   */
  whenOpen(name: string, registry: { has(name: string): boolean }): Promise<unknown> | undefined {
    const { namespace } = splitName(name);
    if (namespace !== undefined) return this.#byToolset.get(namespace);
    return registry.has(name) ? undefined : Promise.all(this.#byToolset.values());
  }
}
