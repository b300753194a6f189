/** Decides which results a newer call supersedes: it shows the same place, and at least as much of it as the older one. */
import { isJsonObject, type JsonValue } from "../../core/base/json.ts";
import type { PastCall, Supersedes } from "../../core/tool.ts";
import { supersedesAt } from "../../history/supersede.ts";
import type { Workspace } from "./workspace-path.ts";

/** The lines of a file that a call shows or may have changed. */
interface LineRange {
  readonly first: number;
  readonly last: number;
  /** Whether the lines extend to the end of the file. */
  readonly toEnd: boolean;
}

const WHOLE_FILE: LineRange = { first: 1, last: Infinity, toEnd: true };

/**
 * The rule of all tools that read or change one file.
 *
 * A call that shows the whole file (`write`, an uncut `read`, `json_write` of the whole document, an edit that answers with the content) supersedes
 * every earlier call; a read of a part supersedes reads of that part or less. Our `edit` answers without the content, so it supersedes nothing. A
 * read JSON value is superseded by a write of the whole file, or a read at the same place.
 */
export function supersedesFileCalls(workspace: Workspace): Supersedes {
  return supersedesAt(({ input }) => keyOf(workspace, input["path"]), showsAtLeast);
}

/** The rule of tools that list a folder: a call of the same tool and folder supersedes an older one if it lists at least as much. */
export function supersedesListings(workspace: Workspace, listsAllOf: (newer: PastCall, older: PastCall) => boolean): Supersedes {
  return supersedesAt(({ name, input: { path = "." } }) => {
    const key = keyOf(workspace, path);
    return key === undefined ? undefined : `${name} ${key}`;
  }, listsAllOf);
}

function keyOf(workspace: Workspace, path: JsonValue | undefined): string | undefined {
  return typeof path === "string" ? workspace.key(path) : undefined;
}

function showsAtLeast(newer: PastCall, older: PastCall): boolean {
  if (newer.name === "json_read") return older.name === "json_read" && (newer.input["at"] ?? "") === (older.input["at"] ?? "");
  // The text shown by `read` has its long lines cut, and a JSON document may be one long line.
  if (newer.name === "read" && older.name === "json_read") return false;
  const shown = shownLines(newer);
  if (shown === undefined) return false;
  const needed = (older.name === "read" ? readLineRange(older.output) : undefined) ?? WHOLE_FILE;
  return shown.first <= needed.first && (shown.toEnd || shown.last >= needed.last);
}

/** Returns the lines of a file that the model knows by this call alone; undefined = none. */
function shownLines({ name, input, output }: PastCall): LineRange | undefined {
  if (name === "write") return WHOLE_FILE;
  if (name === "json_write") return input["at"] === "" || input["at"] === "$" ? WHOLE_FILE : undefined;
  if (name === "read") return isJsonObject(output) && typeof output["mediaType"] === "string" ? WHOLE_FILE : readLineRange(output);
  return isJsonObject(output) && typeof output["content"] === "string" ? WHOLE_FILE : undefined;
}

/** Returns the lines from the output, because a long file stops early. Undefined for "unchanged", which shows nothing. */
function readLineRange(output: JsonValue | undefined): LineRange | undefined {
  if (!isJsonObject(output)) return undefined;
  const { firstLine: first, lastLine: last, totalLines } = output;
  if (typeof first !== "number" || typeof last !== "number") return undefined;
  return { first, last, toEnd: last === totalLines };
}

/** Returns a number of an input, or `otherwise` if it is left out; NaN if it is not a number, so that comparisons with it are false. */
export function toNumber(value: JsonValue | undefined, otherwise: number): number {
  if (value === undefined) return otherwise;
  return typeof value === "number" ? value : Number.NaN;
}
