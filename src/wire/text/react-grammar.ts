/** Reads ReAct: `Action:` and `Action Input:` lines. */
import type { JsonValue } from "../../core/base/json.ts";
import type { ModelTool } from "../../core/model.ts";
import { MarkerSet } from "./marker-set.ts";
import { TextArguments } from "./text-arguments.ts";
import type { CallReader, ReaderContext, TextGrammar } from "./text-grammar.ts";
import type { Reading, TextInput } from "./text-input.ts";
import { argumentNames, parseObjectOrText, unnamedArgument } from "./typed-value.ts";

const MAX_NAME = 256;
const MAX_SPACE = 64;
const NO_MARKS = new MarkerSet([]);

const readAction: CallReader = function* (context) {
  const { input } = context;
  yield* input.readWhile(/[ \t*]/u, MAX_SPACE);
  const name = (yield* input.readWhile(/[^\n]/u, MAX_NAME)).trim().replaceAll(/^[`"'[*]+|(?<![`"'\]*])[`"'\]*]+$/gu, "");
  if (name === "" || !context.acceptsName(name) || (yield* input.peek()) !== "\n") return false;
  yield* input.readWhile(/[\s*]/u, MAX_SPACE);
  if (!(yield* input.tryRead("Action Input:"))) return false;
  yield* input.readWhile(/[\s*]/u, MAX_SPACE);
  const fenced = yield* input.tryRead("```");
  if (fenced) yield* input.readWhile(/[a-z\s]/u, MAX_SPACE);
  if ((yield* input.peek()) !== "{") {
    const text = fenced ? "" : (yield* readPlainInput(input)).trim();
    if (text === "" && (yield* input.peek()) === "" && mayHaveInput(context.findTool(name))) return false; // only begun
    return !fenced && context.acceptCall({ name, input: plainInput(context, name, text) });
  }
  const text = yield* input.readBalancedObject();
  if (text === undefined) return false;
  if (!context.acceptCall({ name, input: parseObjectOrText(text) })) return false;
  if (fenced) yield* input.readWhile(/[\s`]/u, MAX_SPACE);
  return true;
};

/** Matches the beginning of a line of the format, also if it is numbered, indented or in Markdown. */
const NEXT_LINE = /^[ \t]{0,3}(?:#{1,6} |\*\*)?(?:Thought|Action|Action Input|Observation|Final Answer)(?: ?\d{1,4})?(?:\*\*)?:$/u;
const MAX_LINE_START = 32;

/** Reads text in place of an object: all its lines, up to the next line of the format. */
function* readPlainInput(input: TextInput): Reading<string> {
  if (yield* isNextLine(input, 0)) return "";
  let text = "";
  for (;;) {
    text += yield* input.readWhile(/[^\n]/u);
    if ((yield* input.peek()) === "" || (yield* isNextLine(input, 1))) return text;
    text += yield* input.readWhile(/\n/u, 1);
  }
}

/** Whether a line of the format begins at a position ahead; reads nothing. */
function* isNextLine(input: TextInput, from: number): Reading<boolean> {
  let start = "";
  while (start.length < MAX_LINE_START && !start.endsWith(":")) {
    const next = yield* input.peek(from + start.length);
    if (next === "" || next === "\n") return false;
    start += next;
  }
  return NEXT_LINE.test(start);
}

function mayHaveInput(tool: ModelTool | undefined): boolean {
  return tool === undefined || argumentNames(tool.inputSchema).all.length > 0;
}

/** Returns the arguments for plain text, which is one argument of the tool: as `input`, with a warning, if the tool does not say which. */
function plainInput(context: ReaderContext, name: string, given: string): JsonValue {
  const text = given.replace(/^"([^"]*)"$/u, "$1");
  if (text === "" || text === "None" || text === "N/A") return {};
  const values = new TextArguments(context, name, (plain) => plain);
  const { schema } = values;
  const argument = unnamedArgument(schema, () => false);
  const { all } = argumentNames(schema);
  if (argument === undefined && all.length > 0 && !all.includes("input"))
    context.warn(`The call of ${JSON.stringify(name)} has text, but no argument for it; the text is kept as "input".`);
  values.set(argument ?? "input", text);
  return values.toInput();
}

/** Reads the rest as text: observations in a model's message are invented, so nothing in them is a call. */
const readObservation: CallReader = function* (context, mark) {
  context.addText(mark);
  yield* context.input.readUntil(NO_MARKS, (text) => {
    context.input.setMark();
    context.addText(text);
  });
  return true;
};

export const REACT: TextGrammar = {
  calls: [
    { mark: "Action:", read: readAction, where: "line" },
    { mark: "**Action:", read: readAction, where: "line" },
    { mark: "Observation:", read: readObservation, where: "line" },
  ],
  unknownTools: "text",
};
