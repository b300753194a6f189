/** Reads calls written as Python: `[get_weather(city="Paris"), ping()]`. Only literals are accepted; nothing is evaluated. */
import { readKeywordArguments, readLiteral } from "./literal.ts";
import { jsonCalls } from "./json-calls.ts";
import { MarkerSet } from "./marker-set.ts";
import type { CallReader, ReadCall, ReaderContext } from "./text-grammar.ts";
import type { Reading } from "./text-input.ts";

const NAME = /[\p{L}\p{M}\p{N}_.:-]/u;
const BETWEEN = /[\s,;]/u;
const MAX_NAME = 256;

/** Reads calls after a mark, in brackets or not. Each is reported as soon as it is complete. */
export const pythonicCalls: CallReader = function* (context) {
  const { input } = context;
  yield* input.skipSpace();
  yield* input.tryRead("[");
  yield* input.readWhile(BETWEEN);
  let found = false;
  while (NAME.test(yield* input.peek())) {
    const call = yield* readCall(context);
    if (call === undefined || !context.acceptCall(call)) return false;
    found = true;
    yield* input.readWhile(BETWEEN);
  }
  if (found) yield* input.tryRead("]");
  return found;
};

/** Reads an unmarked list of calls, whose `[` is the mark. They are reported only when the list is complete. */
export const unmarkedPythonicCalls: CallReader = function* (context) {
  const { input } = context;
  if (!(yield* startsLikeCall(context))) return false;
  const calls: ReadCall[] = [];
  for (;;) {
    yield* input.readWhile(BETWEEN);
    if (calls.length > 0 && (yield* input.tryRead("]"))) break;
    const call = yield* readCall(context);
    if (call === undefined || !context.acceptsName(call.name)) return false;
    calls.push(call);
  }
  return calls.map((call) => context.acceptCall(call)).every(Boolean);
};

function* startsLikeCall({ input }: ReaderContext): Reading<boolean> {
  const from = yield* input.countSpaces(0, MAX_NAME);
  let ahead = from;
  while (ahead < MAX_NAME && NAME.test(input.peekArrived(ahead) ?? (yield* input.peek(ahead)))) ahead++;
  return ahead > from && (yield* input.peek(ahead)) === "(";
}

function* readCall({ input }: ReaderContext): Reading<ReadCall | undefined> {
  const name = yield* input.readWhile(NAME, MAX_NAME);
  if (name === "" || (yield* input.peek()) !== "(") return undefined;
  const values = readKeywordArguments((yield* input.readBalanced()) ?? "");
  return values === undefined ? undefined : { name, input: values };
}

const readJsonCalls = jsonCalls();

/** Reads what follows Llama's token: JSON, or Python calls such as `brave_search.call(query="…")`; else code, if there is a tool for it. */
export const pythonTag: CallReader = function* (context, mark) {
  const { input } = context;
  yield* input.skipSpace();
  const inner = 1 + (yield* input.countSpaces(1, MAX_NAME));
  const first = yield* input.peek();
  const isJson = first === "{" || (first === "[" && (yield* input.peek(inner)) === "{");
  return (yield* isJson ? readJsonCalls(context, mark) : readTaggedCalls(context)) || (yield* readCode(context));
};

/** Reads calls of known tools. If there is a tool for code, calls of unknown names are code. */
function* readTaggedCalls(context: ReaderContext): Reading<boolean> {
  const { input } = context;
  yield* input.tryRead("[");
  yield* input.readWhile(BETWEEN);
  let found = false;
  while (NAME.test(yield* input.peek())) {
    const call = yield* readCall(context);
    if (call === undefined || !acceptTagged(context, call)) {
      if (!found) return false;
      context.addText(input.textSinceMark());
      context.commit();
      return true;
    }
    found = true;
    yield* input.readWhile(BETWEEN);
  }
  if (found) yield* input.tryRead("]");
  return found;
}

function acceptTagged(context: ReaderContext, call: ReadCall): boolean {
  const name = call.name.replace(/\.call$/u, "");
  if (context.findTool(name) === undefined && name === call.name && codeTool(context) !== undefined && !context.acceptsAnyTool)
    return false;
  return context.acceptCall({ ...call, name });
}

/** Passes code unchanged, up to the end of the turn, to the tool for code. */
function* readCode(context: ReaderContext): Reading<boolean> {
  const { input } = context;
  const name = codeTool(context);
  if (name === undefined) return false;
  const alreadyRead = input.textSinceMark();
  const { text } = yield* input.readTextUntil(TURN_ENDS);
  const code = (alreadyRead + text).trim();
  return code !== "" && context.acceptCall({ name, input: { code } });
}

function codeTool(context: ReaderContext): string | undefined {
  return CODE_TOOLS.find((one) => context.findTool(one) !== undefined) ?? (context.acceptsAnyTool ? "python" : undefined);
}

const CODE_TOOLS = ["python", "ipython", "code_interpreter"] as const;
const TURN_ENDS = new MarkerSet(["<|eom_id|>", "<|eot_id|>"]);

/** Reads Gemma's calls: `call:name{key:<escape>text<escape>,count:3}`. */
export function gemmaCall(marks: readonly string[]): CallReader {
  const quotes = new MarkerSet(marks);
  return function* (context) {
    const { input } = context;
    yield* input.skipSpace();
    if (!(yield* input.tryRead("call:"))) return false;
    const name = (yield* input.readWhile(/[^{\s<]/u, MAX_NAME)).trim();
    if (name === "" || (yield* input.peek()) !== "{") return false;
    const text = yield* input.readBalancedObject("", { quotes, bareKeys: true });
    if (text === undefined) return false;
    const value = readLiteral(text, { marks, bare: true });
    return value !== undefined && context.acceptCall({ name, input: value });
  };
}
