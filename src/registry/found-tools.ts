/** The tools that a model has found in a session: `find_tools` notes them, and a loop offers them. */
import { isJsonArray, type JsonValue } from "../core/base/json.ts";
import type { ToolState } from "../core/context.ts";

/** The toolset with the tools for finding other tools. */
export const CATALOG_TOOLSET = "catalog";
/** The qualified name of the tool that finds others. */
export const FIND_TOOLS = `${CATALOG_TOOLSET}::find_tools`;
/** The qualified name of the tool that calls a found tool. */
export const CALL_TOOL = `${CATALOG_TOOLSET}::call_tool`;

const FOUND_KEY = "found";

interface SessionStateReader {
  state(toolset: string, key: string): JsonValue | undefined;
}

/** The found tools in the session's state: the same array until more are found. */
export function readFoundTools(session: SessionStateReader): JsonValue | undefined {
  return session.state(CATALOG_TOOLSET, FOUND_KEY);
}

/** Qualified names, in the order in which they were found. */
export function parseFoundNames(found: JsonValue | undefined): readonly string[] {
  return found !== undefined && isJsonArray(found) ? found.filter((name) => typeof name === "string") : [];
}

/** Appends the names that are new. */
export function addFoundTools(state: ToolState, names: readonly string[]): void {
  const known = new Set(parseFoundNames(state.get(FOUND_KEY)));
  const added = names.filter((name) => !known.has(name));
  if (added.length > 0) state.update(FOUND_KEY, (before) => [...parseFoundNames(before), ...added]);
}
