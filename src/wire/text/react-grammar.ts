/** Reads ReAct: `Action:` and `Action Input:` lines. */
import type { JsonValue } from "../../core/base/json.ts";
import type { ModelTool } from "../../core/model.ts";
import { MarkerSet } from "./marker-set.ts";
import { TextArguments } from "./text-arguments.ts";
import type { CallReader, ReadPlace, TextGrammar } from "./text-grammar.ts";
import { argumentNames, readObject } from "./typed-value.ts";

const MAX_NAME = 256;
const MAX_SPACE = 64;
const NOTHING = new MarkerSet([]);

const action: CallReader = function* (place) {
  const { input } = place;
  yield* input.while(/[ \t*]/u, MAX_SPACE);
  const name = (yield* input.while(/[^\n]/u, MAX_NAME)).trim().replaceAll(/^[`"'[*]+|(?<![`"'\]*])[`"'\]*]+$/gu, "");
  if (name === "" || !place.knows(name) || (yield* input.peek()) !== "\n") return false;
  yield* input.while(/[\s*]/u, MAX_SPACE);
  if (!(yield* input.take("Action Input:"))) return false;
  const space = yield* input.while(/[\s*]/u, MAX_SPACE);
  const fenced = yield* input.take("```");
  if (fenced) yield* input.while(/[a-z\s]/u, MAX_SPACE);
  if ((yield* input.peek()) !== "{") {
    const line = space.includes("\n") || fenced ? "" : (yield* input.while(/[^\n]/u)).trim();
    if (line === "" && (yield* input.peek()) === "" && mayHaveInput(place.tool(name))) return false; // only begun
    return !fenced && place.accept({ name, input: lineInput(place, name, line) });
  }
  const text = yield* input.object();
  if (text === undefined) return false;
  if (!place.accept({ name, input: readObject(text) })) return false;
  if (fenced) yield* input.while(/[\s`]/u, MAX_SPACE);
  return true;
};

function mayHaveInput(tool: ModelTool | undefined): boolean {
  return tool === undefined || argumentNames(tool.inputSchema).all.length > 0;
}

/** Returns the arguments for a line of text, which is the tool's only argument. */
function lineInput(place: ReadPlace, name: string, line: string): JsonValue {
  const text = line.replace(/^"([^"]*)"$/u, "$1");
  if (text === "" || text === "None" || text === "N/A") return {};
  const values = new TextArguments(place, name, (plain) => plain);
  const { all, required } = argumentNames(place.tool(name)?.inputSchema);
  values.set((required.length === 1 ? required[0] : undefined) ?? (all.length === 1 ? all[0] : undefined) ?? "input", text);
  return values.all();
}

/** Reads the rest as text: observations in a model's message are invented, so nothing in them is a call. */
const observation: CallReader = function* (place, mark) {
  place.say(mark);
  yield* place.input.until(NOTHING, (text) => {
    place.input.mark();
    place.say(text);
  });
  return true;
};

export const REACT: TextGrammar = {
  calls: [
    { mark: "Action:", read: action, where: "line" },
    { mark: "**Action:", read: action, where: "line" },
    { mark: "Observation:", read: observation, where: "line" },
  ],
  unknownTools: "text",
};
