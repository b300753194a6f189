/**
 * The format of MiniMax M3: a token before every tag, and arguments in nested tags named after them.
 *
 * @see https://github.com/vllm-project/vllm `vllm/tool_parsers/minimax_m3_tool_parser.py` (2026)
 */
import { type JsonValue, DEFAULT_MAX_DEPTH } from "../../core/base/json.ts";
import { jsonMembers } from "./literal.ts";
import { MarkerSet } from "./marker-set.ts";
import type { CallReader, ReaderContext, TextGrammar } from "./text-grammar.ts";
import { allowsType, startsLikeObject, guessValue, itemSchema, memberSchema, parseObjectOrText, toTypedValue } from "./typed-value.ts";

/** The token before each tag. */
export const TAG_TOKEN = "]<]minimax[>[";
const INVOKE = `${TAG_TOKEN}<invoke`;
const CLOSE = `${TAG_TOKEN}</invoke>`;
const CALL_ENDS = new MarkerSet([CLOSE, `${TAG_TOKEN}</tool_call>`, INVOKE]);
const TAG = /^<(?<slash>\/?)(?<name>[^<>]{1,512})>/u;

interface Element {
  readonly name: string;
  text: string;
  readonly children: Element[];
}

/** Reads a call. A call in which another begins is text, and the other one is read. */
const readInvoke: CallReader = function* (context) {
  const { input } = context;
  for (let first = true; ; first = false) {
    const head = yield* input.readWhile(/[^<>\n]/u, 512);
    const name = /^\s+name\s?=\s?["']([^"']+)["']\s*$/u.exec(head)?.[1];
    if (name !== undefined && (yield* input.tryRead(">")) && context.acceptsName(name)) {
      const { text, marker } = yield* input.readTextUntil(CALL_ENDS);
      if (marker === INVOKE) {
        context.addText(`${INVOKE}${head}>${text}`);
        context.commit();
        continue;
      }
      if (marker === CLOSE && startsLikeObject(text) && !text.includes(TAG_TOKEN))
        return context.acceptCall({ name, input: parseObjectOrText(text.trim()) });
      const root = marker === CLOSE ? readElements(text) : undefined;
      if (root !== undefined) return context.acceptCall({ name, input: readArguments(context, name, root) });
    }
    if (!first) context.addText(INVOKE);
    return false;
  }
};

/** Returns the tags of a call as a tree; undefined if one does not end, or if there is text next to tags. */
function readElements(body: string): Element | undefined {
  const root: Element = { name: "", text: "", children: [] };
  const open = [root];
  const [before = "", ...pieces] = body.split(TAG_TOKEN);
  root.text = before;
  for (const piece of pieces) {
    const tag = TAG.exec(piece);
    const { slash, name = "" } = tag?.groups ?? {};
    if (tag === null || open.length > DEFAULT_MAX_DEPTH) return undefined;
    closeUnmarked(open, slash === "/" ? name : undefined);
    const top = open.at(-1);
    if (top === undefined) return undefined;
    if (slash === "/") {
      if (open.length === 1 || top.name !== name || !hasOnlyTextOrChildren(top)) return undefined;
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

function hasOnlyTextOrChildren({ text, children }: Element): boolean {
  return children.length === 0 || text.trim() === "";
}

/** Returns the arguments; JSON text, for the runtime to refuse, if one occurs twice. */
function readArguments(context: ReaderContext, tool: string, root: Element): JsonValue {
  const schema = context.findTool(tool)?.inputSchema as JsonValue | undefined; // the schema was read from JSON
  const writer = new ElementWriter(schema);
  const text = writer.writeMembers(root, schema);
  return writer.hasRepeatedName ? text : parseObjectOrText(text);
}

/** Writes elements as JSON text, with types according to the schema. */
class ElementWriter {
  readonly #root: JsonValue | undefined;
  hasRepeatedName = false;

  constructor(root: JsonValue | undefined) {
    this.#root = root;
  }

  writeMembers({ children }: Element, schema: JsonValue | undefined): string {
    this.hasRepeatedName ||= new Set(children.map(({ name }) => name)).size < children.length;
    return jsonMembers(children.map((child) => [child.name, this.#writeValue(child, memberSchema(schema, this.#root, child.name))]));
  }

  #writeValue(element: Element, schema: JsonValue | undefined): string {
    const { text, children } = element;
    if (children.length === 0) return this.#writeLeaf(text, schema);
    const items = children.every(({ name }) => name === "item") && memberSchema(schema, this.#root, "item") === undefined;
    if (!items) return this.writeMembers(element, schema);
    return `[${children.map((child) => this.#writeValue(child, itemSchema(schema, this.#root))).join(", ")}]`;
  }

  #writeLeaf(text: string, schema: JsonValue | undefined): string {
    if (text.trim() === "" && schema !== undefined && !allowsType(schema, this.#root, "string")) {
      if (allowsType(schema, this.#root, "array")) return "[]";
      if (allowsType(schema, this.#root, "object")) return "{}";
    }
    return JSON.stringify(schema === undefined ? guessValue(text) : toTypedValue(text, schema, this.#root));
  }
}

export const MINIMAX_M3: TextGrammar = {
  calls: [{ mark: INVOKE, read: readInvoke }],
  before: [`${TAG_TOKEN}<tool_call>`],
  after: [`${TAG_TOKEN}</tool_call>`],
  droppedMarks: [TAG_TOKEN],
  thinking: [["<mm:think>", "</mm:think>"]],
};
