/** The state of engines in a snapshot: there by the names of toolsets, in the program by the engines. */
import type { JsonValue } from "../core/base/json.ts";
import type { Engine } from "../core/engine.ts";

export interface ToolsetEngines {
  /** The engine that answers for a toolset; undefined for a name that is none. */
  readonly engineOf: (toolset: string) => Engine | undefined;
  /** Names of all toolsets, in order. */
  readonly toolsets: () => readonly string[];
}

export function byEngine(snapshots: ReadonlyMap<string, JsonValue>, { engineOf }: ToolsetEngines): ReadonlyMap<Engine, JsonValue> {
  const engines = new Map<Engine, JsonValue>();
  for (const [toolset, snapshot] of snapshots) {
    const engine = engineOf(toolset);
    if (engine !== undefined) engines.set(engine, snapshot);
  }
  return engines;
}

/** An engine that several toolsets share is named by the first of them. */
export function byToolset(
  snapshots: ReadonlyMap<Engine, JsonValue>,
  { engineOf, toolsets }: ToolsetEngines,
): ReadonlyMap<string, JsonValue> {
  const named = new Map<string, JsonValue>();
  for (const [engine, snapshot] of snapshots) {
    const name = toolsets().find((toolset) => engineOf(toolset) === engine);
    if (name !== undefined) named.set(name, snapshot);
  }
  return named;
}
