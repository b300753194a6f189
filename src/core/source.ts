/** Where toolsets come from, repeatedly: a file of tools, a folder of descriptors, a list that a program generates. */
import type { ToolError } from "./error.ts";
import type { Log } from "./ports.ts";
import type { Toolset } from "./toolset.ts";

/** A source of toolsets; it may report changes. */
export interface ToolSource {
  /** The name in reports and messages, such as that of a toolset or the path of a file. */
  readonly name: string;
  /**
   * Reads everything again and returns complete toolsets, in order. Called when the runtime opens and at each refresh.
   *
   * An engine must be the same object each time; otherwise it is closed and the new one opened. Toolsets with the same name, of this source or of
   * several, are merged if they have the same engine. Rejects if nothing can be used; the signal aborts when loading takes too long.
   */
  load(context: SourceContext): Promise<readonly Toolset[]>;
  /** Calls `changed` whenever `load` may return something else; the returned function stops that. Must not keep the process alive. */
  watch?(changed: () => void): () => void;
}

/** The context for loading a source. */
export interface SourceContext {
  readonly signal: AbortSignal;
  readonly log: Log;
  /**
   * Reports that a part of the source could not be read: it is listed under this name in the report of `open` or `refresh`, and is an error if
   * `strict` is set. The toolsets that `load` returns are used all the same.
   */
  readonly failed?: (name: string, error: ToolError) => void;
}
