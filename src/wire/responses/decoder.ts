/** Reads a reply of OpenAI's Responses, whole or streamed: the same code reads each item. */
import { ToolError } from "../../core/error.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { FinishReason, ModelEvent, ModelReply } from "../../core/model.ts";
import { ReplyBuilder } from "../reply-builder.ts";
import type { DecodeOptions, StreamDecoder } from "../wire-format.ts";
import { OPENAI_RESPONSES } from "./input-items.ts";
import {
  answerFields,
  callKind,
  isUnknownItem,
  itemId,
  itemInput,
  itemName,
  itemRole,
  itemType,
  generatedImage,
  needsNative,
  providerCallOf,
} from "./items.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";
import { matchItems } from "./match-items.ts";
import { asIndex, asString } from "../read-field.ts";
import { checkStreamPiece } from "../framing/wire-json.ts";
import { responseError } from "./response-error.ts";
import { readUsage } from "./usage.ts";
import { TextAssembler } from "./text-assembler.ts";

const MAX_ITEMS = 65_536;

/** One item of the output. `key` is its position among the items received. */
interface Slot {
  readonly key: number;
  /** The item's own id, once it is known. */
  id: string | undefined;
  /** The complete item, from `output_item.done` or a whole reply; no more pieces are expected for it. */
  item: JsonObject | undefined;
  /** The item as it was when it began, if that was announced. */
  begun: JsonObject | undefined;
  /** The type of an item of which only text was received. */
  words: "message" | "reasoning" | undefined;
  /** Whether the item is in `#providerSlots`, the provider-executed calls. */
  listed: boolean;
}

export class ResponsesDecoder implements StreamDecoder {
  readonly #options: DecodeOptions;
  readonly #builder: ReplyBuilder;
  #slots: Slot[] = [];
  #slotByPosition = new Map<string | number, Slot>();
  #providerSlots: Slot[] = [];
  /** Number of provider-executed calls that were reported. */
  #reportedProviderCalls = 0;
  #text: TextAssembler;
  #responseId: string | undefined;
  #isRefused = false;
  /** Whether an item has the status `incomplete`. */
  #isCutOff = false;
  #isEnded = false;

  constructor(options: DecodeOptions = {}) {
    this.#options = options;
    this.#builder = new ReplyBuilder(options);
    this.#text = new TextAssembler(this.#builder);
  }

  push(piece: JsonValue): readonly ModelEvent[] {
    if (isJsonObject(piece) && !this.#isEnded) this.#readEvent(piece);
    else if (!this.#isEnded) checkStreamPiece(piece);
    return this.#builder.takeEvents();
  }

  get isOver(): boolean {
    return this.#isEnded;
  }

  end(): readonly ModelEvent[] {
    this.#isEnded = true;
    this.#builder.endReply();
    return this.#builder.takeEvents();
  }

  /** @throws ToolError */
  readWhole(response: JsonObject): ModelReply {
    this.#endResponse(response);
    return this.#builder.endReply();
  }

  #readEvent(event: JsonObject): void {
    const type = asString(event["type"]) ?? "";
    if (type === "error" || type === "response.failed" || type === "response.error") throw responseError(event);
    const { response, item } = event;
    if (isJsonObject(response)) this.#readResponseEvent(type, response);
    else if (type === "response.output_item.added" && isJsonObject(item)) this.#addItem(this.#newSlot(event, item), item);
    else if (type === "response.output_item.done" && isJsonObject(item)) this.#finishItem(this.#slotOf(event, item), item);
    else this.#readDelta(type, event);
  }

  #readResponseEvent(type: string, response: JsonObject): void {
    if (type === "response.created") this.#startResponse(asString(response["id"]));
    else if (type === "response.completed" || type === "response.incomplete" || type === "response.cancelled" || type === "response.done") {
      this.#endResponse(response);
      this.#isEnded = true;
    }
  }

  /** A second `response.created` before the end begins another message, which replaces the first. */
  #startResponse(id: string | undefined): void {
    if (this.#slots.length > 0 && id !== this.#responseId) {
      this.#builder.voidReply("The provider restarted its message.");
      this.#slots = [];
      this.#slotByPosition = new Map();
      this.#providerSlots = [];
      this.#reportedProviderCalls = 0;
      this.#text = new TextAssembler(this.#builder);
      this.#isRefused = false;
      this.#isCutOff = false;
    }
    this.#responseId = id;
  }

  #readDelta(type: string, event: JsonObject): void {
    const text = asString(event["delta"]);
    switch (type) {
      case "response.output_text.delta":
      case "response.refusal.delta":
        if (type === "response.refusal.delta") this.#isRefused = true;
        return this.#text.append("text", this.#partPosition(event, "content_index", "message"), text ?? "");
      case "response.reasoning_summary_text.delta":
        return this.#text.append("summary", this.#partPosition(event, "summary_index", "reasoning"), text ?? "");
      case "response.reasoning_text.delta":
        return this.#text.append("thought", this.#partPosition(event, "content_index", "reasoning"), text ?? "");
      case "response.function_call_arguments.delta":
      case "response.custom_tool_call_input.delta":
        return this.#builder.addArgumentText(this.#openCall(type, event).key, text ?? "");
      case "response.function_call_arguments.done":
        return this.#finishInput(type, event, event["arguments"]);
      case "response.custom_tool_call_input.done":
        return this.#finishInput(type, event, event["input"]);
      default:
    }
  }

  #partPosition(event: JsonObject, part: string, words: "message" | "reasoning"): readonly [number, number] {
    const slot = this.#slotOf(event);
    slot.words ??= words;
    return [slot.key, asIndex(event[part]) ?? 0];
  }

  /** Returns the slot of a piece of a call; opens the call if no `output_item.added` announced it. */
  #openCall(type: string, event: JsonObject): Slot {
    const slot = this.#slotOf(event);
    if (slot.item === undefined && !this.#builder.hasCall(slot.key))
      this.#builder.openCall(slot.key, { kind: type.startsWith("response.custom_") ? "custom" : "function" });
    return slot;
  }

  /** Sets the complete arguments, and seals the call if its item has given name and id; not a custom call, as only its item says if it was cut. */
  #finishInput(type: string, event: JsonObject, input: JsonValue | undefined): void {
    const { key, id } = this.#openCall(type, event);
    if (input !== undefined) this.#builder.setInput(key, input);
    if (id !== undefined && !type.startsWith("response.custom_")) this.#builder.sealCall(key);
  }

  #addItem(slot: Slot, item: JsonObject): void {
    slot.begun ??= item;
    const callId = asString(item["call_id"]);
    if (callId !== undefined) getOrAdd(this.#slotByPosition, callId, () => slot); // some servers name it in place of the item's id
    const type = itemType(item);
    const role = itemRole(item, this.#options.toolNames);
    if (role === "provider") this.#listProviderCall(slot);
    if (role !== "call" || (type !== "function_call" && type !== "custom_tool_call")) return;
    this.#openCallFromItem(slot, item);
    const named = itemName(item, this.#options.toolNames) !== "" && itemId(item) !== undefined;
    slot.id = named ? itemId(item) : undefined;
  }

  #openCallFromItem(slot: Slot, item: JsonObject): void {
    this.#builder.openCall(slot.key, {
      id: itemId(item),
      name: itemName(item, this.#options.toolNames),
      kind: callKind(item),
      native: answerFields(item),
    });
  }

  /** Reads the complete item; in a whole reply, the only event of the item. */
  #finishItem(slot: Slot, item: JsonObject): void {
    if (slot.item !== undefined) return;
    slot.item = item;
    if (item["status"] === "incomplete") this.#isCutOff = true;
    const role = itemRole(item, this.#options.toolNames);
    if (role === "call") this.#finishCall(slot, item);
    else if (role === "words") this.#finishText(slot, item);
    else if (role === "provider") {
      this.#listProviderCall(slot);
      this.#reportProviderCalls();
    }
    if (isUnknownItem(item))
      this.#builder.addWarning(`The message has an item of the type ${JSON.stringify(itemType(item))}; it is not known and is ignored.`);
    const image = generatedImage(item);
    if (image !== undefined) this.#builder.addMedia({ type: "image", ...image });
  }

  #listProviderCall(slot: Slot): void {
    if (!slot.listed) this.#providerSlots.push(slot);
    slot.listed = true;
  }

  /** Reports provider-executed calls in the order in which they began, whichever is done first. */
  #reportProviderCalls(all = false): void {
    for (; this.#reportedProviderCalls < this.#providerSlots.length; this.#reportedProviderCalls++) {
      const item = this.#providerSlots[this.#reportedProviderCalls]?.item;
      if (item !== undefined) this.#builder.addProviderCall(providerCallOf(item));
      else if (!all) return;
    }
  }

  #finishCall(slot: Slot, item: JsonObject): void {
    this.#openCallFromItem(slot, item);
    const input = itemInput(item);
    if (input !== undefined && input !== null) this.#builder.setInput(slot.key, input);
    if (!this.#isCutOff) this.#builder.sealCall(slot.key);
  }

  #finishText({ key }: Slot, { summary, content }: JsonObject): void {
    for (const [index, part] of partsOf(summary)) this.#text.appendRest("summary", [key, index], asString(part["text"]) ?? "");
    for (const [index, part] of partsOf(content)) {
      const type = itemType(part);
      if (type === "refusal") this.#isRefused = true;
      const kind = type === "reasoning_text" ? "thought" : type === "summary_text" ? "summary" : "text";
      this.#text.appendRest(kind, [key, index], asString(part["text"]) ?? asString(part["refusal"]) ?? "");
    }
  }

  /** Reads the whole response: items that were missed, the finish reason, and the usage. */
  #endResponse(response: JsonObject): void {
    if (isJsonObject(response["error"]) || response["status"] === "failed") throw responseError(response);
    this.#readMissedItems(response["output"]);
    this.#reportProviderCalls(true);
    this.#builder.setMetadata({ id: asString(response["id"]), model: asString(response["model"]) });
    this.#builder.addUsage(readUsage(response["usage"]));
    const { reason, detail } = this.#finishOf(response);
    this.#builder.setFinish(reason, detail);
    const blocks = this.#slots.flatMap(({ item }) => (item === undefined ? [] : [withArgumentText(item)]));
    if (blocks.some(needsNative)) this.#builder.setNative({ format: OPENAI_RESPONSES, blocks });
  }

  #readMissedItems(output: JsonValue | undefined): void {
    if (!isJsonArray(output)) return;
    const streamed = matchItems(output.filter(isJsonObject), this.#slots);
    const taken = new Set(streamed.values());
    for (const [index, item] of output.entries()) {
      if (!isJsonObject(item)) continue;
      const slot = streamed.get(item) ?? this.#slotAt(index, item, taken);
      taken.add(slot);
      if (slot.item === undefined && slot.begun === undefined) this.#addItem(slot, item);
      this.#finishItem(slot, item);
    }
  }

  /** Returns the slot of an item that no streamed item matches: the one of its index, unless another item of the output has that one. */
  #slotAt(index: number, item: JsonObject, taken: ReadonlySet<Slot>): Slot {
    const slot = this.#slotOf({ output_index: index }, item);
    return taken.has(slot) ? this.#addSlot(undefined) : slot;
  }

  #finishOf({ status, incomplete_details: details }: JsonObject): { readonly reason: FinishReason; readonly detail?: string } {
    const why = isJsonObject(details) ? asString(details["reason"]) : undefined;
    const word = why ?? asString(status);
    const detail = word === undefined ? {} : { detail: word };
    if (status === "incomplete" || why !== undefined) return { reason: INCOMPLETE.get(why ?? "") ?? "other", ...detail };
    if (this.#isCutOff) return { reason: "length", ...detail };
    if (this.#isRefused) return { reason: "refusal", ...detail };
    if (status === "cancelled") return { reason: "error", ...detail };
    return { reason: status === undefined || status === "completed" ? "stop" : "other", ...detail };
  }

  /** Returns the slot that an event is about: by its index, else by its id, else the last one. */
  #slotOf(event: JsonObject, item?: JsonObject): Slot {
    const place = positionOf(event, item);
    const known = place === undefined ? this.#slots.at(-1) : this.#slotByPosition.get(place);
    return known ?? this.#addSlot(place);
  }

  /** Returns the slot for a new item. If a finished item has the same index, it is kept, and the new one gets a slot of its own. */
  #newSlot(event: JsonObject, item: JsonObject): Slot {
    const place = positionOf(event, item);
    const known = place === undefined ? undefined : this.#slotByPosition.get(place);
    return known === undefined || known.item !== undefined ? this.#addSlot(place) : known;
  }

  #addSlot(place: string | number | undefined): Slot {
    if (this.#slots.length >= MAX_ITEMS) throw new ToolError("too_large", `A message of the model has more than ${MAX_ITEMS} items.`);
    const slot: Slot = { key: this.#slots.length, id: undefined, item: undefined, begun: undefined, words: undefined, listed: false };
    this.#slots.push(slot);
    if (place !== undefined) this.#slotByPosition.set(place, slot);
    return slot;
  }
}

const INCOMPLETE: ReadonlyMap<string, FinishReason> = new Map([
  ["max_output_tokens", "length"],
  ["max_tokens", "length"],
  ["max_messages", "length"],
  ["content_filter", "content-filter"],
  ["steered", "pause"],
]);

/** Some servers send arguments as JSON, but accept them only as text. */
function withArgumentText(item: JsonObject): JsonObject {
  const { type, arguments: input = {} } = item;
  return type !== "function_call" || typeof input === "string" ? item : { ...item, arguments: JSON.stringify(input ?? {}) };
}

function positionOf({ output_index: index, item_id: id }: JsonObject, item?: JsonObject): string | number | undefined {
  return asIndex(index) ?? asString(id) ?? asString(item?.["id"]);
}

function partsOf(parts: JsonValue | undefined): readonly (readonly [number, JsonObject])[] {
  if (typeof parts === "string") return [[0, { type: "output_text", text: parts }]];
  if (!isJsonArray(parts)) return [];
  return parts.flatMap((part, index) => (isJsonObject(part) ? [[index, part] as const] : []));
}
