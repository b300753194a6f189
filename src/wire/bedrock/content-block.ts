/** A content block of Bedrock's Converse API, while it is streamed. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { toInputObject } from "../conversation-steps.ts";
import { argumentText, joinArguments } from "../join-arguments.ts";
import { parseArguments, parseInput } from "../reply-builder.ts";
import { ID_RULE } from "./conversation.ts";

/** Assembles a block from its start and its deltas so that it equals the block of an unstreamed reply. */
export class ConverseBlock {
  stopped = false;
  readonly #start: JsonObject;
  #text: string | undefined;
  readonly #json: string[] = [];
  #reasoning: { text?: string; signature?: string } = {};
  readonly #redacted: string[] = [];
  readonly #citations: JsonValue[] = [];
  readonly #results: JsonValue[] = [];
  #image: JsonObject = {};

  constructor(start: JsonObject = {}) {
    this.#start = start;
  }

  /** The `toolUse` of a call, of Haft's tools or of the provider's. */
  get toolUse(): JsonObject | undefined {
    const { toolUse } = this.#start;
    return isJsonObject(toolUse) ? toolUse : undefined;
  }

  /** Whether the start of `other` is that of this block again: it has the same call, or neither has one and this block is not complete. */
  isStartedBy(other: ConverseBlock): boolean {
    const id = this.toolUse?.["toolUseId"];
    const otherId = other.toolUse?.["toolUseId"];
    return id === otherId && (id !== undefined || (!this.stopped && (this.toolUse === undefined) === (other.toolUse === undefined)));
  }

  addDelta({ text, toolUse, reasoningContent, citation, toolResult, image }: JsonObject): void {
    if (typeof text === "string") this.#text = (this.#text ?? "") + text;
    const json = isJsonObject(toolUse) ? argumentText(toolUse["input"]) : undefined;
    if (json !== undefined) this.#json.push(json);
    if (isJsonObject(reasoningContent)) this.#addReasoning(reasoningContent);
    if (citation !== undefined) this.#citations.push(citation);
    if (isJsonArray(toolResult)) for (const piece of toolResult) this.#addResult(piece);
    if (isJsonObject(image)) this.#image = { ...this.#image, ...image };
  }

  /** The streamed input, else that of the start, which some gateways send whole. */
  get #input(): JsonValue {
    const { text } = joinArguments(this.#json);
    return text === "" ? parseInput(this.toolUse?.["input"]) : parseArguments(text);
  }

  get completeBlock(): JsonObject {
    const { toolUse } = this;
    const { toolResult, image } = this.#start;
    if (toolUse !== undefined) return { toolUse: { ...toolUse, input: toInputObject(this.#input) } };
    if (isJsonObject(toolResult)) return { toolResult: { ...toolResult, content: this.#results } };
    if (isJsonObject(image)) return { image: { ...image, ...this.#image } };
    if (this.#redacted.length > 0) return { reasoningContent: { redactedContent: joinBase64(this.#redacted) } };
    if (Object.keys(this.#reasoning).length > 0) return { reasoningContent: { reasoningText: { text: "", ...this.#reasoning } } };
    const text = { text: this.#text ?? "" };
    return this.#citations.length === 0 ? text : { citationsContent: { content: [text], citations: this.#citations } };
  }

  #addReasoning({ text, signature, redactedContent }: JsonObject): void {
    if (typeof text === "string") this.#reasoning.text = (this.#reasoning.text ?? "") + text;
    if (typeof signature === "string") this.#reasoning.signature = (this.#reasoning.signature ?? "") + signature;
    if (typeof redactedContent === "string") this.#redacted.push(redactedContent);
  }

  /** Merges consecutive texts. */
  #addResult(piece: JsonValue): void {
    const last = this.#results.at(-1);
    const text = isJsonObject(piece) ? piece["text"] : undefined;
    if (typeof text === "string" && isJsonObject(last) && typeof last["text"] === "string")
      this.#results[this.#results.length - 1] = { text: last["text"] + text };
    else this.#results.push(piece);
  }
}

/** Joins base64 pieces, each of which has its own padding. */
function joinBase64(pieces: readonly string[]): string {
  const [only = ""] = pieces;
  return pieces.length <= 1 ? only : Buffer.concat(pieces.map((piece) => Buffer.from(piece, "base64"))).toString("base64");
}

/** Whether the whole blocks have more than Haft's types can express, which is text followed by calls. */
export function needsNative(blocks: readonly JsonValue[]): boolean {
  let called = false;
  return blocks.some((block) => {
    if (!isJsonObject(block)) return true;
    const { text, toolUse, type: _type, ...rest } = block;
    if (Object.keys(rest).length > 0) return true;
    if (toolUse === undefined) return text === undefined || called;
    called = true;
    return !isJsonObject(toolUse) || !isPlainCall(toolUse);
  });
}

function isPlainCall({ toolUseId, name: _name, input: _input, type = "tool_use", ...rest }: JsonObject): boolean {
  return type === "tool_use" && Object.keys(rest).length === 0 && typeof toolUseId === "string" && isPlainId(toolUseId);
}

function isPlainId(id: string): boolean {
  return id.length <= ID_RULE.maxLength && ID_RULE.allowed.test(id);
}
