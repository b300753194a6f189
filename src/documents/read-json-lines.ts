/** Reads JSON Lines that a person wrote by hand: no invalid line is ignored, and each is reported with its position. */
import { pushAll } from "../core/collections/push-all.ts";
import { ToolError } from "../core/error.ts";
import type { JsonValue } from "../core/base/json.ts";
import { parseJson } from "../core/base/parse-json.ts";

export interface JsonLines<Item> {
  /** In the order of the lines. */
  readonly items: readonly Item[];
  /** One entry per invalid line, in order: `file:3: …`, with the column if it is not JSON. At most twenty, the last of which counts the rest. */
  readonly problems: readonly string[];
}

const MAX_PROBLEMS = 20;

/**
 * Reads every line that is not blank.
 *
 * @param source the text, and its name for messages
 * @param read makes an item of a line's value. What it throws is reported as the line's problem; each of the error's `details` separately, if
 * it has any
 */
export function readJsonLines<Item>(
  { text, file }: { readonly text: string; readonly file: string },
  read: (value: JsonValue) => Item,
): JsonLines<Item> {
  const items: Item[] = [];
  const problems: string[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    try {
      items.push(read(parseJson(line)));
    } catch (thrown: unknown) {
      const error = ToolError.fromUnknown(thrown);
      const place = `${file}:${index + 1}`;
      pushAll(problems, error.details.length > 0 ? error.details.map((detail) => `${place}: ${detail}`) : [formatPlaced(error, place)]);
    }
  }
  const more = problems.length - MAX_PROBLEMS;
  return { items, problems: more > 0 ? [...problems.slice(0, MAX_PROBLEMS - 1), `and ${more + 1} more lines`] : problems };
}

/** Returns `file:3:14: …`; the parser has counted columns within the line. */
function formatPlaced({ message }: ToolError, place: string): string {
  const column = /,? at line 1, column (\d+)/u.exec(message);
  return column === null ? `${place}: ${message}` : `${place}:${column[1]}: ${message.replace(column[0], "")}`;
}
