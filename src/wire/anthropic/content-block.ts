/** A content block of Anthropic's Messages API, while it is streamed. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { toInputObject } from "../conversation-steps.ts";
import { argumentText, joinArguments } from "../join-arguments.ts";
import { parseInput } from "../reply-builder.ts";

/** The field of a block to which a delta's text is appended, by the delta's type. */
const TEXT_FIELD_BY_DELTA: ReadonlyMap<JsonValue | undefined, string> = new Map([
  ["text_delta", "text"],
  ["thinking_delta", "thinking"],
  ["compaction_delta", "content"],
]);
/** The start of the block that a delta belongs to, if a gateway left out the start event. */
const IMPLIED_BLOCK_STARTS: ReadonlyMap<JsonValue | undefined, JsonObject> = new Map([
  ["text_delta", { type: "text", text: "" }],
  ["thinking_delta", { type: "thinking", thinking: "", signature: "" }],
]);

/** Assembles a block so that it equals the block of an unstreamed reply. Unknown deltas are ignored. */
export class ContentBlock {
  readonly type: string;
  stopped = false;
  readonly #fields: Record<string, JsonValue>;
  readonly #citations: JsonValue[];
  readonly #json: string[] = [];

  constructor(start: JsonObject) {
    const { type, citations } = start;
    this.#citations = isJsonArray(citations) ? [...citations] : [];
    this.type = typeof type === "string" ? type : "";
    this.#fields = { ...start };
  }

  /** Returns a new block for a delta whose start event is missing; undefined if the delta's type does not tell the block's. */
  static fromDelta(delta: JsonObject): ContentBlock | undefined {
    const start = IMPLIED_BLOCK_STARTS.get(delta["type"]);
    return start === undefined ? undefined : new ContentBlock(start);
  }

  addDelta(delta: JsonObject): void {
    const { type, partial_json: piece, signature, citation, encrypted_content: encrypted } = delta;
    const growing = TEXT_FIELD_BY_DELTA.get(type);
    if (growing !== undefined) this.#append(growing, delta[growing]);
    const json = type === "input_json_delta" ? argumentText(piece) : undefined;
    if (json !== undefined) this.#json.push(json);
    if (type === "signature_delta" && typeof signature === "string") this.#fields["signature"] = signature;
    if (type === "compaction_delta" && typeof encrypted === "string") this.#fields["encrypted_content"] = encrypted;
    if (type === "citations_delta" && citation !== undefined) this.#citations.push(citation);
  }

  /** Whether the block is a call, of Haft's tools or of the provider's. */
  get isCall(): boolean {
    return this.type.endsWith("tool_use");
  }

  /** The call's input; if it was streamed, the text of its JSON. */
  get input(): JsonValue {
    const { text } = joinArguments(this.#json);
    return text === "" ? (this.#fields["input"] ?? {}) : text;
  }

  /** Whether the input of the tool is the input that was streamed. */
  get isStreamed(): boolean {
    return this.textField("toolset_name") === "" && this.#json.some((piece) => piece !== "");
  }

  /** The name of the called tool; for a member of a toolset, the toolset's name. */
  get toolName(): string {
    return this.textField("toolset_name") || this.textField("name");
  }

  /** For a call of a toolset's member, the fields that its answer must repeat. */
  get answerFields(): JsonObject | undefined {
    const toolset_name = this.textField("toolset_name");
    return toolset_name === "" ? undefined : { toolset_name };
  }

  /** The input of the tool. For a member of a toolset it includes the member's name as `action`, even if the text is invalid JSON to be repaired. */
  get toolInput(): JsonValue {
    if (this.textField("toolset_name") === "") return this.input;
    const input = parseInput(this.input);
    const action = this.textField("name");
    if (isJsonObject(input)) return { ...input, action };
    return typeof input === "string" ? input.replace(/^\s*\{/u, () => `{"action":${JSON.stringify(action)},`) : input;
  }

  get completeBlock(): JsonObject {
    if (this.#citations.length > 0) return { ...this.#fields, citations: this.#citations };
    if (!this.isCall) return this.#fields;
    return { ...this.#fields, input: toInputObject(parseInput(this.input)) };
  }

  get hasCitations(): boolean {
    return this.#citations.length > 0;
  }

  /** Whether the call has no fields besides id, name and input, and was made by the model directly. */
  get isPlainCall(): boolean {
    const { type: _type, id: _id, name: _name, input: _input, caller, ...rest } = this.#fields;
    return Object.keys(rest).length === 0 && (!isJsonObject(caller) || caller["type"] === "direct");
  }

  textField(field: string): string {
    const value = this.#fields[field];
    return typeof value === "string" ? value : "";
  }

  #append(field: string, text: JsonValue | undefined): void {
    if (typeof text === "string") this.#fields[field] = this.textField(field) + text;
  }
}

/** Whether the blocks have more than Haft's types can express, which is text followed by calls. */
export function needsNative(blocks: readonly ContentBlock[]): boolean {
  let called = false;
  return blocks.some((block) => {
    if (block.type === "text") return called || block.hasCitations;
    if (block.type !== "tool_use") return true;
    called = true;
    return !block.isPlainCall;
  });
}
