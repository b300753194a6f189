/** Reads calls written as Python: `[get_weather(city="Paris"), ping()]`. Only literals are accepted; nothing is evaluated. */
import { readKeywords, readLiteral } from "./literal.ts";
import { jsonCalls } from "./json-calls.ts";
import { MarkerSet } from "./marker-set.ts";
import type { CallReader, ReadCall, ReadPlace } from "./text-grammar.ts";
import type { Reading } from "./text-input.ts";

const NAME = /[\p{L}\p{M}\p{N}_.:-]/u;
const BETWEEN = /[\s,;]/u;
const MAX_NAME = 256;

/** Reads calls after a mark, in brackets or not. Each is reported as soon as it is complete. */
export const pythonicCalls: CallReader = function* (place) {
  const { input } = place;
  yield* input.space();
  yield* input.take("[");
  yield* input.while(BETWEEN);
  let found = false;
  while (NAME.test(yield* input.peek())) {
    const call = yield* readCall(place);
    if (call === undefined || !place.accept(call)) return false;
    found = true;
    yield* input.while(BETWEEN);
  }
  if (found) yield* input.take("]");
  return found;
};

/** Reads an unmarked list of calls, whose `[` is the mark. They are reported only when the list is complete. */
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

const json = jsonCalls();

/** Reads what follows Llama's token: JSON, or Python calls such as `brave_search.call(query="…")`; else code, if there is a tool for it. */
export const pythonTag: CallReader = function* (place, mark) {
  const { input } = place;
  yield* input.space();
  const inner = 1 + (yield* input.spacesAt(1, MAX_NAME));
  const first = yield* input.peek();
  const isJson = first === "{" || (first === "[" && (yield* input.peek(inner)) === "{");
  return (yield* isJson ? json(place, mark) : taggedCalls(place)) || (yield* readCode(place));
};

/** Reads calls of known tools. If there is a tool for code, calls of unknown names are code. */
function* taggedCalls(place: ReadPlace): Reading<boolean> {
  const { input } = place;
  yield* input.take("[");
  yield* input.while(BETWEEN);
  let found = false;
  while (NAME.test(yield* input.peek())) {
    const call = yield* readCall(place);
    if (call === undefined || !acceptTagged(place, call)) {
      if (!found) return false;
      place.say(input.kept());
      place.settle();
      return true;
    }
    found = true;
    yield* input.while(BETWEEN);
  }
  if (found) yield* input.take("]");
  return found;
}

function acceptTagged(place: ReadPlace, call: ReadCall): boolean {
  const name = call.name.replace(/\.call$/u, "");
  if (place.tool(name) === undefined && name === call.name && codeTool(place) !== undefined && !place.anyTool) return false;
  return place.accept({ ...call, name });
}

/** Passes code unchanged, up to the end of the turn, to the tool for code. */
function* readCode(place: ReadPlace): Reading<boolean> {
  const { input } = place;
  const name = codeTool(place);
  if (name === undefined) return false;
  const begun = input.kept();
  const { text } = yield* input.textUntil(TURN_ENDS);
  const code = (begun + text).trim();
  return code !== "" && place.accept({ name, input: { code } });
}

function codeTool(place: ReadPlace): string | undefined {
  return CODE_TOOLS.find((one) => place.tool(one) !== undefined) ?? (place.anyTool ? "python" : undefined);
}

const CODE_TOOLS = ["python", "ipython", "code_interpreter"] as const;
const TURN_ENDS = new MarkerSet(["<|eom_id|>", "<|eot_id|>"]);

/** Reads Gemma's calls: `call:name{key:<escape>text<escape>,count:3}`. */
export function gemmaCall(marks: readonly string[]): CallReader {
  const quotes = new MarkerSet(marks);
  return function* (place) {
    const { input } = place;
    yield* input.space();
    if (!(yield* input.take("call:"))) return false;
    const name = (yield* input.while(/[^{\s<]/u, MAX_NAME)).trim();
    if (name === "" || (yield* input.peek()) !== "{") return false;
    const text = yield* input.object("", { quotes, bareKeys: true });
    if (text === undefined) return false;
    const value = readLiteral(text, { marks, bare: true });
    return value !== undefined && place.accept({ name, input: value });
  };
}
