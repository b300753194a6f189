/** Calls whose arguments are pairs of tags, one for the name and one for the value: `<arg_key>key</arg_key><arg_value>value</arg_value>`. */
import { MarkerSet } from "./marker-set.ts";
import { type RestMarks, readRestOfValue } from "./rest-of-value.ts";
import { TextArguments } from "./text-arguments.ts";
import type { CallReader } from "./text-grammar.ts";
import type { Reading, TextInput } from "./text-input.ts";
import { argumentNames } from "./typed-value.ts";

const MAX_NAME = 512;
const NAME_OF_PAIRS = /[\p{L}\p{M}\p{N}_.:/\-\\]/u;
export const PAIR_MARKS = new MarkerSet(["<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "</tool_call>", "<tool_call>"]);

/** Whether an argument of this name is read as it is, without a tool that has it. */
export function isPairName(name: string): boolean {
  return name === name.trim();
}

const REST_OF_PAIR: RestMarks = {
  end: "</arg_value>",
  stops: new MarkerSet(["</arg_value>", "<arg_key>", "<arg_value>"]),
  callEnds: ["<arg_key>", "</tool_call>"],
  next: ["<arg_key>", "</tool_call>"],
};

/** GLM: `name<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>`, whichever tags were forgotten. */
export const keyValueCall: CallReader = function* (context) {
  const { input } = context;
  yield* input.skipSpace();
  const name = (yield* input.readWhile(NAME_OF_PAIRS, MAX_NAME)).replace(/(?<!\\n)(?:\\n)+$/u, "");
  if (name === "" || !context.acceptsName(name)) return false;
  yield* input.skipSpace();
  if (yield* input.tryRead("<tool_sep>")) yield* input.skipSpace();
  if (!/[<\\]/u.test(yield* input.peek()) || (yield* input.startsWith("<tool_call>"))) return false;
  const values = new TextArguments(context, name);
  return (yield* readPairs(input, values, argumentNames(values.schema).all)) && context.acceptCall({ name, input: values.toInput() });
};

/** Returns false if the call does not end. */
function* readPairs(input: TextInput, values: TextArguments, names: readonly string[]): Reading<boolean> {
  let key: string | undefined;
  let opened = false;
  for (;;) {
    const { text, marker } = yield* input.readTextUntil(PAIR_MARKS);
    const mayEnd = marker === "</arg_value>" || marker === "</tool_call>" || marker === "<tool_call>";
    const more = opened && mayEnd && key !== undefined ? yield* readRestOfValue(input, REST_OF_PAIR, marker) : undefined;
    if (key !== undefined && more !== undefined) {
      values.set(key, `${text}${marker}${more}`);
      key = undefined;
      continue;
    }
    if (marker === "<tool_call>") input.unread(marker);
    if (marker === undefined || marker === "<tool_call>") return false;
    if (marker === "</arg_key>") {
      key = names.includes(text) ? text : text.trim();
      opened = false;
    } else if (marker === "<arg_value>") opened = true;
    else if (key !== undefined) {
      values.set(key, opened ? text : text.trim());
      values.isCutShort = marker === "</tool_call>";
      key = undefined;
    } else if (text.replaceAll("\\n", "").trim() !== "") return false;
    if (marker === "</tool_call>") return true;
  }
}
