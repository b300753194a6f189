/** Where toolsets come from, again and again: a file of tools, a folder of descriptors, a list that a program generates. */
import type { Log } from "./ports.ts";
import type { Toolset } from "./toolset.ts";

/** Where tools are found; it may tell when they change. */
export interface ToolSource {
  /** The name in reports and messages, such as that of a toolset or the path of a file. */
  readonly name: string;
  /**
   * Reads everything again and returns whole toolsets, in order. Called when the runtime opens and at each refresh.
   *
   * An engine must be the same object each time, or it is closed and another opened. Toolsets of one name, of this source or of
   * several, become one when they have the same engine. Rejects when nothing can be used; the signal aborts when it takes too long.
   */
  load(context: SourceContext): Promise<readonly Toolset[]>;
  /** Calls `changed` whenever `load` may give something else; the returned function ends that. Must not keep the process alive. */
  watch?(changed: () => void): () => void;
}

/** The context that a source is opened with. */
export interface SourceContext {
  readonly signal: AbortSignal;
  readonly log: Log;
}
