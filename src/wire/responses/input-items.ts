/** A conversation as the input items of OpenAI's Responses. */
import { type JsonObject, type JsonValue, isJsonArray, isJsonObject } from "../../core/base/json.ts";
import type { ModelMessage } from "../../core/message.ts";
import { contentText, conversationSteps, documentHeading, nativeBlocks, withValidArguments, withValidName } from "../conversation-steps.ts";
import type { AssistantStep, ConversationStep, PromptStep, WireCall } from "../conversation-steps.ts";
import { withCallsAsText } from "../calls-as-text.ts";
import type { EncodedMessages } from "../wire-format.ts";
import { withApprovalResults } from "../approval-results.ts";
import { isApprovalRequest, withApprovalRequestIds } from "./approvals.ts";
import { itemId, itemRole, itemType } from "./items.ts";
import { inputParts, inputTextParts, isMedia, resultItem } from "./result-items.ts";
import { withStepCache } from "../step-cache.ts";

export const OPENAI_RESPONSES = "openai-responses";

/** `call_id` may have at most 64 characters. */
const ID_RULE = { allowed: /^[\x21-\x7e]+$/u, maxLength: 64 };

export interface InputOptions {
  /** Whether the request offers tools. If false, calls and results become text. @default true */
  readonly tools?: boolean;
  /** Whether the provider stores replies. If false, reasoning that it could not read is left out. @default true */
  readonly storesReplies?: boolean;
  /** Whether the model reasons. A model that does not refuses the reasoning of other models. @default true */
  readonly isReasoningModel?: boolean;
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
  { tools = true, storesReplies = true, isReasoningModel = true }: InputOptions = {},
): EncodedMessages {
  const { steps, toolNames } = conversationSteps(tools ? messages : withCallsAsText(messages), ID_RULE);
  const filter = REASONING_FILTERS[!isReasoningModel ? "none" : storesReplies ? "all" : "readable"];
  return {
    messages: withApprovalResults(withApprovalRequestIds(steps), isApprovalRequest).flatMap((step) => writeStep(step, filter)),
    toolNames,
  };
}

/** Whether an item of reasoning is sent back. The same objects for every request, because `withStepCache` caches by their identity. */
interface ReasoningFilter {
  readonly accepts: (reasoning: JsonObject) => boolean;
}

const REASONING_FILTERS = {
  all: { accepts: () => true },
  readable: { accepts: isReadableReasoning },
  none: { accepts: () => false },
} as const satisfies Record<string, ReasoningFilter>;

const writeStep = withStepCache((step: ConversationStep, filter: ReasoningFilter) =>
  step.kind === "assistant" ? (nativeItems(step, filter) ?? itemsFromStep(step)) : [promptItem(step)],
);

function promptItem({ kind, content, title }: PromptStep): JsonObject {
  if (kind === "system") return { type: "message", role: "system", content: contentText(content) };
  const heading = kind === "document" ? documentHeading(title) : "";
  if (typeof content !== "string" && content.some(isMedia))
    return { type: "message", role: "user", content: [...inputTextParts(heading), ...inputParts(content)] };
  const text = contentText(content);
  return { type: "message", role: "user", content: heading === "" ? text : `${heading}\n${text}` };
}

function itemsFromStep({ content, calls }: AssistantStep): readonly JsonObject[] {
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
function nativeItems(written: AssistantStep, { accepts }: ReasoningFilter): readonly JsonObject[] | undefined {
  const step = withRewrittenIds(written);
  const blocks = nativeBlocks(step, OPENAI_RESPONSES, { idOf: callIdOf })?.filter(isItem);
  if (blocks === undefined) return undefined;
  const made = new Map(blocks.flatMap((block) => (callIdOf(block) === undefined ? [] : [[itemId(block), block] as const])));
  const answers = new Map(step.calls.map(({ id, result }) => [id, resultItem({ id, result, call: made.get(id) })]));
  const calls = new Map(step.calls.map((call) => [call.id, call]));
  const rewritten = step.calls.filter(({ id }) => answers.get(id) === undefined);
  if (rewritten.length > 0 && rewritten.length === step.calls.length) return undefined;
  const rewrittenBlocks = new Set<JsonValue>(rewritten.map(({ id }) => made.get(id) ?? null));
  const native = (step.native?.blocks ?? []).filter((block) => !rewrittenBlocks.has(block));
  const attached = findAttachedReasoning(native, new Set(blocks));
  const sent = blocks.filter(
    (block) => !rewrittenBlocks.has(block) && (!isReasoningItem(block) || (attached.has(block) && accepts(block))),
  );
  return [
    ...sent.map((block) => withValidCall(block, calls.get(callIdOf(block) ?? ""))),
    ...rewritten.map(functionCall),
    ...step.calls.map(({ id, result }) => answers.get(id) ?? resultItem({ id, result })).filter((item) => item !== undefined),
  ];
}

/**
 * Puts the ids of the conversation into the items of its function calls: the ids of compatible servers may repeat in later replies, and the reasoning
 * before such a call is still sent back. Other calls keep the ids that the provider knows.
 */
function withRewrittenIds(step: AssistantStep): AssistantStep {
  const { native, calls } = step;
  const rewritten = new Map(
    calls.flatMap(({ id, providerId }) => (providerId === undefined || providerId === id ? [] : [[providerId, id]])),
  );
  if (native === undefined || rewritten.size === 0) return step;
  const changed = new Set<string>();
  const blocks = native.blocks.map((block) => {
    const providerId = callIdOf(block);
    const id = providerId === undefined ? undefined : rewritten.get(providerId);
    if (providerId === undefined || id === undefined || !isJsonObject(block) || !WITH_CALL_ID.has(itemType(block))) return block;
    changed.add(providerId);
    return { ...block, call_id: id };
  });
  return {
    ...step,
    native: { ...native, blocks },
    calls: calls.map((call) => (call.providerId !== undefined && changed.has(call.providerId) ? { ...call, providerId: call.id } : call)),
  };
}

const WITH_CALL_ID: ReadonlySet<string> = new Set(["function_call", "custom_tool_call"]);

/** False for an item without a type, which some gateways make, but the provider refuses. */
function isItem(block: JsonValue): block is JsonObject {
  return isJsonObject(block) && itemType(block) !== "";
}

/** Returns the item with all that its result and the provider need. Only functions have arguments as text; built-in tools have no name. */
function withValidCall(block: JsonObject, call: WireCall | undefined): JsonObject {
  const type = itemType(block);
  if (call === undefined || (type !== "function_call" && type !== "custom_tool_call"))
    return block["name"] === undefined ? block : withValidName(block, call);
  const named = withValidName(
    typeof block["call_id"] === "string" && block["call_id"] !== "" ? block : { ...block, call_id: call.id },
    call,
  );
  return type === "function_call" ? withValidArguments(named, call) : named;
}

/** Returns the items of reasoning whose next item of another type is still there. */
function findAttachedReasoning(made: readonly JsonValue[], kept: ReadonlySet<JsonValue>): ReadonlySet<JsonValue> {
  const attached = new Set<JsonValue>();
  let leads = false;
  for (const item of made.toReversed())
    if (!isJsonObject(item) || !isReasoningItem(item)) leads = kept.has(item);
    else if (leads) attached.add(item);
  return attached;
}

function isReasoningItem(item: JsonObject): boolean {
  return itemType(item) === "reasoning";
}

function callIdOf(block: JsonValue): string | undefined {
  return isJsonObject(block) && itemRole(block, undefined) === "call" ? itemId(block) : undefined;
}

function isReadableReasoning({ encrypted_content: encrypted, content }: JsonObject): boolean {
  return (typeof encrypted === "string" && encrypted !== "") || (isJsonArray(content) && content.length > 0);
}
