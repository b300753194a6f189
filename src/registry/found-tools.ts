/** The tools that a model has found in a session, as `find_tools` notes them and a loop offers them. */
import { isJsonArray, type JsonValue } from "../core/base/json.ts";
import type { ToolState } from "../core/context.ts";

/** The toolset of the tools with which a model finds others. */
export const CATALOG_TOOLSET = "catalog";
/** The qualified name of the tool that finds others. */
export const FIND_TOOLS = `${CATALOG_TOOLSET}::find_tools`;
/** The qualified name of the tool that calls what was found. */
export const CALL_TOOL = `${CATALOG_TOOLSET}::call_tool`;

const FOUND = "found";

interface StateOfSession {
  state(toolset: string, key: string): JsonValue | undefined;
}

/** The state as it is: the same array until more is found. */
export function foundIn(session: StateOfSession): JsonValue | undefined {
  return session.state(CATALOG_TOOLSET, FOUND);
}

/** Qualified names, in the order in which they were found. */
export function foundNames(found: JsonValue | undefined): readonly string[] {
  return found !== undefined && isJsonArray(found) ? found.filter((name) => typeof name === "string") : [];
}

/** Appends those that are new. */
export function noteFound(state: ToolState, names: readonly string[]): void {
  const known = new Set(foundNames(state.get(FOUND)));
  const added = names.filter((name) => !known.has(name));
  if (added.length > 0) state.update(FOUND, (before) => [...foundNames(before), ...added]);
}
