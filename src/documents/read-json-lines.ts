/** Reads JSON Lines that a person wrote by hand: no invalid line is ignored, and each is reported with its position. */
import { pushAll } from "../core/collections/push-all.ts";
import { ToolError } from "../core/error.ts";
import type { JsonValue } from "../core/base/json.ts";
import { parseJson } from "../core/base/parse-json.ts";

export interface JsonLines<Item> {
  /** In the order of the lines. */
  readonly items: readonly Item[];
  /**
   * One entry per invalid line, in order: `file:3: …`, with the column if it is not JSON. At most twenty, the last of which counts the rest. After more
   * than 1,000 invalid lines the text is not read any further: it is not JSON Lines.
   */
  readonly problems: readonly string[];
}

const MAX_PROBLEMS = 20;
const MAX_INVALID_LINES = 1_000;

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
  let number = 0;
  let invalid = 0;
  for (const line of splitLines(text)) {
    number++;
    if (line.trim() === "") continue;
    try {
      items.push(read(parseJson(line)));
    } catch (thrown: unknown) {
      pushAll(problems, formatProblems(ToolError.fromUnknown(thrown), `${file}:${number}`));
      if (++invalid > MAX_INVALID_LINES) break;
    }
  }
  const more = problems.length - MAX_PROBLEMS + 1;
  if (more <= 1) return { items, problems };
  const count = invalid > MAX_INVALID_LINES ? `at least ${more}` : more;
  return { items, problems: [...problems.slice(0, MAX_PROBLEMS - 1), `and ${count} more lines`] };
}

/** Yields the lines one by one: an array of all of them may take many times the memory of the text. */
function* splitLines(text: string): Generator<string, void, undefined> {
  let start = 0;
  for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
    yield text.slice(start, end);
    start = end + 1;
  }
  yield text.slice(start);
}

function formatProblems(error: ToolError, place: string): readonly string[] {
  return error.details.length > 0 ? error.details.map((detail) => `${place}: ${detail}`) : [formatPlaced(error, place)];
}

/** Returns `file:3:14: …`; the parser has counted columns within the line. */
function formatPlaced({ message }: ToolError, place: string): string {
  const column = /,? at line 1, column (\d+)/u.exec(message);
  return column === null ? `${place}: ${message}` : `${place}:${column[1]}: ${message.replace(column[0], "")}`;
}
