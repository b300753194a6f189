/**
 * The format of MiniMax M3: a token before every tag, and arguments in nested tags named after them.
 *
 * @see https://github.com/vllm-project/vllm `vllm/tool_parsers/minimax_m3_tool_parser.py` (2026)
 */
import { type JsonValue, DEFAULT_MAX_DEPTH } from "../../core/base/json.ts";
import { jsonMembers } from "./literal.ts";
import { MarkerSet } from "./marker-set.ts";
import type { CallReader, ReadPlace, TextGrammar } from "./text-grammar.ts";
import { allowsType, beginsLikeObject, guessValue, itemSchema, memberSchema, readObject, typedValue } from "./typed-value.ts";

/** The token before each tag. */
export const TOKEN = "]<]minimax[>[";
const INVOKE = `${TOKEN}<invoke`;
const CLOSE = `${TOKEN}</invoke>`;
const CALL_ENDS = new MarkerSet([CLOSE, `${TOKEN}</tool_call>`, INVOKE]);
const TAG = /^<(?<slash>\/?)(?<name>[^<>]{1,512})>/u;

interface Element {
  readonly name: string;
  text: string;
  readonly children: Element[];
}

/** Reads a call. A call in which another begins is text, and the other one is read. */
const invoke: CallReader = function* (place) {
  const { input } = place;
  for (let first = true; ; first = false) {
    const head = yield* input.while(/[^<>\n]/u, 512);
    const name = /^\s+name\s?=\s?["']([^"']+)["']\s*$/u.exec(head)?.[1];
    if (name !== undefined && (yield* input.take(">")) && place.knows(name)) {
      const { text, marker } = yield* input.textUntil(CALL_ENDS);
      if (marker === INVOKE) {
        place.say(`${INVOKE}${head}>${text}`);
        place.settle();
        continue;
      }
      if (marker === CLOSE && beginsLikeObject(text) && !text.includes(TOKEN))
        return place.accept({ name, input: readObject(text.trim()) });
      const root = marker === CLOSE ? readElements(text) : undefined;
      if (root !== undefined) return place.accept({ name, input: argumentsOf(place, name, root) });
    }
    if (!first) place.say(INVOKE);
    return false;
  }
};

/** Returns the tags of a call as a tree; undefined if one does not end, or if there is text next to tags. */
function readElements(body: string): Element | undefined {
  const root: Element = { name: "", text: "", children: [] };
  const open = [root];
  const [before = "", ...pieces] = body.split(TOKEN);
  root.text = before;
  for (const piece of pieces) {
    const tag = TAG.exec(piece);
    const { slash, name = "" } = tag?.groups ?? {};
    if (tag === null || open.length > DEFAULT_MAX_DEPTH) return undefined;
    closeUnmarked(open, slash === "/" ? name : undefined);
    const top = open.at(-1);
    if (top === undefined) return undefined;
    if (slash === "/") {
      if (open.length === 1 || top.name !== name || !isPlain(top)) return undefined;
      open.pop();
      if (piece.slice(tag[0].length).trim() !== "") return undefined;
    } else {
      if (top.text.trim() !== "") return undefined;
      const element: Element = { name, text: piece.slice(tag[0].length), children: [] };
      top.children.push(element);
      open.push(element);
    }
  }
  closeUnmarked(open, undefined);
  return open.length === 1 && root.text.trim() === "" ? root : undefined;
}

/** Closes an element whose end tag has no token before it, as some models write it. */
function closeUnmarked(open: Element[], closing: string | undefined): void {
  const top = open.at(-1);
  if (top === undefined || open.length === 1 || top.children.length > 0 || top.name === closing) return;
  const end = `</${top.name}>`;
  const text = top.text.trimEnd();
  if (!text.endsWith(end)) return;
  top.text = text.slice(0, -end.length);
  open.pop();
}

function isPlain({ text, children }: Element): boolean {
  return children.length === 0 || text.trim() === "";
}

/** Returns the arguments; JSON text, for the runtime to refuse, if one occurs twice. */
function argumentsOf(place: ReadPlace, tool: string, root: Element): JsonValue {
  const schema = place.tool(tool)?.inputSchema as JsonValue | undefined; // the schema was read from JSON
  const writer = new ElementWriter(schema);
  const text = writer.members(root, schema);
  return writer.repeated ? text : readObject(text);
}

/** Writes elements as JSON text, with types according to the schema. */
class ElementWriter {
  readonly #root: JsonValue | undefined;
  repeated = false;

  constructor(root: JsonValue | undefined) {
    this.#root = root;
  }

  members({ children }: Element, schema: JsonValue | undefined): string {
    this.repeated ||= new Set(children.map(({ name }) => name)).size < children.length;
    return jsonMembers(children.map((child) => [child.name, this.#value(child, memberSchema(schema, this.#root, child.name))]));
  }

  #value(element: Element, schema: JsonValue | undefined): string {
    const { text, children } = element;
    if (children.length === 0) return this.#leaf(text, schema);
    const items = children.every(({ name }) => name === "item") && memberSchema(schema, this.#root, "item") === undefined;
    if (!items) return this.members(element, schema);
    return `[${children.map((child) => this.#value(child, itemSchema(schema, this.#root))).join(", ")}]`;
  }

  #leaf(text: string, schema: JsonValue | undefined): string {
    if (text.trim() === "" && schema !== undefined && !allowsType(schema, this.#root, "string")) {
      if (allowsType(schema, this.#root, "array")) return "[]";
      if (allowsType(schema, this.#root, "object")) return "{}";
    }
    return JSON.stringify(schema === undefined ? guessValue(text) : typedValue(text, schema, this.#root));
  }
}

export const MINIMAX_M3: TextGrammar = {
  calls: [{ mark: INVOKE, read: invoke }],
  before: [`${TOKEN}<tool_call>`],
  after: [`${TOKEN}</tool_call>`],
  unsaid: [TOKEN],
  thinking: [["<mm:think>", "</mm:think>"]],
};
