/** A conversation as the input items of OpenAI's Responses. */
import { type JsonObject, type JsonValue, isJsonArray, isJsonObject } from "../../core/base/json.ts";
import type { ModelMessage } from "../../core/message.ts";
import { contentText, conversationSteps, documentHeading, nativeBlocks, withReturnableName } from "../conversation-steps.ts";
import type { AssistantStep, ConversationStep, SpokenStep, WireCall } from "../conversation-steps.ts";
import { asTextNotes } from "../text-notes.ts";
import type { EncodedMessages } from "../wire-format.ts";
import { withDecisions } from "../decided-calls.ts";
import { isRequest, withRequestIds } from "./approvals.ts";
import { itemId, itemRole, itemType } from "./items.ts";
import { inputParts, inputText, isMedia, resultItem } from "./result-items.ts";
import { writtenOnce } from "../written-once.ts";

export const FORMAT = "openai-responses";

/** `call_id` may have at most 64 characters. */
const ID_RULE = { allowed: /^[\x21-\x7e]+$/u, maxLength: 64 };

export interface InputOptions {
  /** Whether the request offers tools. If false, calls and results become text. @default true */
  readonly tools?: boolean;
  /** Whether the provider stores replies. If false, reasoning that it could not read is left out. @default true */
  readonly stored?: boolean;
  /** Whether the model reasons. A model that does not refuses the reasoning of other models. @default true */
  readonly reasons?: boolean;
}

/**
 * Writes a conversation as input items.
 *
 * A message that the provider made is sent back unchanged if it has more than Haft's types can express. If the provider stores nothing, reasoning
 * that is neither encrypted nor plain text is useless to it and is left out. So is reasoning whose next item is gone, which the provider refuses.
 *
 * @see https://platform.openai.com/docs/api-reference/responses/create
 */
export function toInputItems(
  messages: readonly ModelMessage[],
  { tools = true, stored = true, reasons = true }: InputOptions = {},
): EncodedMessages {
  const { steps, toolNames } = conversationSteps(tools ? messages : asTextNotes(messages), ID_RULE);
  const kept = KEPT_REASONING[!reasons ? "none" : stored ? "all" : "readable"];
  return { messages: withDecisions(withRequestIds(steps), isRequest).flatMap((step) => writeStep(step, kept)), toolNames };
}

/** Whether an item of reasoning is sent back. The same objects for every request, because `writtenOnce` caches by their identity. */
interface Keeping {
  readonly keeps: (reasoning: JsonObject) => boolean;
}

const KEPT_REASONING = {
  all: { keeps: () => true },
  readable: { keeps: isReadable },
  none: { keeps: () => false },
} as const satisfies Record<string, Keeping>;

const writeStep = writtenOnce((step: ConversationStep, keeping: Keeping) =>
  step.kind === "assistant" ? (ownItems(step, keeping) ?? writtenItems(step)) : [spokenItem(step)],
);

function spokenItem({ kind, content, title }: SpokenStep): JsonObject {
  if (kind === "system") return { type: "message", role: "system", content: contentText(content) };
  const heading = kind === "document" ? documentHeading(title) : "";
  if (typeof content !== "string" && content.some(isMedia))
    return { type: "message", role: "user", content: [...inputText(heading), ...inputParts(content)] };
  const text = contentText(content);
  return { type: "message", role: "user", content: heading === "" ? text : `${heading}\n${text}` };
}

function writtenItems({ content, calls }: AssistantStep): readonly JsonObject[] {
  const text = contentText(content);
  const said = text.trim() === "" ? [] : [{ type: "message", role: "assistant", content: text }];
  return [
    ...said,
    ...calls.map(functionCall),
    ...calls.map(({ id, result }) => resultItem({ id, result })).filter((item) => item !== undefined),
  ];
}

function functionCall({ id, name, input }: WireCall): JsonObject {
  return { type: "function_call", call_id: id, name, arguments: JSON.stringify(input) };
}

/**
 * Returns the provider's items with an answer for each call. A call that cannot be answered in its own form, such as a computer call that did not
 * run, is rewritten as a function call after them; undefined if that is true of every call.
 */
function ownItems(step: AssistantStep, { keeps }: Keeping): readonly JsonObject[] | undefined {
  const blocks = nativeBlocks(step, FORMAT, callIdOf)?.filter(isJsonObject);
  if (blocks === undefined) return undefined;
  const made = new Map(blocks.flatMap((block) => (callIdOf(block) === undefined ? [] : [[itemId(block), block] as const])));
  const answers = new Map(step.calls.map(({ id, result }) => [id, resultItem({ id, result, call: made.get(id) })]));
  const calls = new Map(step.calls.map((call) => [call.id, call]));
  const rewritten = step.calls.filter(({ id }) => answers.get(id) === undefined);
  if (rewritten.length > 0 && rewritten.length === step.calls.length) return undefined;
  const left = new Set<JsonValue>(rewritten.map(({ id }) => made.get(id) ?? null));
  const native = (step.native?.blocks ?? []).filter((block) => !left.has(block));
  const led = ledSomewhere(native, new Set(blocks));
  const sent = blocks.filter((block) => !left.has(block) && (!isReasoning(block) || (led.has(block) && keeps(block))));
  return [
    ...sent.map((block) => withReturnableName(block, calls.get(callIdOf(block) ?? ""))),
    ...rewritten.map(functionCall),
    ...step.calls.map(({ id, result }) => answers.get(id) ?? resultItem({ id, result })).filter((item) => item !== undefined),
  ];
}

/** Returns the items of reasoning whose next item of another type is still there. */
function ledSomewhere(made: readonly JsonValue[], kept: ReadonlySet<JsonValue>): ReadonlySet<JsonValue> {
  const led = new Set<JsonValue>();
  let leads = false;
  for (const item of made.toReversed())
    if (!isJsonObject(item) || !isReasoning(item)) leads = kept.has(item);
    else if (leads) led.add(item);
  return led;
}

function isReasoning(item: JsonObject): boolean {
  return itemType(item) === "reasoning";
}

function callIdOf(block: JsonValue): string | undefined {
  return isJsonObject(block) && itemRole(block, undefined) === "call" ? itemId(block) : undefined;
}

function isReadable({ encrypted_content: encrypted, content }: JsonObject): boolean {
  return (typeof encrypted === "string" && encrypted !== "") || (isJsonArray(content) && content.length > 0);
}
