/** Calls written as Python: `[get_weather(city="Paris"), ping()]`. Only literals are read; nothing is evaluated. */
import type { JsonValue } from "../../core/json.ts";
import { readKeywords, readLiteral } from "./literal.ts";
import { MarkerSet } from "./marker-set.ts";
import type { CallReader, ReadCall, ReadPlace } from "./text-grammar.ts";
import type { Reading } from "./text-input.ts";
import { isJsonObject } from "../../core/json.ts";

const NAME = /[\p{L}\p{N}_.]/u;
const BETWEEN = /[\s,;]/u;
const MAX_NAME = 256;

/** Reads calls behind a mark, in brackets or not, each told of as soon as it is whole. */
export const pythonicCalls: CallReader = function* (place) {
  const { input } = place;
  yield* input.space();
  yield* input.take("[");
  let found = false;
  for (;;) {
    yield* input.while(BETWEEN);
    const call = yield* readCall(place);
    if (call === undefined) break;
    if (!place.accept(call)) return false;
    found = true;
  }
  if (found) yield* input.take("]");
  return found;
};

/** A list of calls in the open, its `[` being the mark. Made only when it is whole. */
export const openPythonicCalls: CallReader = function* (place) {
  const { input } = place;
  if (!(yield* beginsLikeCall(place))) return false;
  const calls: ReadCall[] = [];
  for (;;) {
    yield* input.while(BETWEEN);
    if (calls.length > 0 && (yield* input.take("]"))) break;
    const call = yield* readCall(place);
    if (call === undefined || !place.knows(call.name)) return false;
    calls.push(call);
  }
  return calls.map((call) => place.accept(call)).every(Boolean);
};

function* beginsLikeCall({ input }: ReadPlace): Reading<boolean> {
  const from = yield* input.spacesAt(0, MAX_NAME);
  let ahead = from;
  while (ahead < MAX_NAME && NAME.test(input.seen(ahead) ?? (yield* input.peek(ahead)))) ahead++;
  return ahead > from && (yield* input.peek(ahead)) === "(";
}

function* readCall({ input }: ReadPlace): Reading<ReadCall | undefined> {
  const name = yield* input.while(NAME, MAX_NAME);
  if (name === "" || (yield* input.peek()) !== "(") return undefined;
  const values = readKeywords((yield* input.nested()) ?? "");
  return values === undefined ? undefined : { name, input: values };
}

/** Llama 3's built-in tools: `brave_search.call(query="…")`; everything else behind `<|python_tag|>` is code, if there is a tool for it. */
export const pythonTagCalls: CallReader = function* (place) {
  const { input } = place;
  yield* input.space();
  const head = yield* input.while(NAME, MAX_NAME);
  if (head.endsWith(".call") && (yield* input.peek()) === "(") {
    const values = readKeywords((yield* input.nested()) ?? "");
    return values !== undefined && place.accept({ name: head.slice(0, -".call".length), input: values });
  }
  return !place.anyTool && (yield* readCode(place, head));
};

/** Code as it stands, to the end of the turn. */
export const pythonCode: CallReader = (place) => readCode(place, "");

function* readCode(place: ReadPlace, head: string): Reading<boolean> {
  const name = CODE_TOOLS.find((one) => place.tool(one) !== undefined) ?? (place.anyTool ? "python" : undefined);
  if (name === undefined) return false;
  const { text } = yield* place.input.textUntil(TURN_ENDS);
  const code = (head + text).trim();
  return code !== "" && place.accept({ name, input: { code } });
}

const CODE_TOOLS = ["python", "ipython", "code_interpreter"] as const;
const TURN_ENDS = new MarkerSet(["<|eom_id|>", "<|eot_id|>"]);

/** Gemma: `call:name{key:<escape>text<escape>,count:3}`. */
export function gemmaCall(marks: readonly string[]): CallReader {
  const quotes = new MarkerSet(marks);
  return function* (place) {
    const { input } = place;
    yield* input.space();
    if (!(yield* input.take("call:"))) return false;
    const name = (yield* input.while(/[^{\s<]/u, MAX_NAME)).trim();
    if (name === "" || (yield* input.peek()) !== "{") return false;
    const text = yield* input.nested("", { quotes });
    const value: JsonValue | undefined = text === undefined ? undefined : readLiteral(text, { marks, bare: true });
    return isJsonObject(value) && place.accept({ name, input: value });
  };
}
