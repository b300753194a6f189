/** Joins the streamed pieces of a call's arguments, also those of servers that send the arguments, or their beginning, more than once. */
import { isJsonObject, type JsonObject, type JsonValue } from "../core/base/json.ts";
import { parseJson } from "../core/base/parse-json.ts";

export interface JoinedArguments {
  readonly text: string;
  /** A sentence about the text that was left out; undefined for pieces that are joined as they are. */
  readonly note?: string;
}

const REPEATED = "The arguments were sent more than once; they are read once.";
const PLACEHOLDER = "An empty object before the arguments is left out.";

/**
 * Joins pieces to the text of the arguments.
 *
 * If the joined text is not JSON, then the last piece replaces the others if it is a whole object that repeats them: all of them together, or each of
 * them in the next. An empty object that comes before an object is left out. In all other cases the text is joined unchanged.
 *
 * @see https://github.com/vllm-project/vllm/issues/51697 and https://github.com/vllm-project/vllm/issues/42167
 */
export function joinArguments(pieces: readonly string[]): JoinedArguments {
  const text = pieces.join("");
  const last = pieces.at(-1) ?? "";
  if (pieces.length < 2 || !text.trimStart().startsWith("{") || !last.trimEnd().endsWith("}") || isJson(text)) return { text };
  const first = readObject(pieces[0] ?? "");
  if (first !== undefined && isEmptyInput(first) && readObject(pieces.slice(1).join("")) !== undefined)
    return { text: pieces.slice(1).join(""), note: PLACEHOLDER };
  const whole = readObject(last);
  return whole !== undefined && repeats(pieces, whole) ? { text: last, note: REPEATED } : { text };
}

/** Returns a piece of streamed arguments as text; some servers send the whole arguments as an object. Undefined for no piece. */
export function argumentText(piece: JsonValue | undefined): string | undefined {
  if (typeof piece === "string") return piece;
  return isJsonObject(piece) ? JSON.stringify(piece) : undefined;
}

/** Whether arguments are empty: an empty object, or a text of white space. */
export function isEmptyInput(input: JsonValue | undefined): boolean {
  if (typeof input === "string") return input.trim() === "";
  return isJsonObject(input) && Object.keys(input).length === 0;
}

function repeats(pieces: readonly string[], whole: JsonObject): boolean {
  const last = pieces.at(-1) ?? "";
  const before = pieces.slice(0, -1).join("");
  if (last.startsWith(before)) return true;
  const earlier = readObject(before);
  if (earlier !== undefined) return JSON.stringify(earlier) === JSON.stringify(whole);
  return pieces.every((piece, index) => piece.startsWith(pieces[index - 1] ?? ""));
}

function isJson(text: string): boolean {
  return parse(text) !== undefined;
}

function readObject(text: string): JsonObject | undefined {
  const value = parse(text);
  return isJsonObject(value) ? value : undefined;
}

function parse(text: string): JsonValue | undefined {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
